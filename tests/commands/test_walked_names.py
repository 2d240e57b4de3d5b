"""Every name of a benchmark that a command prints, in text or in JSON, is accepted by every command
that takes one.
"""

from __future__ import annotations

import csv
import html
import json
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from conftest import Perf, Project
from namedprojects import PROJECTS

from perfvcs.text.words import metric_name

METRICS = {metric_name(name) for name in ("wall", "cpu", "throughput", "bytes_out")}
METRIC = "|".join(sorted(METRICS))
WORD = "degradation|improvement|inconclusive|suspected|same|new|missing|not comparable"
NAMING = ("benchmark", "job", "uid", "label")  # keys of JSON whose values name something
UNKNOWN = re.compile(
    r"is called|nor is it|is not a (?:revision|benchmark)|there is no|matches [\d,]+ |have no"
)
FOLLOWED = ("bisect", "blame")  # commands that follow one benchmark


def lines(pattern: str, out: str) -> Iterator[str]:
    """What the first group of a pattern finds in each line."""
    for found in re.finditer(pattern, out, flags=re.MULTILINE):
        yield found[1]


def of_check(out: str) -> Iterator[str]:
    """The sentence, the rows, and what one side lacks."""
    yield from lines(rf"^  (?:{WORD}) {{2,}}(\S.*?)(?: {{2,}}.*| \(\d+ units?\b.*)?$", out)
    head = " ".join(out.partition("\n\n")[0].split())
    yield from lines(r"(?:[0-9a-f]{10}|apart\)): (.+?) became ", head)
    yield from lines(r"^New: (.*)$", out)


def of_whole_check(out: str) -> Iterator[str]:
    """The headings of `check -v`, on as many lines as they take."""
    for block in out.split("\n\n"):
        heading, row, _ = block.partition(f"\n  {'degradation'} ")
        if row and not heading.startswith(" "):
            yield heading


def of_markdown(out: str) -> Iterator[str]:
    """The second column of the table, as a page shows it."""
    for cell in lines(
        r"^\| \*{0,2}[\w ]+\*{0,2} \| ((?:[^|\\]|\\.)+?)(?: \(\d+ units?\b.*?)? \| ", out
    ):
        if cell == "benchmark":
            continue
        yield html.unescape(re.sub(r"\\(.)", r"\1", cell)).replace("`", "")


def of_log(out: str) -> Iterator[str]:
    """The rows with sparklines, with the metric and without."""
    for name, metric in re.findall(rf"^(\S.*?) {{2,}}({METRIC}) {{2,}}", out, flags=re.MULTILINE):
        yield from (name, f"{name}  {metric}")


def of_status(out: str) -> Iterator[str]:
    """The jobs."""
    yield from lines(r"^  (?:measured|missing) {2,}(\S.*?) {2,}\w+(?: +n=.*)?$", out)


def of_history(out: str) -> Iterator[str]:
    """The rows of the commits, and what is too short."""
    yield from lines(rf"^  (?:{WORD}) {{2,}}(\S.*?) {{2,}}[▁-█]+$", out)
    yield from lines(rf"^ +most: (.*, (?:{METRIC})), ", out)
    yield from lines(rf"too short, .*?: (.* (?:{METRIC}))$", out)


def of_plan(out: str) -> Iterator[str]:
    """Jobs and units."""
    yield from lines(r"^(\S.*)\n  \d+ executions", out)
    yield from lines(rf"^  (\S.*):\n  (?:{METRIC})", out)


def of_drawing(out: str) -> Iterator[str]:
    """The rows of the figures."""
    yield from lines(r"^[▲▼◆○●] (\S.*?) {2,}\S* *[│░]", out)


def of_site(folder: Path) -> Iterator[str]:
    """The titles of the pages of series and of profiles, the feed, and the data beside pages."""
    for page in folder.rglob("*.html"):
        title = html.unescape(page.read_text().partition("<title>")[2].partition("</title>")[0])
        yield from lines(rf"^(.*, (?:{METRIC})): .*: performance", title)
        yield from lines(r"^(.*) at [0-9a-f]{10}, ", title)
    feed = html.unescape((folder / "changes.atom").read_text())
    yield from lines(rf"^(?:{WORD}) (.*, (?:{METRIC})), .*: \+", feed)
    for data in folder.rglob("*.json"):
        yield from of_json(json.loads(data.read_text()), NAMING[:-1])  # effects have labels


