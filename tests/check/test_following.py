"""What a report says beside its numbers: the next step, the files that differ, and the functions
that changed.
"""

from __future__ import annotations

import pytest
from conftest import Project
from samples import interleaved, noisy, sample_profile
from test_check_command import Perf, measured, store

from perfvcs.check import compare
from perfvcs.profile import Collected, Design, Environment, Job, Metric, Resources
from perfvcs.profile.summary import Header
from perfvcs.reports.causes import CAUSE_KINDS, changed_files, functions
from perfvcs.reports.nextsteps import Known, following
from perfvcs.repository import Repository
from perfvcs.repository.state import State

SORT = '[[job]]\nname = "sort"\ncmd = "./sort"\n'
ALLOCATED = Metric("B", "none", "deterministic")


def test_commits_between_that_nobody_measured_are_to_be_searched(
    project: Project, perf: Perf
) -> None:
    project.write("perf.toml", SORT)
    one = project.commit("one")
    project.commit("two")
    project.commit("three")
    four = project.commit("four")
    store(*interleaved([one, four], [noisy(0.01), noisy(0.011, seed=2)]))
    said = perf("check", code=3).flat
    assert (
        "Next: find the commit (2 between are not measured):"
        f" perf bisect {one[:10]} {four[:10]}" in said
    )
    assert "perf bisect" in perf("check", "--json", code=3).document["next"]


def test_the_commit_of_an_improvement_is_searched_as_one(project: Project, perf: Perf) -> None:
    project.write("perf.toml", SORT)
    one = project.commit("one")
    project.commit("two")
    three = project.commit("three")
    store(*interleaved([one, three], [noisy(0.01), noisy(0.009, seed=2)]))
    assert f": perf bisect --improvement {one[:10]} {three[:10]}" in perf("check").flat


def test_what_hosts_measured_is_searched_on_the_same_hosts(project: Project) -> None:
    project.write("perf.toml", SORT)
    one = project.commit("one")
    project.commit("two")
    three = project.commit("three")
    before, after = interleaved([one, three], [noisy(0.01), noisy(0.011, seed=2)])
    sides, report = (State(one), State(three)), compare([before], [after])
    known = Known([Header.of(after)], 10, "tcp://hosts:8786")
    (said,) = following(Repository.find(create=True), *sides, report, known)
    assert said.startswith("Next: find the commit (1 between is not measured): perf bisect ")
    assert said.endswith(" --scheduler tcp://hosts:8786")


def test_commits_between_that_were_measured_are_to_be_judged(project: Project, perf: Perf) -> None:
    commits = measured(project, 0.010, 0.010, 0.011)
    said = perf("check", "HEAD~2", "HEAD", code=3).flat
    assert (
        "Next: judge the 1 commit between one by one:"
        f" perf check {commits[0][:10]}..{commits[2][:10]}" in said
    )


def test_a_commit_beside_its_baseline_is_to_be_looked_at_or_accepted(
    project: Project, perf: Perf
) -> None:
    one, two = measured(project, 0.010, 0.011)
    lines = perf("check", code=3).out.splitlines()
    assert f"Next: draw both: perf show {one[:10]} {two[:10]}" in lines
    assert "If it is wanted: perf accept ID --reason TEXT" in lines
    measured(project, 0.010, 0.009)
    assert "perf accept" not in perf("check").out


def test_commits_that_are_not_on_one_line_have_nothing_between_them(
    project: Project, perf: Perf
) -> None:
    project.commit("start")
    project.git("checkout", "--quiet", "-b", "side")
    side = project.commit("aside")
    project.git("checkout", "--quiet", "main")
    project.commit("unmeasured")
    end = project.commit("end")
    store(*interleaved([side, end], [noisy(0.01), noisy(0.011, seed=2)]))
    assert "Next: draw both: perf show" in perf("check", "side", "HEAD", code=3).out


