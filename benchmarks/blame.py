"""How often `perf blame` names the right function: slowdowns planted in real projects, and pairs without any.

    python benchmarks/blame.py FOLDER [--cases 60] [--same 10] [--metric bytecodes] [--projects toolz,tinydb] [--seed 1]

The projects come from the package index through pip. Each gets a repository: its package and a benchmark of some tenths of a second. A case
plants one slowdown (of perfvcs/locate/mutation.py, and two kinds that `perf mutate` does not plant) of 5 to 100 % into a function that the
benchmark runs, makes a harmless change in up to six other functions that it runs, and commits both. A pair of the same makes the harmless
changes only. Written to FOLDER/cases.jsonl, one line each; what is there is not run again, so that it can be interrupted.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from perfvcs.locate.mutation import PLANTED, mutants
from perfvcs.locate.outline import MODULE, unit

PROJECTS = {  # requirement: import package, benchmark
    "sqlparse==0.5.0": ("sqlparse", """
import sqlparse
text = "select a.b, count(*) as n from t left join u on t.id = u.id where x in (1, 2, 3) and y = 'z' group by a.b order by n desc;\\n" * 4
for _ in range(2):
    sqlparse.format(text, reindent=True, keyword_case="upper")
print(len(sqlparse.split(text)))
"""),
    "tinydb==4.8.0": ("tinydb", """
from tinydb import TinyDB, Query, where
from tinydb.storages import MemoryStorage
db = TinyDB(storage=MemoryStorage)
db.insert_multiple({"name": f"n{i}", "age": i % 50, "tags": ["a", "b"]} for i in range(150))
one = Query()
for i in range(12):
    db.search((one.age > i) & (one.tags.any(["a"])))
    db.update({"seen": i}, where("age") == i)
print(len(db.search(one.age.test(lambda v: v % 2))), db.count(one.name.matches("n1")))
"""),
    "mistune==3.0.2": ("mistune", """
import mistune
text = "# Title\\n\\nSome *text* with `code` and [a link](http://example.org).\\n\\n"
text = (text + "- one\\n- two **bold**\\n\\n> quoted\\n\\n```\\ncode\\n```\\n\\n") * 12
markdown = mistune.create_markdown(plugins=["table", "strikethrough"])
print(len(markdown(text)), len(mistune.html(text)))
"""),
    "toolz==0.12.1": ("toolz", """
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
    found = toolz.pipe(data, curried.filter(lambda row: row["value"] > 3), curried.map(lambda row: row["id"]), list)
    nested = toolz.assoc_in({}, ["a", "b", "c"], toolz.get_in(["x", "y"], {"x": {"y": 2}}))
    list(toolz.sliding_window(3, range(300))), toolz.frequencies([i % 5 for i in range(400)])
print(len(joined), sums, merged["b"], len(parts), len(unique), len(found))
"""),
    "markdown==3.6": ("markdown", """
import markdown
text = "# Title\\n\\nSome *text* with `code` and [a link](http://example.org).\\n\\n"
text = (text + "* one\\n* two **bold**\\n\\n> quoted\\n\\n    code\\n\\n") * 10
print(len(markdown.markdown(text, extensions=["markdown.extensions.tables"])))
"""),
    "pyparsing==3.1.2": ("pyparsing", """
from pyparsing import Forward, Word, infixNotation, nums, oneOf, opAssoc, Suppress, delimitedList, alphas
number = Word(nums)
expression = infixNotation(number | Word(alphas), [(oneOf("* /"), 2, opAssoc.LEFT), (oneOf("+ -"), 2, opAssoc.LEFT)])
lists = Suppress("[") + delimitedList(expression) + Suppress("]")
for _ in range(3):
    found = lists.parseString("[" + ",".join(f"a+{i}*(b-{i})" for i in range(6)) + "]")
