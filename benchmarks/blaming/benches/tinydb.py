from tinydb import Query, TinyDB, where
from tinydb.storages import MemoryStorage

db = TinyDB(storage=MemoryStorage)
db.insert_multiple({"name": f"n{i}", "age": i % 50, "tags": ["a", "b"]} for i in range(150))
one = Query()
for i in range(12):
    db.search((one.age > i) & (one.tags.any(["a"])))
    db.update({"seen": i}, where("age") == i)
print(len(db.search(one.age.test(lambda v: v % 2))), db.count(one.name.matches("n1")))