def of_json(document: Any, keys: Sequence[str] = NAMING) -> Iterator[str]:
    """What the keys name that stand for benchmarks, jobs and units."""
    if isinstance(document, list):
        for item in document:
            yield from of_json(item, keys)
    elif isinstance(document, dict):
        for key, value in document.items():
            if key in keys and isinstance(value, str):
                yield value
            else:
                yield from of_json(value, keys)
        if "collector" in document and "cmd" in document:
            yield document["name"]


def printed(perf: Perf, commits: list[str]) -> set[str]:
    """All names that the commands print."""
    ends, pair = (commits[0], commits[-1]), (commits[-2], commits[-1])
    names: set[str] = set()
    for reading, arguments in (
        (of_check, ("check", *pair)),
        (of_whole_check, ("check", "-v", *pair)),
        (of_markdown, ("check", "--markdown", *pair)),
        (of_log, ("log",)),
        (of_status, ("status",)),
        (of_history, ("history", "-a")),
        (of_history, ("history",)),
        (of_plan, ("plan", "-v")),
        (of_drawing, ("show", "--text", *pair)),
    ):
        found = set(reading(perf(*arguments, code=None).out))
        assert found or reading is of_history, arguments
        names |= found
    for command in ("check", "log", "status", "history", "plan"):
        words = pair if command == "check" else ()
        found = set(of_json(perf(command, *words, "--json", code=None).document))
        assert found, command
        names |= found
    perf("show", *pair, "-o", "page.json", "--no-open")
    names |= set(of_json(json.loads(Path("page.json").read_text())))
    perf("export", *ends, "--table", "all.csv")
    with Path("all.csv").open(newline="") as file:
        names |= {row[key].lstrip("'") for row in csv.DictReader(file) for key in ("job", "uid")}
    perf("publish", "site")
    pages = set(of_site(Path("site")))
    assert any(name.endswith(tuple(METRICS)) for name in pages)
    names |= pages
    Path("all.csv").unlink()
    Path("page.json").unlink()
    rmtree("site")
    return names - {""}


def commands(name: str, commits: list[str]) -> Iterator[tuple[str, ...]]:
    """Each command that takes a benchmark, with one."""
    a, b = commits[-2:]
    for arguments in (
        ("check", a, b),
        ("show", "-o", "page.json", "--no-open"),
        ("history",),
        ("plan",),
        ("log",),
        ("status",),
        ("bisect", a, b, "--dry-run", "-q"),
        ("blame", a, b, "--stored"),
        ("mutate",),
        ("export", b, "-o", "-"),
        ("rm", "-n", b),
    ):
        yield (*arguments, name)
    yield ("select", f"{a}..{b}", f"--explain={name}")
    yield ("process", name, "normalizer")
    yield ("accept", "--reason=known", name)


def accepted(perf: Perf, arguments: tuple[str, ...], name: str) -> None:
    """A command knows a name, behind ``--`` where the word is something else, too; where it follows
    one benchmark, it knows each of those that it offers.
    """
    said = perf(*arguments, code=None)
    if said.err.startswith(f"perf: No such option '{name[:2]}'") or "here: write" in said.err:
        if arguments[0] != "process":  # what it takes behind a name is a postprocessor
            accepted(perf, (*arguments[:-1], "--", name), name)
        return
    offer = re.search(r"matches \d+ benchmarks: (.*): name one of them$", said.err)
    if offer and arguments[0] in FOLLOWED:
        for offered in shlex.split(offer[1].replace(",", "")):
            accepted(perf, (*arguments[:-1], offered), offered)
        return
    assert not UNKNOWN.search(said.err), (arguments, said)


@pytest.mark.parametrize("kind", PROJECTS)
def test_every_name_that_is_printed_is_accepted_everywhere(
    project: Project, perf: Perf, kind: str
) -> None:
    """In the first project by each command, in the others by a third of them in turn."""
    commits = PROJECTS[kind].store(project)
    names = printed(perf, commits)
    expected = {uid for named in PROJECTS[kind].jobs for uid, _ in named.units}
    assert names >= expected, "else nothing is walked"
    step = 1 if kind == "pytest" else 3
    for number, name in enumerate(sorted(names)):
        for arguments in list(commands(name, commits))[number % step :: step]:
            accepted(perf, arguments, name)


