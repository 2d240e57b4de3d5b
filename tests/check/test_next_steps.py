"""The next step that a report names: it runs as printed, and does not contradict the report.

Twenty situations: those of docs/reports.md, whose measurements are imported, and ten more. Programs here
report times that they draw, so that a busy machine changes nothing.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from random import Random

import pytest
from conftest import Project, need
from samples import interleaved, noisy
from test_check_command import Perf, store

from benchmarks.small_projects.claims import Claim, contradictions, name_of, of_history, of_report
from perfvcs.profile import Environment

Situation = Callable[[Project, Perf], tuple[str, ...]]
SITUATIONS: dict[str, Situation] = {}
SLOW: list[str] = []
# a command ends its line, or stands in quotes
STEP = re.compile(r"`(perf [^`]+)`|^(?:.*: | +)(perf .*)$", re.MULTILINE)
WORK = """\
import json, os, random
with open("times.json") as file:
    times = json.load(file)
with open(os.environ.get("PERFVCS_SAMPLES", os.devnull), "a") as file:
    for name, seconds in times.items():
        chance = random.Random(os.environ.get("PERFVCS_SEED", "1") + f"{name} {seconds}")
        unit, _, size = name.partition("/")
        row = {"uid": unit, "drawn": seconds * chance.lognormvariate(0, 0.002)}
        row |= {"size": float(size)} if size else {}
        file.write(json.dumps({"metric": "drawn", "unit": "s", "better": "lower"}) + "\\n")
        file.write(json.dumps(row) + "\\n")
