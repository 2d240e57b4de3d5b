"""What a change cannot touch is not called changed, unless counts confirm it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import Project
from samples import interleaved, noisy, sample_profile
from test_check_command import Perf, store

from perfvcs.profile import Design, Environment, Job, Metric, Resources

CONFIG = '[[job]]\nname = "sort"\ncmd = "python work.py"\nexecutions = 5\nwarmup = 0\n'
WORK = "def work():\n    return sum(range(1000))\n\n\nwork()\n"
JOB = Job(name="sort", collector="time", cmd="python work.py", engine="launcher/1")


@pytest.fixture
def begun(project: Project) -> str:
    """A commit with a program in Python."""
    project.write("perf.toml", CONFIG)
    return project.commit("one", **{"work.py": WORK})


def slower(*commits: str, **fields: Any) -> None:
    """Both are measured in turns, the second 5 % slower."""
    walls = [noisy(0.01), noisy(0.0105, seed=2)]
    store(*interleaved(commits, walls, job=JOB, **fields))


def counted(*commits: str, by: float, python: bool, metric: str) -> None:
    """Both are counted, the second with this factor of the work."""
    fields = {"cpu": "test"} | ({"python": "CPython 3.11.7"} if python else {})
    for number, commit in enumerate(commits):
        rows = Resources(
            names=["sort"], uid=[0, 0], execution=[0, 1], metrics={metric: [1e6 * by**number] * 2}
        )
        job = Job(name="sort", collector="bytecode", cmd="python work.py", engine="counts/1")
        store(
            sample_profile(
                commit=commit,
                job=job,
                environment=Environment(fields, "0123456789ab"),
                design=Design(executions=2),
                metrics={metric: Metric("", "lower", "deterministic")},
                resources=rows,
            )
        )


def times(said: str) -> list[dict[str, Any]]:
    changes: list[dict[str, Any]] = json.loads(said)["changes"]
    return [change for change in changes if change["metric"] in ("wall", "cpu")]


@pytest.mark.parametrize(
    "change",
    [
        {"work.py": f"# what it does\n{WORK}"},
        {"work.py": WORK.replace("    return", '    """Works."""\n    return')},
        {"README.md": "more words"},
    ],
    ids=["comment", "docstring", "document"],
)
def test_what_moved_though_the_change_cannot_touch_it_is_open(
    project: Project, perf: Perf, begun: str, change: dict[str, str]
) -> None:
    slower(begun, project.commit("two", **change))
    said = perf("check")
    assert "inconclusive" in said.out and "degradation" not in said.out
    assert "layout, caches or the machine" in said.flat
    assert "+5.0 % [" in said.out, "the figure is said"
    assert "--measure" not in said.out, "more of the same would not settle it"
    assert [change["word"] for change in times(perf("check", "--json").out)] == ["inconclusive"] * 2
    perf("check", "--gate", code=4)


def test_what_the_change_touches_is_a_degradation(project: Project, perf: Perf, begun: str) -> None:
    slower(begun, project.commit("two", **{"work.py": WORK.replace("1000", "1050")}))
    assert {one["word"] for one in times(perf("check", "--json", code=3).out)} == {"degradation"}


@pytest.mark.parametrize(
    ("metric", "python", "by", "code"),
    [
        ("bytecodes", True, 1.05, 3),
        ("bytecodes", True, 1.0, 0),
        ("instructions", False, 1.05, 3),
        ("instructions", True, 1.05, 3),
    ],
)
def test_a_count_confirms_the_time(
    project: Project, perf: Perf, begun: str, metric: str, python: bool, by: float, code: int
) -> None:
    two = project.commit("two", **{"work.py": f"# more\n{WORK}"})
    slower(begun, two)
    counted(begun, two, by=by, python=python, metric=metric)
    words = {one["word"] for one in times(perf("check", "--json", code=code).out)}
    # the layout changes the instructions of an interpreter, too
    is_work = by > 1 and not (python and metric == "instructions")
    assert words == ({"degradation"} if is_work else {"inconclusive"})


def test_where_counts_agree_as_well_that_is_said(project: Project, perf: Perf, begun: str) -> None:
    two = project.commit("two", **{"work.py": f"# more\n{WORK}"})
    slower(begun, two)
    counted(begun, two, by=1.0, python=False, metric="instructions")
    said = times(perf("check", "--json").out)
    assert {one["word"] for one in said} == {"inconclusive"}
    assert all(
        one["reason"].endswith("): same instructions: layout, caches or memory") for one in said
    )


def test_without_a_perf_toml_that_can_be_read_every_verdict_stands(
    project: Project, perf: Perf, begun: str
) -> None:
    slower(begun, project.commit("two", **{"README.md": "more words"}))
    (project.root / "perf.toml").write_text("[[job\n")
    assert {one["word"] for one in times(perf("check", "--json", code=3).out)} == {"degradation"}


def test_measuring_what_cannot_be_touched_is_announced_as_unneeded(
    project: Project, perf: Perf, begun: str
) -> None:
    project.commit("two", **{"work.py": f"# more\n{WORK}"})
    said = perf("check", "--measure", "-n", "2")
    assert "the change cannot touch the job (`perf select` says why)" in said.err
    project.commit("three", **{"work.py": WORK.replace("1000", "1001")})
    said = perf("check", "--measure", "-n", "2")
    assert "measuring is not needed" not in said.err
    assert begun