def test_a_word_that_is_a_revision_and_a_benchmark_says_so(project: Project, perf: Perf) -> None:
    first, *_ = PROJECTS["revisions"].store(project)
    for word in ("main", "v1.0", "HEAD"):
        for command in ("check", "show", "history", "log", "plan", "bisect", "blame", "export"):
            said = perf(command, word, code=2).err
            assert f"`{word}` is a revision and a benchmark here" in said, (command, said)
            assert f"write {word}~0 for the revision, -- {word} for the benchmark" in said
    said = perf("check", "--", "main", code=3).flat
    assert "(only main): tests: main became slower" in said
    step = re.search(
        r"Next: find the function: perf blame (\S+ \S+) -- (.*?) If it is wanted", said
    )
    assert step and step[2] == "'tests: main'", said
    blame = ("blame", "--stored", *step[1].split(), "--", *shlex.split(step[2]))
    assert "nothing is known of" in perf(*blame, code=2).err
    assert "main" in perf("show", *step[1].split(), "--unit=main", "--text").out
    assert "tests: main became slower" in perf("check", "-u", "main", code=3).out
    assert (
        perf("check", "v1.0", "main", "--", code=None).out
        == perf("check", "v1.0~0", "main~0", code=None).out
    )
    assert "tests: HEAD became" in perf("check", "main~1", "main", "--", "HEAD", code=3).out
    assert "`tests` is not a revision here" in perf("check", "tests", "--", "HEAD", code=2).err
    assert first[:10] in perf("log", "v1.0~0").out
    assert "two benchmarks" in perf("check", "tests: main", "other", code=2).err


def test_a_word_that_is_a_file_and_a_benchmark_says_so(project: Project, perf: Perf) -> None:
    PROJECTS["files"].store(project)
    for command in ("check", "show"):
        said = perf(command, "old.json", code=2).err
        assert "`old.json` is a file and a benchmark here: write ./old.json for the file" in said
        assert "-- old.json for the benchmark" in said
    assert "old.json: perf.toml became slower" in perf("check", "--", "perf.toml", code=3).out
    drawn = perf("show", "perf.toml", "-o", "page.json")
    assert "perf.toml" in drawn.err + Path("page.json").read_text()


def test_a_file_without_an_ending_of_profiles_gives_way_to_a_revision(
    project: Project, perf: Perf
) -> None:
    project.write("main", "a program")
    project.commit("not measured")
    assert "perf init" in perf("check", "main", "HEAD", code=10).err
    PROJECTS["pytest"].store(project)
    assert "test_count" in perf("show", "main", "--text").out


def test_a_unit_of_one_side_is_named_and_its_word_is_said(project: Project, perf: Perf) -> None:
    commits = PROJECTS["collectors"].store(project)
    assert "New: sided: only new" in perf("check", *commits[-2:], "only new", code=4).out
    assert "has profiles of `only new`" in perf("check", *commits[:2], "only new", code=4).err
    assert "only new" in perf("log", "only new").out
    assert perf("log", "sided: both", "-m", "cpu").out.count("\nsided: both") == 1


def test_a_unit_is_accepted_at_all_of_its_sizes(project: Project, perf: Perf) -> None:
    commits = PROJECTS["curves"].store(project)
    perf("check", *commits[-2:], code=3)
    assert "is 2 degradations" in perf("accept", "-r", "why", "find [10]", code=2).err
    perf("accept", "-r", "why", "insert: find, wall time")
    accepted_sizes = [row["size"] for row in perf("accept", "--list", "--json").document]
    assert sorted(accepted_sizes) == [1, 10, 100]
    assert "accepted already" in perf("accept", "-r", "why", "find [10]:wall", code=2).err


def test_a_filter_that_matches_nothing_says_so_before_anything_runs(
    project: Project, perf: Perf
) -> None:
    commits = PROJECTS["pytest"].store(project)
    for arguments in (
        ("check", "--measure", *commits[-2:], "-u", "test_cuont"),
        ("bisect", commits[0], commits[-1], "-u", "test_cuont"),
        ("blame", *commits[-2:], "-u", "test_cuont"),
        ("history", "-u", "test_cuont"),
        ("plan", "-u", "test_cuont"),
        ("log", "-u", "test_cuont"),
        ("show", "-u", "test_cuont"),
    ):
        said = perf(*arguments, code=2)
        assert said.out == "", "nothing has begun"
        assert "no unit is called `test_cuont`; did you mean" in said.err
        assert "test_core.py::test_count" in said.err


