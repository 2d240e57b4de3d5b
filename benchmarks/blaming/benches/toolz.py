import toolz
from toolz import curried

data = [{"id": i, "group": i % 7, "value": i * 3 % 11} for i in range(300)]
for _ in range(6):
    groups = toolz.groupby("group", data)
    sums = toolz.valmap(lambda rows: sum(toolz.pluck("value", rows)), groups)
    merged = toolz.merge_with(sum, *[{"a": 1, "b": i} for i in range(60)])
    joined = list(toolz.join("id", data, "id", data[:100]))
    parts = list(toolz.partition_all(7, toolz.interleave([range(200), range(200)])))
    unique = list(toolz.unique(data, key=lambda row: row["value"]))
    reduced = toolz.reduceby("group", lambda total, row: total + row["value"], data, 0)
    found = toolz.pipe(
        data, curried.filter(lambda row: row["value"] > 3), curried.map(lambda row: row["id"]), list
    )
    nested = toolz.assoc_in({}, ["a", "b", "c"], toolz.get_in(["x", "y"], {"x": {"y": 2}}))
    list(toolz.sliding_window(3, range(300))), toolz.frequencies([i % 5 for i in range(400)])
print(len(joined), sums, merged["b"], len(parts), len(unique), len(found))
