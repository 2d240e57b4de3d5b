"""A job that was renamed goes on under its new name, wherever it is read; nothing that is stored
changes.
"""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from conftest import Project, Said

from perfvcs.errors import UsageError
from perfvcs.jobs import former_names, matrix
from perfvcs.jobs.config import BadConfig, read
from perfvcs.repository import Repository

# Units with their metrics; the launcher measures memory only where a compiler has made it.
LINES = {"inner/wall", "new/wall", "new/cpu", *(["new/maxrss"] if shutil.which("cc") else [])}
WORK = """echo '{"uid": "inner", "wall": SECONDS}' >> "$PERFVCS_SAMPLES"\n"""
CONFIGURATION = """
[[job]]
name = "NAME"
MORE
cmd = "sh work.sh"
executions = 5
warmup = 0
"""


def configure(project: Project, name: str, more: str = "") -> None:
    project.write("perf.toml", CONFIGURATION.replace("NAME", name).replace("MORE", more))


def measure(project: Project, perf, seconds: str = "1.013") -> str:
    commit = project.commit(**{"work.sh": WORK.replace("SECONDS", seconds)})
    perf("collect", "--quiet", "--committed", "HEAD")
    return commit


@pytest.fixture
def renamed(project: Project, perf) -> list[str]:
    """Two commits measured as "old name", two as "new"; perf.toml does not say so yet."""

    def make() -> list[str]:
        configure(project, "old name")
        commits = [measure(project, perf) for _ in range(2)]
        configure(project, "new")
        return [*commits, measure(project, perf), measure(project, perf, "2.027")]

    return project.begin("a renamed job", make)


def changes(said: Said) -> dict[str, str]:
    return {
        f"{row['job']}/{row['uid']}/{row['metric']}": row["word"]
        for row in said.document["changes"]
    }


def test_without_it_one_is_missing_and_one_is_new_and_check_proposes_it(
    renamed: list[str], perf
) -> None:
    said = perf("check", "--json", renamed[0], renamed[3], code=4)
    assert set(changes(said).values()) == {"new", "missing"}
    note = (
        "`old name` is missing, and `new` runs the same command: if it was renamed, write "
        'formerly = ["old name"] into that job of perf.toml'
    )
    assert said.document["renamed"] == [note]
    assert " ".join(note.split()) in perf("check", renamed[0], renamed[3], code=4).flat


def test_with_it_the_history_goes_on_everywhere(renamed: list[str], project: Project, perf) -> None:
    before = subprocess.run(
        ["git", "rev-parse", "main"],
        cwd=project.root / ".perf/store",
        capture_output=True,
        check=True,
    ).stdout
    configure(project, "new", 'formerly = ["old name"]')
    said = perf("check", "--json", renamed[0], renamed[3])
    assert changes(said).keys() == {f"new/{line}" for line in LINES}
    assert "new" not in changes(said).values()
    assert said.document["renamed"] == []
    history = perf("history", "--json").document
    assert (history["series"], history["commits"]) == (len(LINES), 4)
    trends = perf("log", "--json").document["trends"]
    assert {trend["job"] for trend in trends} == {"new"}
    assert all(None not in trend["values"] for trend in trends)
    for what in ("new", renamed[0]):
        perf("show", what, "--no-open", "-o", "page.json")
        assert '"new' in (project.root / "page.json").read_text()
        assert "old name" not in (project.root / "page.json").read_text()
    assert perf("collect", "--missing", "--json", renamed[0]).out.count('"path"') == 0
    assert "old name" not in perf("plan", "--json").out
    perf("publish", str(project.root.parent / "site"))
    pages = [path.read_text() for path in (project.root.parent / "site").rglob("*.html")]
    said_once = "job old name removed"  # of perf.toml, on the page of the commit that renamed it
    assert not [page for page in pages if "old name" in page.replace(said_once, "")]
    after = subprocess.run(
        ["git", "rev-parse", "main"],
        cwd=project.root / ".perf/store",
        capture_output=True,
        check=True,
    ).stdout
    assert before == after


def test_what_was_verdict_of_neighbours_before_is_not_taken_for_one_after(
    renamed: list[str], project: Project, perf
) -> None:
    """They are kept by what they were computed from."""
    span = f"{renamed[0]}..{renamed[3]}"
    assert "missing" in perf("check", span).out
    configure(project, "new", 'formerly = ["old name"]')
    assert "missing" not in perf("check", span).out