"""
JOB = '[[job]]\nname = "work"\ncmd = "python3 work.py"\nexecutions = 5\nwarmup = 0\n'


def situation(name: str, *, slow: bool = False) -> Callable[[Situation], Situation]:
    """Register a situation: it makes a project, and returns the command that reports."""

    def register(make: Situation) -> Situation:
        SITUATIONS[name] = make
        if slow:
            SLOW.append(name)
        return make

    return register


def imported(
    project: Project,
    perf: Perf,
    before: Mapping[str, float],
    after: Mapping[str, float],
    *options: str,
    noise: float = 0.002,
    columns: str = "name,run,wall [ms]",
    revisions: tuple[str, str] = ("HEAD~1", "HEAD"),
) -> None:
    """Two files as other tools write them, imported for two commits as the job ``nightly``."""
    for name, times, seed in (("old.csv", before, 1), ("new.csv", after, 2)):
        chance = Random(seed)
        rows = [
            f"{unit},{run},{time * chance.lognormvariate(0, noise):.6f}"
            for unit, time in times.items()
            for run in range(10)
        ]
        heading = columns if seed == 2 else "name,run,wall [ms]"
        project.write(f".git/{name}", "\n".join([heading, *rows]) + "\n")
    old, new = (f"--commit={revision}" for revision in revisions)
    files = (".git/old.csv", ".git/new.csv")
    perf("import", *files, old, new, "--name", "nightly", "--quiet", *options)


def commits(project: Project, count: int) -> None:
    """So many commits, each of which changes a source."""
    for number in range(count):
        project.commit(f"change {number}", **{"sort.py": f"SPEED = {number}\n"})


@situation("one benchmark became slower")
def slower(project: Project, perf: Perf) -> tuple[str, ...]:
    commits(project, 2)
    imported(project, perf, {"sort": 12}, {"sort": 13}, "--in-turns")
    return ("check",)


@situation("nothing changed")
def unchanged(project: Project, perf: Perf) -> tuple[str, ...]:
    commits(project, 2)
    same = {"sort": 12, "parse": 30}
    imported(project, perf, same, same, "--in-turns", noise=0.0005)
    return ("check",)


@situation("a suite of many tests")
def many(project: Project, perf: Perf) -> tuple[str, ...]:
    commits(project, 2)
    before = {f"test{number}": 1 + number % 7 for number in range(60)}
    after = {name: time * (1.2 if name.endswith("0") else 1.02) for name, time in before.items()}
    imported(project, perf, before, after, "--in-turns")
    return ("check",)


@situation("some faster, some slower")
def trade(project: Project, perf: Perf) -> tuple[str, ...]:
    commits(project, 2)
    before, after = {"read": 5, "sort": 20, "print": 9}, {"read": 5, "sort": 15, "print": 11}
    imported(project, perf, before, after, "--in-turns")
    return ("check",)


@situation("too noisy to tell")
def noise(project: Project, perf: Perf) -> tuple[str, ...]:
    commits(project, 2)
    imported(project, perf, {"sort": 12}, {"sort": 12}, "--in-turns", noise=0.08)
    return ("check",)


@situation("not measured together")
def apart(project: Project, perf: Perf) -> tuple[str, ...]:
    commits(project, 2)
    imported(project, perf, {"sort": 12}, {"sort": 13})
    return ("check",)


@situation("not comparable")
def rates(project: Project, perf: Perf) -> tuple[str, ...]:
    commits(project, 2)
    imported(project, perf, {"sort": 12}, {"sort": 13}, columns="name,run,wall [1/s higher]")
    return ("check",)


@situation("commits between that nobody measured")
def between(project: Project, perf: Perf) -> tuple[str, ...]:
    commits(project, 4)
    options = {"revisions": ("HEAD~3", "HEAD")}
    imported(project, perf, {"sort": 12}, {"sort": 13}, "--in-turns", **options)  # type: ignore[arg-type]
    return ("check",)


@situation("a slip in a function", slow=True)
def slip(project: Project, perf: Perf) -> tuple[str, ...]:
    program = "def work():\n    return sum(range({}))\n\n\nfor _ in range(20):\n    work()\n"
    for number, turns in enumerate([50_000, 200_000]):
        files = {"perf.toml": JOB, "work.py": program.format(turns)}
        project.commit(f"change {number}", **files)
    perf("check", "--measure", "HEAD~1", "HEAD", code=3)
    return ("check",)


@situation("an accepted change")
def accepted(project: Project, perf: Perf) -> tuple[str, ...]:
    commits(project, 2)
    imported(project, perf, {"sort": 12}, {"sort": 13}, "--in-turns")
    perf("check", code=3)
    perf("accept", "nightly: sort:wall", "--reason", "it checks its input")
    project.commit("accepted")
    return ("check", "HEAD~2", "HEAD~1")


@situation("a time that grows with a size")
def grows(project: Project, perf: Perf) -> tuple[str, ...]:
    commits(project, 2)
    before = {f"insert,{size}": 0.005 for size in range(100, 1100, 100)}
    after = {name: time + 6e-7 * float(name[7:]) for name, time in before.items()}
    heading = "name,n,run,wall [ms]"
    for name, times, seed in (("old.csv", before, 1), ("new.csv", after, 2)):
        chance = Random(seed)
        rows = [
            f"{unit},{run},{time * chance.lognormvariate(0, 0.002):.9f}"
            for unit, time in times.items()
            for run in range(10)
        ]
        project.write(f".git/{name}", "\n".join([heading, *rows]) + "\n")
    files = (".git/old.csv", ".git/new.csv", "--commit=HEAD~1", "--commit=HEAD")
    perf("import", *files, "--name", "index", "--in-turns", "--quiet")
    return ("check",)


@situation("a stretch of the history")
def stretch(project: Project, perf: Perf) -> tuple[str, ...]:
    commits(project, 4)
    for place, times in enumerate([(12, 12), (12, 13), (13, 13)]):
        revisions = (f"HEAD~{3 - place}", f"HEAD~{2 - place}")
        before, after = ({"sort": float(time)} for time in times)
        imported(project, perf, before, after, "--in-turns", revisions=revisions)
    return ("check", "HEAD~3..HEAD")


def drawn(project: Project, *times: Mapping[str, float], job: str = JOB) -> None:
    """A commit for each, in which the units of the job `work` take so many seconds."""
    for number, units in enumerate(times):
        files = {"perf.toml": job, "work.py": WORK, "times.json": json.dumps(units)}
        project.commit(f"change {number}", **files)


@situation("imports only")
def imports_only(project: Project, perf: Perf) -> tuple[str, ...]:
    commits(project, 12)
    for number in range(12):
        rows = "".join(f"sort,{run},{12 + number // 6 + run / 100}\n" for run in range(5))
        project.write(".git/one.csv", f"name,run,wall [ms]\n{rows}")
        revision = f"--commit=HEAD~{11 - number}"
        perf("import", ".git/one.csv", revision, "--name", "nightly", "--quiet")
    return ("history",)


@situation("units, and commits between")
def units(project: Project, perf: Perf) -> tuple[str, ...]:
    slow, fast = {"sort": 0.02, "parse": 0.01}, {"sort": 0.012, "parse": 0.01}
    drawn(project, fast, fast, slow, slow)
    perf("check", "--measure", "HEAD~3", "HEAD", code=None)
    return ("check", "HEAD~3", "HEAD")


@situation("curves")
def curves(project: Project, perf: Perf) -> tuple[str, ...]:
    before = {f"insert/{size}": 0.005 for size in range(100, 1100, 100)}
    after = {name: time + 6e-6 * float(name[7:]) for name, time in before.items()}
    drawn(project, before, before, after)
    perf("check", "--measure", "HEAD~2", "HEAD", code=None)
    return ("check", "HEAD~2", "HEAD")


@situation("history only")
def history_only(project: Project, perf: Perf) -> tuple[str, ...]:
    drawn(project, *({"sort": 0.012 if number < 5 else 0.02} for number in range(10)))
    for number in range(9, -1, -1):
        perf("collect", f"HEAD~{number}", "--quiet")
    return ("history",)


@situation("two environments")
def two_environments(project: Project, _: Perf) -> tuple[str, ...]:
    one, two = project.commit("one"), project.commit("two")
    for name, factor in (("aaaaaaaaaaaa", 1.1), ("bbbbbbbbbbbb", 1.2)):
        environment = Environment(fields={"cpu": name}, fingerprint=name)
        walls = [noisy(0.010), noisy(0.010 * factor, seed=2)]
        store(*interleaved([one, two], walls, session=f"s{name}", environment=environment))
    return ("check", "HEAD~1", "HEAD")


@situation("a renamed job")
def renamed(project: Project, perf: Perf) -> tuple[str, ...]:
    drawn(project, {"sort": 0.012}, {"sort": 0.012})
    perf("collect", "--quiet")
    drawn(project, {"sort": 0.02}, job=JOB.replace('"work"', '"nightly"'))
    perf("check", "--measure", "HEAD~2", "HEAD", code=None)
    return ("check", "HEAD~2", "HEAD")


@situation("a dirty tree")
def dirty(project: Project, perf: Perf) -> tuple[str, ...]:
    drawn(project, {"sort": 0.012})
    project.write("times.json", json.dumps({"sort": 0.02}))
    perf("collect", "HEAD", "--quiet")
    return ("check", "--measure")


@situation("memory", slow=True)
def memory(project: Project, perf: Perf) -> tuple[str, ...]:
    job = JOB.replace("executions", 'collectors = ["memory"]\nexecutions')
    for number, size in enumerate([10_000, 10_000, 30_000]):
        program = f"kept = [bytes(1000) for _ in range({size})]\n"
        project.commit(f"change {number}", **{"perf.toml": job, "work.py": program})
    perf("check", "--measure", "HEAD~2", "HEAD", code=None)
    return ("check", "HEAD~2", "HEAD")


@situation("a pytest suite", slow=True)
def suite(project: Project, perf: Perf) -> tuple[str, ...]:
    job = JOB.replace("python3 work.py", f"{sys.executable} -m pytest").replace(
        "executions", 'collectors = ["pytest"]\nexecutions'
    )
    tests = (
        "from core import count\ndef test_count():\n    count()\ndef test_sum():\n    sum([1])\n"
    )
    for number, turns in enumerate([100_000, 100_000, 300_000]):
        core = f"def count():\n    return sum(n for n in range({turns}))\n"
        files = {"perf.toml": job, "test_core.py": tests, "core.py": core}
        project.commit(f"change {number}", **files)
    perf("check", "--measure", "HEAD~2", "HEAD", code=None)
    return ("check", "HEAD~2", "HEAD")


@situation("a suite of asv", slow=True)
def asv(project: Project, perf: Perf) -> tuple[str, ...]:
    job = JOB.replace("python3 work.py", f"{sys.executable} -m perfvcs_asv benchmarks")
    tests = "from .core import count\nclass Count:\n    def time_count(self):\n        count()\n"
    for number, turns in enumerate([10_000, 10_000, 30_000]):
        core = f"def count():\n    return sum(n for n in range({turns}))\n"
        files = {"perf.toml": job, "benchmarks/core.py": core, "benchmarks/speed.py": tests}
        project.commit(f"change {number}", **files, **{"benchmarks/__init__.py": ""})
    perf("check", "--measure", "HEAD~2", "HEAD", code=None)
    return ("check", "HEAD~2", "HEAD")


C = """\
#include "perfvcs.h"
static void work(const char *name, long turns)
{
    perfvcs_timer timer = perfvcs_begin();
    for (volatile long turn = 0; turn < turns; turn++)
        continue;
    perfvcs_end(timer, name, PERFVCS_NO_SIZE);
}
int main(void)
{
    work("sort", TURNS);
    work("parse", 1000000);
    return 0;
}
"""


@situation("C with units", slow=True)
def native(project: Project, perf: Perf) -> tuple[str, ...]:
    need("gcc")
    from perfvcs.native import native_folder

    header = (native_folder() / "perfvcs.h").read_text()
    job = f'build = ["gcc -O1 work.c -o work"]\n{JOB.replace("python3 work.py", "./work")}'
    for number, turns in enumerate([2_000_000, 2_000_000, 6_000_000]):
        source = C.replace("TURNS", str(turns))
        project.commit(f"c {number}", **{"perf.toml": job, "work.c": source, "perfvcs.h": header})
    perf("check", "--measure", "HEAD~2", "HEAD", code=None)
    return ("check", "HEAD~2", "HEAD")


def typed(project: Project, perf: Perf, revisions: str, count: int) -> None:
    """A command without a perf.toml, measured so many times on revisions."""
    for times in ({"sort": 0.012}, {"sort": 0.012}, {"sort": 0.02}):
        files = {"work.py": WORK, "times.json": json.dumps(times)}
        project.commit(f"times {times}", **files)
    perf("collect", *revisions.split(), "-n", f"{count}", "--quiet", "--", "python3", "work.py")


@situation("a typed command, open")
def typed_open(project: Project, perf: Perf) -> tuple[str, ...]:
    typed(project, perf, "HEAD~1 HEAD", 3)
    return ("check",)


@situation("a typed command, and a commit between")
def typed_between(project: Project, perf: Perf) -> tuple[str, ...]:
    typed(project, perf, "HEAD~2 HEAD", 5)
    return ("check",)


@situation("a typed command with changes")
def typed_dirty(project: Project, perf: Perf) -> tuple[str, ...]:
    typed(project, perf, "HEAD", 3)
    project.write("times.json", json.dumps({"sort": 0.03}))
    perf("collect", "-n", "3", "--quiet", "--", "python3", "work.py")
    return ("check",)


class Report:
    """What a command reports: its claims, its next step as printed, and the first id."""

    def __init__(self, perf: Perf, words: tuple[str, ...]) -> None:
        said = perf(*words, code=None)
        assert said.code in (0, 3, 4), said
        perf_words = [word for word in words if word != "--measure"]
        if words == ("history",):
            found = perf("history", "--json").document
            self.claims = list(of_history(found))
        else:
            found = perf(*perf_words, "--json", code=None).document
            reports = found if isinstance(found, list) else [found]
            self.claims = [claim for one in reports for claim in of_report("report", one)]
        self.next = next_lines(said.out)
        ids = re.search(r"accept: (\w+)", said.out)
        self.id = ids[1] if ids else ""


def next_lines(text: str) -> str:
    """The part of a report that names the next steps."""
    match = re.search(
        r"^(?:Next|To settle|Open after).*?(?=^\d|^\S+ [\d-]+  |\Z)", text, re.M | re.S
    )
    return match[0] if match else ""


def steps(line: str) -> Iterator[list[str]]:
    """The commands that a line names."""
    for quoted, plain in STEP.findall(line):
        yield shlex.split(quoted or plain)[1:]


def answered(perf: Perf, step: list[str]) -> list[Claim]:
    """What a next step says, by its JSON; it must have run as printed before."""
    if step[0] == "check":
        stored = [word for word in step if word != "--measure"]
        found = perf(*stored, "--json", code=None).document
        pairs = found if isinstance(found, list) else [found]
        return [claim for pair in pairs for claim in of_report("check", pair)]
    if step[0] == "bisect":
        found = perf(*step, "--json", code=None).document
        target, effect = found["target"], found["effect"]
        values = (effect[name] for name in ("value", "low", "high"))
        return [Claim("bisect", target["benchmark"], target["metric"], *values)]
    if step[0] == "blame":
        found = perf("blame", "--stored", *step[1:], "--json").document
        values = (found[name] for name in ("effect", "low", "high"))
        return [Claim("blame", name_of(found | {"uid": found["unit"]}), found["metric"], *values)]
    return []


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in SITUATIONS]
)
def test_the_next_step_runs_as_printed_and_agrees(name: str, project: Project, perf: Perf) -> None:
    report = Report(perf, SITUATIONS[name](project, perf))
    for step in steps(report.next):
        if step[0] == "import":
            continue
        words = [{"ID": report.id, "TEXT": "it has to be"}.get(word, word) for word in step]
        words += ["--no-open"] * (step[0] == "show")
        said = perf(*words, code=None)
        assert said.code in (0, 3), (report.next, said)
        claims = answered(perf, words)
        assert not list(contradictions([*report.claims, *claims])), (report.next, said)
        if claims:
            subjects = {claim.subject.partition(" [")[0] for claim in claims}
            assert subjects & {one.subject for one in report.claims}, (report.next, said)


def test_a_report_says_which_of_the_stored_pairs_it_is_by(project: Project, perf: Perf) -> None:
    drawn(project, {"sort": 0.012}, {"sort": 0.02})
    first = perf("check", "--measure", "-n", "5", "HEAD~1", "HEAD", code=3)
    assert "Judged by" not in first.out + perf("check", code=3).out
    again = perf("check", "--measure", "-n", "6", "HEAD~1", "HEAD", code=3).out
    (line,) = [line for line in again.splitlines() if line.startswith("Judged by")]
    assert line.startswith("Judged by the 6 pairs of this call; by all 11 that are stored:")
    (words,) = steps(again[again.index("Judged by") :].partition("Next:")[0])
    assert "Judged by 11 pairs of 2 sessions." in perf(*words, code=3).out


def test_a_next_step_of_a_typed_command_names_it(project: Project, perf: Perf) -> None:
    typed(project, perf, "HEAD~2 HEAD", 3)
    sides = f"{project.git('rev-parse', 'HEAD~2')[:10]} {project.git('rev-parse', 'HEAD')[:10]}"
    said = perf("check", code=0).out
    assert f"perf collect {sides} -- python3 work.py" in said and "--measure" not in said
    project.write("perf.toml", JOB.replace('"work"', '"other"'))
    assert f"perf collect {sides} -- python3 work.py" in perf("check", code=0).out
    project.write("perf.toml", JOB.replace('"work"', '"work.py"'))
    assert f"perf check --measure {sides}" in perf("check", code=0).out


def test_without_a_configuration_an_unmeasured_side_is_measured_by_a_command(
    project: Project, perf: Perf
) -> None:
    typed(project, perf, "HEAD", 1)
    head = project.git("rev-parse", "HEAD")[:10]
    said = perf("check", code=4).err
    assert f"`perf collect {head}~1 HEAD -- CMD`" in said
    said = perf("check", "HEAD~1", "HEAD", code=4).err
    assert " -- CMD`" in said and "--measure" not in said
