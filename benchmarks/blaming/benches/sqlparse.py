import sqlparse

text = (
    "select a.b, count(*) as n from t left join u on t.id = u.id where x in (1, 2, 3) and y = 'z'"
    " group by a.b order by n desc;\n" * 4
)
for _ in range(2):
    sqlparse.format(text, reindent=True, keyword_case="upper")
print(len(sqlparse.split(text)))