def test_the_files_that_differ_are_named_the_most_changed_first(
    project: Project, perf: Perf
) -> None:
    one = project.commit(
        "one", small="1\n", large="1\n", **{"same": "1\n", "a name\twith a tab": "1\n"}
    )
    two = project.commit(
        "two", small="2\n", large="1\n2\n3\n4\n5\n6\n", **{"a name\twith a tab": "2\n3\n"}
    )
    store(*interleaved([one, two], [noisy(0.01), noisy(0.011, seed=2)]))
    assert "3 files differ: large, a name␉with a tab, small." in perf("check", code=3).out
    assert perf("check", "--json", code=3).document["files"][0] == "large"
    assert "differ" not in perf("check", "HEAD", "HEAD", code=None).out


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], ""),
        (["a"], "1 file differs: a."),
        (["a", "b", "c", "d", "e"], "5 files differ: a, b, c and 2 more."),
    ],
)
def test_many_files_are_counted(names: list[str], said: str) -> None:
    assert changed_files(names) == said


def allocations(side: int, commit: str, amounts: dict[str, float], executions: int = 1) -> object:
    """A profile in which functions allocate so many bytes, and all of it is the job's peak."""
    names = ["names", *amounts]
    rows = Resources(
        names=names,
        uid=[place for _ in range(executions) for place in range(len(names))],
        execution=[number for number in range(executions) for _ in names],
        metrics={
            "peak": [
                sum(amounts.values()) if name == "names" else None
                for _ in range(executions)
                for name in names
            ],
            "site_bytes": [amounts.get(name) for _ in range(executions) for name in names],
        },
    )
    return sample_profile(
        commit=commit,
        job=Job(name="names", collector="memory", cmd="./names"),
        resources=rows,
        metrics={"peak": Metric("B", "lower", "deterministic"), "site_bytes": ALLOCATED},
        collected=Collected("s", "2026-11-20T09:30:00Z", "2026-11-20T09:30:02Z", "perfvcs 0.1.0"),
        environment=Environment(fields={"cpu": "test"}, fingerprint="0123456789ab"),
        design=Design(
            executions=executions, order="interleaved", version=side, versions=["a", "b"]
        ),
    )


def test_the_functions_that_changed_are_named_below_the_change(
    project: Project, perf: Perf
) -> None:
    one, two = project.commit("one"), project.commit("two")
    store(
        allocations(0, one, {"learn": 22_000.0, "read": 5_000.0, "gone": 4_000.0}),
        allocations(1, two, {"learn": 44_000.0, "read": 5_000.0}),
    )
    said = perf("check", code=3).flat
    assert "inside: learn allocates +22 kB (+100 %); gone allocates -4 kB (gone)" in said
    assert "read allocates" not in said
    assert "inside: learn" in perf("check", "--markdown", code=3).out
    assert (
        perf("check", "--json", code=3)
        .document["causes"]["names: names"][0]
        .startswith("inside: learn")
    )


def test_a_difference_that_is_chance_is_no_cause() -> None:
    kind = next(kind for kind in CAUSE_KINDS if kind.metric == "site_bytes")
    noise = [1.0, 1.3, 0.8, 1.1, 0.9, 1.2]
    before, after = (
        [allocations(side, str(side), {"f": 1000.0 * factor, "g": 1000.0}) for factor in factors]
        for side, factors in enumerate((noise, noise[::-1]))
    )
    assert functions(before, after, kind) == []  # type: ignore[arg-type]
    grown = [allocations(1, "1", {"f": 3000.0 * factor, "g": 1000.0}) for factor in noise]
    assert [change.function for change in functions(before, grown, kind)] == ["f"]  # type: ignore[arg-type]


def test_sides_without_functions_have_no_cause() -> None:
    assert functions([], [], CAUSE_KINDS[0]) == []


def test_a_range_with_much_news_has_a_sentence_for_what_matters_most(
    project: Project, perf: Perf
) -> None:
    measured(project, 0.010, 0.011, 0.014, 0.0165, 0.018, 0.02, 0.025, 0.0251)
    lines = perf("check", "HEAD~7..HEAD", code=3).out.splitlines()
    assert len(lines) <= 24
    assert sum("became slower" in line for line in lines) == 5
    assert any(
        line.startswith("and ") and line.endswith("more with news: perf check -v") for line in lines
    )
    assert max(map(len, lines)) <= 80