def test_what_perf_toml_no_longer_has_is_said_before_anything_runs(
    project: Project, perf: Perf
) -> None:
    commits = PROJECTS["pytest"].store(project)
    project.write("perf.toml", '[[job]]\nname = "other"\ncmd = "true"\n')
    for command in ("bisect", "blame", "mutate"):
        words = () if command == "mutate" else commits[-2:]
        said = perf(command, *words, "tests", code=2).err
        assert "tests was measured, but is not a job of perf.toml any more: add it there" in said


def test_a_filter_leaves_the_same_in_all_commands(project: Project, perf: Perf) -> None:
    commits = PROJECTS["two jobs"].store(project)
    pair = commits[-2:]
    for filter_ in (
        ("-j", "old tests", "-u", "test_a", "-m", "wall"),
        ("old tests: test_a, wall time",),
    ):
        report = perf("check", *pair, *filter_, "--json", code=3).document
        assert [(row["job"], row["uid"], row["metric"]) for row in report["changes"]] == [
            ("old tests", "test_a", "wall")
        ]
        trends = perf("log", *filter_, "--json").document["trends"]
        found = [(row["benchmark"], row["metric"]) for row in trends]
        assert found == [("old tests: test_a", "wall")]
        jobs = perf("plan", *filter_, "--json").document["jobs"]
        assert [len(job["units"]) for job in jobs] == [1]
        assert perf("history", *filter_, "--json").document["series"] == 1
        (row,) = perf("status", *filter_, "--json").document["jobs"]
        assert row["benchmark"] == "old tests: test_a"
        document = perf("export", pair[1], *filter_).document
        assert document["resources"]["uid"]["names"] == ["test_a"]
        assert "cpu" not in document["metrics"]
    whole = perf("check", *pair, "--json", code=3).document
    assert report["changes"][0] in whole["changes"], "a part of a report says what the whole says"


def test_words_are_read_as_what_a_command_takes(project: Project, perf: Perf) -> None:
    """What a cure proposes is taken by the command that proposes it."""
    PROJECTS["revisions"].store(project)
    assert "measured  tests" in perf("status", "main").out
    for word in ("HEAD~1", "nosuch"):
        assert f"no benchmark is called `{word}`" in perf("status", word, code=2).err
    said = perf("process", "main", "outliers", code=2).err
    assert "HEAD outliers -j main for the benchmark" in said
    unknown = perf("check", "HEAD~1~0", "HEAD~0", "perf.toml", code=2).err
    assert "nor is it a benchmark" in unknown and "is a file" not in unknown
    said = perf("rm", "HEAD~0", "mai", code=2).err
    assert "tests" in said and "tests: main" not in said, "rm takes whole jobs only"
    said = perf("blame", "--stored", "HEAD~1~0", "HEAD~0", "-u", "main", code=2).err
    assert "run `perf blame HEAD~1~0 HEAD~0 -u main`" in said


def test_the_next_step_of_a_part_is_about_that_part(project: Project, perf: Perf) -> None:
    commits = PROJECTS["two jobs"].store(project)
    pair = [commit[:10] for commit in commits[-2:]]
    for words, name in (
        (["old tests: test_a"], "old tests: test_a"),
        (["-u", "test_b", "-m", "wall time"], "old tests: test_b"),
        (["test_c"], "new tests: test_c"),
    ):
        said = perf("check", *pair, *words, code=3).flat
        step = re.search(r"Next: find the function: perf (blame .*?) If it is wanted", said)
        assert step
        assert shlex.split(step[1]) == ["blame", *pair, "--", name]
        drawn = perf("show", *pair, *words, "--text").out
        assert words[-1].rpartition(" ")[2] in drawn
        assert ("test_c" in drawn) == (words == ["test_c"])
    ends = commits[0][:10], commits[-1][:10]
    said = perf("check", *ends, "test_b", code=0).flat
    assert f"To settle it: perf check --measure {ends[0]} {ends[1]} test_b" in said
