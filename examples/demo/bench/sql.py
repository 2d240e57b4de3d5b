"""The benchmark of the demo: what sqlparse is for (split, parse and format), on one realistic SQL
script.

The same text for every release and on every machine. Each execution does the jobs in turns,
``ROUNDS`` times, and reports every round through perfvcs' helper, so that a page shows the jobs
beside the whole process (whose time has the interpreter's start and the import too). Run alone, it
prints how much text it worked on.
"""

from __future__ import annotations

import random
import sys
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this revision's package, not one that happens to be installed

import sqlparse  # noqa: E402

try:
    from perfvcs_bench import repeat
except ImportError:  # run alone, without perfvcs
    from collections.abc import Callable

    def repeat(_uid: str, function: Callable[[], object], *, iterations: int) -> None:
        for _ in range(iterations):
            function()


ROUNDS = 11
NAMES = ("customer", "invoice", "product", "payment", "shipment", "address", "supplier", "refund")
TYPES = ("INTEGER NOT NULL", "VARCHAR(80)", "NUMERIC(12, 2) DEFAULT 0", "TIMESTAMP", "BOOLEAN")


def script(tables: int = 4, seed: int = 1) -> str:
    """A database's script: for each table its creation, some rows, a change, and a report over a
    join.
    """
    chosen = random.Random(seed)
    statements = []
    for table, other in pairwise(NAMES[: tables + 1]):
        columns = ",\n  ".join(f"c{number} {chosen.choice(TYPES)}" for number in range(5))
        rows = ",\n".join(
            f"({number}, 'it''s {chosen.random():.3f}', {chosen.randrange(10**6)}, NULL)"
            for number in range(6)
        )
        least, year = chosen.randrange(100), chosen.randrange(2000, 2025)
        statements += [
            f"-- the {table}s\nCREATE TABLE {table} (\n  id INTEGER PRIMARY KEY,\n  {columns}\n);",
            f"insert into {table} (id, c1, c2, c3) values\n{rows};",
            (
                f"update {table} set c2 = c2 * 1.1, c3 = case when c2 > {least} then 'high' else"
                " lower(c1) end where id in (1, 2, 3);"
            ),
            f"""/* the report of {year} */
with recent as (select * from {table} where c4 >= '{year}-01-01' and c4 < '{year + 1}-01-01')
select r.id, o.c1 as name, count(*) total, sum(coalesce(r.c2, 0) * 100) / nullif(max(o.c2), 0) as share
from recent r left join {other} o on r.id = o.id and (o.c3 is not null or o.c2 between {least} and {least + 50})
where exists (select 1 from {other} x where x.id = r.id) group by r.id, o.c1 having count(*) > 2
order by share desc, 1 limit 20;""",
        ]
    return "\n\n".join(statements) + "\n"


def main() -> None:
    """Check that the right package is loaded, then do the jobs."""
    if not Path(sqlparse.__file__).is_relative_to(ROOT):
        raise SystemExit(f"{sqlparse.__file__} is not the package of {ROOT}")
    text = script()
    # the jobs in turns, so that a slow moment of the machine hits a round of each and no median
    for _ in range(ROUNDS):
        repeat("split", lambda: sqlparse.split(text), iterations=1)
        repeat("parse", lambda: sqlparse.parse(text), iterations=1)
        repeat(
            "format",
            lambda: sqlparse.format(text, reindent=True, keyword_case="upper", strip_comments=True),
            iterations=1,
        )
    print(
        f"sqlparse {sqlparse.__version__}: {len(text)} characters in {text.count(';')} statements,"
        f" {ROUNDS} rounds"
    )


if __name__ == "__main__":
    main()