def test_an_acceptance_goes_on(project: Project, perf) -> None:
    configure(project, "old name")
    project.commit(**{"work.sh": WORK.replace("SECONDS", "1.013")})
    project.commit(**{"work.sh": WORK.replace("SECONDS", "2.027")})
    perf("collect", "--quiet", "--committed", "HEAD~1", "HEAD")
    found = perf("check", "--json", "HEAD~1", "HEAD", code=3).document
    perf(
        "accept",
        next(row["id"] for row in found["changes"] if row["uid"] == "inner"),
        "--reason",
        "wanted",
    )
    configure(project, "new", 'formerly = ["old name"]')
    # of the unit alone: the shell's own time is the machine's
    found = perf("check", "--json", "HEAD~1", "HEAD", "-u", "inner").document
    assert [row["accepted"] for row in found["changes"] if row["uid"] == "inner"] == ["wanted"]
    assert "old name" in (project.root / "perf-accepted.toml").read_text()


def test_both_names_on_one_commit_are_one_series(project: Project, perf) -> None:
    """Somebody measured it again after renaming it."""
    configure(project, "old")
    measure(project, perf)
    configure(project, "new", 'formerly = ["old"]')
    perf("collect", "--quiet", "--committed", "HEAD")
    index = Repository.find(project.root).index
    assert {job.name for job in index.series()} == {"new"}
    key = index.series()[0].key
    commits = [project.git("rev-parse", "HEAD")]
    assert len({entry.session for entry in index.history(key)}) == 2
    units = {entry.summary.uid for entry in index.history(key)}
    assert "new" in units and "old" not in units
    numbers = index.lines()
    assert len(numbers) == len(LINES)
    courses = index.courses(numbers, commits)
    assert [len(course.places) for course in courses.values()] == [1] * len(numbers)
    profiles = {course.executions[0] - course.df[0] for course in courses.values()}
    assert profiles == {2} and set(courses) == set(numbers)


def test_processed_profiles_are_renamed_with_their_models(project: Project, perf) -> None:
    configure(project, "old", 'postprocessors = ["outliers"]')
    measure(project, perf)
    configure(project, "new", 'postprocessors = ["outliers"]\nformerly = ["old"]')
    repository = Repository.find(project.root)
    headers = repository.index.headers()
    (profile,) = repository.profiles(headers)
    assert profile.job.name == "new"
    assert set(profile.resources.names) == {"new", "inner"}
    assert "old" not in {entry.uid for entry in profile.models}


@pytest.mark.parametrize(
    ("jobs", "message"),
    [
        ({"a": ["a"]}, "job `a`, formerly: that is its name now: leave it out"),
        ({"a": ["b"], "b": ["a"]}, "job `a`, formerly: `b` is a job of its own here"),
        ({"a": ["b"], "b": []}, "job `a`, formerly: `b` is a job of its own here"),
        ({"a": ["x"], "b": ["y", "x"]}, "job `b`, formerly: job `a` says the same of `x`"),
        ({"a": [""]}, "job `a`, formerly: an empty name is not one"),
    ],
)
def test_a_name_that_would_stand_for_two_jobs_is_refused(
    project: Project, perf, jobs: dict[str, list[str]], message: str
) -> None:
    project.commit()
    perf("init")
    tables = [
        f"[[job]]\nname = {json.dumps(name)}\ncmd = 'true'\nformerly = {json.dumps(old)}\n"
        for name, old in jobs.items()
    ]
    project.write("perf.toml", "\n".join(tables))
    for command in ("collect", "check", "history", "status"):
        said = perf(command, code=2)
        assert message in said.err
        assert said.err.count("\n") == 1


@pytest.mark.parametrize("name", ["a b: [c]", "x" * 10_000, "größer", 'quo"ted'])
def test_unusual_former_names_are_names(name: str) -> None:
    config = read({"job": [{"name": "new", "cmd": "true", "formerly": [name]}]})
    assert former_names(config) == {name: "new"}


def test_a_job_of_several_commands_is_renamed_with_all_of_them() -> None:
    config = read({"job": [{"name": "new", "cmd": ["./sort", "./parse"], "formerly": ["old"]}]})
    assert former_names(config) == {"old sort": "new sort", "old parse": "new parse"}
    assert {cell.name for cell in matrix(config)} == {"new sort", "new parse"}


def test_a_command_that_cannot_be_split_is_said_first() -> None:
    with pytest.raises(BadConfig, match="cannot be split"):
        former_names(read({"job": [{"name": "new", "cmd": "a 'b", "formerly": ["old"]}]}))


def test_a_list_is_needed() -> None:
    with pytest.raises(UsageError, match="a list"):
        read({"job": [{"name": "new", "cmd": "a", "formerly": "old"}]})