print(len(found))
"""),
}  # fmt: skip
CONFIG = 'overlay = ["bench.py"]\n\n[[job]]\nname = "work"\ncmd = "{python} bench.py"\ncollectors = ["time"]\ntimeout = "120s"\n'
TARGETS = (0.05, 0.1, 0.2, 0.5, 1.0)
DECOYS = 6
RULES = (*PLANTED, "call repeated", "busy loop")
PYTHON = Path(sys.executable).resolve()
PERF = Path(sys.executable).parent / "perf"


def git(folder: Path, *words: str) -> str:
    """What git says in a folder."""
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def prepare(folder: Path, requirement: str) -> Path:
    """The repository of a project, and what its functions cost, in functions.json beside it."""
    package, bench = PROJECTS[requirement]
    place = folder / package
    if (folder / f"{package}.json").exists():
        return place
    place.mkdir(parents=True)
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-compile",
        "--target",
        str(place),
        requirement,
    ]
    subprocess.run(command, check=True)
    for other in place.glob("*.dist-info"):
        subprocess.run(["rm", "-rf", str(other)], check=True)
    (place / "bench.py").write_text(bench.lstrip())
    (place / "perf.toml").write_text(CONFIG.format(python=PYTHON))
    (place / ".gitignore").write_text("__pycache__\n*.pyc\n")
    git(place, "init", "-q", "-b", "main")
    git(place, "config", "user.name", "perfvcs")
    git(place, "config", "user.email", "perfvcs@localhost")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "base")
    (folder / f"{package}.json").write_text(json.dumps(costs(place)))
    return place


def costs(place: Path) -> dict[str, Any]:
    """What the benchmark executes: all bytecode, and per function its calls and its share with all that it calls."""
    from perfvcs.collector import Run
    from perfvcs.collectors.bytecode import Bytecode

    scratch = place.parent / f"{place.name}-scratch"
    scratch.mkdir(exist_ok=True)
    seen = Bytecode(least=0).collect(
        Run((str(PYTHON), "bench.py"), place, {"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0"}, scratch, "work")
    )
    subprocess.run(["rm", "-rf", str(scratch)], check=True)
    total, found = seen.values["bytecodes"][0] or 1.0, {}
    for uid, calls, whole in zip(seen.uid, seen.values["calls"], seen.values["inclusive"], strict=True):
        name, file = unit(uid)
        if calls and name != MODULE and file.startswith(f"{place.name}/") and "<locals>" not in uid:
            found[f"{file}:{name}"] = [calls, (whole or 0.0) / total]
    return {"total": total, "functions": found}


def plant(place: Path, known: dict[str, Any], chance: random.Random, *, slow: bool) -> dict[str, Any] | None:
    """Change the working tree; what was planted, None where the function that was drawn allows nothing."""
    reached = sorted(known["functions"])
    case: dict[str, Any] = {"project": place.name}
    target = chance.choice(reached)
    others = chance.sample([one for one in reached if one != target], min(DECOYS, len(reached) - 1))
    if slow:
        path, _, name = target.rpartition(":")
        calls, effect, rule = known["functions"][target][0], chance.choice(TARGETS), chance.choice(RULES)
        each = {"busy loop": 3, "extra pass": 30, "copy in a loop": 12, "call repeated": 200}.get(rule, 1)
        times = max(1, min(5000, round(effect * known["total"] / (calls * each))))
        source = (place / path).read_text()
        made = next(mutants(source, times=times, rules=(rule,), function=name), None)
        if made is None:
            return None
        (place / path).write_text(made.text)
        case |= {"function": target, "rule": rule, "times": times, "line": made.line}
    for other in others:
        path, _, name = other.rpartition(":")
        source = (place / path).read_text()
        made = next(mutants(source, rules=("busy loop",), function=name), None)
        if made is not None:  # a line that costs next to nothing in the place of the loop
            lines = made.text.splitlines(keepends=True)
            indent = lines[made.line - 1][: -len(lines[made.line - 1].lstrip())]
            lines[made.line - 1 : made.line + 1] = [f"{indent}_harmless = None\n"]
            (place / path).write_text("".join(lines))
    return case


def run(place: Path, known: dict[str, Any], chance: random.Random, *, metric: str, slow: bool) -> dict[str, Any] | None:
    """One case: plant, commit, blame."""
    git(place, "checkout", "-q", "--force", "main")
    case = plant(place, known, chance, slow=slow)
    if case is None or not git(place, "status", "--porcelain"):
        return None
    git(place, "checkout", "-q", "--detach")
    git(place, "commit", "-qam", "case")
    began = time.monotonic()
    used = (
        "auto"
        if metric == "mixed" and case.get("rule") in ("copy in a loop", "list for set")
        else metric.replace("mixed", "bytecodes")
    )
    done = subprocess.run(
        [str(PERF), "blame", "main", "HEAD", "work", "--quiet", "--json", "--metric", used],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    case |= {"metric": used, "seconds": round(time.monotonic() - began, 1)}
    if done.returncode:
        return case | {"error": done.stderr.strip()[-300:]}
    found = json.loads(done.stdout)
    ranked = [f"{one['path']}:{one['name']}" for one in found["suspects"]]
    tried = [one for one in found["trials"] if one["word"] in ("proved", "contributes")]
    best = max(tried, key=lambda one: (one["word"] == "proved", one["share"]), default=None)
    return case | {
        "verdict": found["verdict"], "effect": found["effect"], "used": found["metric"], "ranked": ranked[:5], "changed": found["changed"],
        "scores": [round(one["score"], 5) for one in found["suspects"]][:5],
        "blamed": f"{best['path']}:{best['name']}" if best else ranked[0] if ranked and found["verdict"] != "not proved" else "",
        "trials": [[one["name"], one["word"], one["share"]] for one in found["trials"]],
    }  # fmt: skip


def report(cases: list[dict[str, Any]]) -> None:
    """The figures."""
    same = [one for one in cases if "function" not in one and "error" not in one]
    slow = [
        one
        for one in cases
        if "function" in one and "error" not in one and abs(one["effect"]) >= 0.01 and one["verdict"] != "no difference"
    ]
    small = [one for one in cases if "function" in one and "error" not in one and one not in slow]
    failed = [one for one in cases if "error" in one]

    def line(name: str, chosen: list[dict[str, Any]]) -> None:
        if chosen:
            first = sum(one["ranked"][:1] == [one["function"]] for one in chosen)
            three = sum(one["function"] in one["ranked"][:3] for one in chosen)
            named = sum(one["blamed"] == one["function"] for one in chosen)
            proved = sum(one["verdict"] == "proved" and one["blamed"] == one["function"] for one in chosen)
            wrong = sum(one["verdict"] == "proved" and one["blamed"] != one["function"] for one in chosen)
            seconds = sorted(one["seconds"] for one in chosen)[len(chosen) // 2]
            print(f"{name:16} {len(chosen):4} {first:6} {three:6} {named:6} {proved:6} {wrong:6} {seconds:8.0f}")

    print(f"{'':16} {'n':>4} {'first':>6} {'three':>6} {'named':>6} {'proved':>6} {'wrong':>6} {'s':>8}")
    line("all", slow)
    for key in ("project", "rule", "used"):
        for value in sorted({one[key] for one in slow}):
            line(value, [one for one in slow if one[key] == value])
    print(f"planted, but under 1 %: {len(small)}; cases that failed: {len(failed)}")
    print(f"pairs of the same: {len(same)}, of which {sum(bool(one['blamed']) for one in same)} have a function blamed")


def main() -> None:
    """Run the cases that are not there yet, and report all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--same", type=int, default=10)
    parser.add_argument("--metric", default="mixed", help="mixed: auto where the cost is in C, else bytecodes")
    parser.add_argument("--projects", default="", help="names of packages, with commas between them")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "cases.jsonl"
    cases = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    done = {one["number"] for one in cases}
    chosen = [name for name, (package, _) in PROJECTS.items() if not options.projects or package in options.projects.split(",")]
    numbers = [(number, number < options.cases) for number in range(options.cases + options.same)]
    random.Random(options.seed).shuffle(numbers)
    for number, slow in numbers:
        if number in done:
            continue
        requirement = chosen[number % len(chosen)]
        place = prepare(folder, requirement)
        known = json.loads((folder / f"{place.name}.json").read_text())
        for attempt in range(100):
            case = run(
                folder, place, known, random.Random(f"{options.seed} {number} {attempt}"), metric=options.metric, slow=slow
            )
            if case is not None:
                break
        cases.append({"number": number, **(case or {"error": "nothing could be planted"})})
        with log.open("a") as file:
            file.write(json.dumps(cases[-1]) + "\n")
        said = cases[-1]
        print(
            number,
            said.get("project"),
            said.get("function"),
            said.get("rule"),
            said.get("verdict"),
            said.get("blamed"),
            said.get("seconds"),
            flush=True,
        )
    report(cases)


if __name__ == "__main__":
    main()
