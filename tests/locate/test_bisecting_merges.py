"""``perf bisect`` where branches and roots meet: what is named is compared with a parent of its
own.
"""

import json
from pathlib import Path

import pytest
from conftest import Project
from test_bisect_command import ASK, work

from benchmarks import bisecting_merges as merges
from perfvcs.errors import UsageError
from perfvcs.git.ancestry import way
from perfvcs.git.project import Project as Checkout
from perfvcs.locate.bisect.span import brought, span

pytestmark = pytest.mark.slow

SECONDS = 'cmd = "python -S work.py"'


def level(project: Project, title: str, value: float) -> str:
    """A commit after which the program has this level, almost exactly."""
    return project.commit(title, **{"work.py": work(value, 0.0005)})


def merged(project: Project, title: str, *branches: str, ways: tuple[str, ...] = ()) -> str:
    project.git("merge", "--quiet", "--no-ff", *ways, "-m", title, *branches)
    return project.git("rev-parse", "HEAD")


def found(perf, *words: str):
    return perf("bisect", *words, *ASK, "--json").document


def named(document):
    return [(one["commit"], one["parent"]) for one in document["named"]]


def test_in_drawn_histories_the_culprit_or_its_merge_is_named(tmp_path):
    histories = merges.repository(tmp_path / "histories", range(40))
    project = Checkout.find(tmp_path / "histories")
    assert [fault for one in histories for fault in merges.faults(project, one)] == []
    assert sum(one.history.drawn["GOOD aside"] for one in histories) > 20
    for kind in ("octopus merges", "criss-cross merges", "roots"):
        assert any(one.history.drawn[kind] for one in histories)


def test_a_merge_that_loses_what_good_has_is_named_and_not_the_commit_before_it(project, perf):
    project.configure(SECONDS)
    fork = level(project, "slow", 1.3)
    project.git("checkout", "--quiet", "-b", "side")
    good = level(project, "the fix", 1.0)
    project.git("checkout", "--quiet", "main")
    before = project.commit("news", news="a")
    merge = merged(project, "loses the fix", "side", ways=("-s", "ours"))
    said = perf("bisect", good, *ASK)
    assert merge[:10] in said.out and before[:10] not in said.out.split("\n\n")[1]
    assert f"against its parent {good[:10]} (2 of 2)" in said.flat
    assert f"{fork[:10]} and {before[:10]} differ by less than" in said.flat
    assert f"{merge[:10]} itself made the difference" in said.out
    document = found(perf, good)
    assert named(document) == [(merge, good)] and document["within"]["ended"] == "equal"
    assert perf("bisect", good, *ASK, "--quiet").out == f"{merge}\n"


def test_what_the_first_parent_of_a_merge_brought_is_searched_too(project, perf):
    """GOOD is a release on a branch of its own, which is merged later."""
    project.configure(SECONDS)
    commits = [level(project, "begin", 1.0)]
    project.git("checkout", "--quiet", "-b", "release")
    good = project.commit("release 1.0", version="1.0")
    project.git("checkout", "--quiet", "main")
    commits += [project.commit("one", one="x"), level(project, "the culprit", 1.2)]
    commits += [project.commit("three", three="x")]
    merge = merged(project, "merge the release", "release")
    project.commit("after", after="x")
    document = found(perf, good)
    assert named(document) == [(merge, good)]
    assert named(document["within"]) == [(commits[2], commits[1])]
    assert (document["within"]["good"], document["within"]["bad"]) == (commits[0], commits[3])
    assert perf("bisect", good, *ASK, "--quiet").out == f"{commits[2]}\n"


def test_a_root_of_another_history_is_not_compared_with_good(project, perf):
    project.configure(SECONDS)
    good = level(project, "a history of its own", 1.0)
    project.git("checkout", "--quiet", "--orphan", "other")
    root = level(project, "another root", 1.2)
    ways = ("-s", "ours", "--allow-unrelated-histories")
    merge = merged(project, "both in one", "main", ways=ways)
    document = found(perf, good)
    assert named(document) == [(merge, good)] and document["within"] is None
    assert root not in [one["commit"] for one in document["commits"]]


def test_each_parent_of_a_merge_of_many_is_searched_on_request(project, perf):
    project.configure(SECONDS)
    good = level(project, "begin", 1.0)
    for name in ("one", "three"):
        project.git("checkout", "--quiet", "-b", name, good)
        project.commit(name, **{name: "x"})
    project.git("checkout", "--quiet", "-b", "two", good)
    culprit = level(project, "the culprit", 1.2)
    project.git("checkout", "--quiet", "main")
    merge = merged(project, "all of them", "one", "two", "three")
    said = perf("bisect", good, *ASK)
    assert merge[:10] in said.out and "--merged" in said.out
    document = found(perf, good, "--merged")
    assert named(document) == [(merge, good)] and named(document["within"]) == [(culprit, good)]


def test_a_branch_that_does_not_run_the_benchmark_leaves_the_merge_named(project, perf):
    project.configure(SECONDS)
    first = project.commit("nothing runs", **{"work.py": "raise SystemExit(3)\n"})
    project.git("checkout", "--quiet", "-b", "side")
    good = level(project, "begin", 1.0)
    project.git("checkout", "--quiet", "main")
    level(project, "other", 1.2)
    merge = merged(project, "ours", "side", ways=("-s", "ours"))
    said = perf("bisect", good, *ASK, "--quiet")
    assert said.out == f"{merge}\n"
    assert f"what {merge[:10]} brought cannot be searched" in said.err and first[:10] in said.err


def test_what_was_measured_for_another_way_between_the_ends_does_not_count(project, perf):
    """As versions before did, which took GOOD for the parent of the oldest commit in between."""
    project.configure(SECONDS)
    level(project, "slow", 1.3)
    project.git("checkout", "--quiet", "-b", "side")
    good = level(project, "the fix", 1.0)
    project.git("checkout", "--quiet", "main")
    before = project.commit("news", news="a")
    merge = merged(project, "loses the fix", "side", ways=("-s", "ours"))
    found(perf, good)
    path = project.root / ".perf" / "bisections.json"
    begun = json.loads(path.read_bytes())
    one = next(each for each in begun if each["good"] == good)
    one["sessions"] = [each | {"what": "confirm", "commit": before} for each in one["sessions"]]
    one["skipped"] = {before: "it did not run"}
    path.write_text(json.dumps(begun))
    assert named(found(perf, good)) == [(merge, good)]


@pytest.fixture
def checkout(project: Project) -> Checkout:
    return Checkout.find(Path(project.root))


def test_a_way_keeps_to_first_parents_as_far_as_they_lead_back(project, checkout):
    start = project.commit("start")
    project.git("checkout", "--quiet", "-b", "side")
    side = project.commit("aside", other="x")
    project.git("checkout", "--quiet", "main")
    on = project.commit("on main", main="x")
    merge = merged(project, "merge", "side")
    end = project.commit("end", end="x")
    assert [one.commit for one in way(checkout, start, end)] == [on, merge, end]
    assert way(checkout, side, end) == [(merge, (on, side)), (end, (merge,))]
    assert way(checkout, end, start) == [] and way(checkout, on, side) == []
    between = span(checkout, side, end)
    assert between.merges == {merge: (on, side)}
    assert between.beside(1) == (on,) and between.beside(2) == ()
    assert brought(checkout, between, 1, everything=False) == [(start, on)]
    assert brought(checkout, span(checkout, start, end), 2, everything=False) == []
    assert brought(checkout, span(checkout, start, end), 2, everything=True) == [(start, side)]
    with pytest.raises(UsageError, match=f"lines part it is perf bisect {start[:10]} {on[:10]}"):
        span(checkout, side, on)


def test_an_unrelated_root_that_was_merged_cannot_be_searched_and_the_note_says_so(project, perf):
    project.configure(SECONDS)
    good = level(project, "begin", 1.0)
    project.git("checkout", "--quiet", "--orphan", "other")
    project.git("rm", "--quiet", "-rf", ".")
    project.configure(SECONDS)
    level(project, "another root", 1.3)
    project.git("checkout", "--quiet", "main")
    merge = merged(project, "both", "other", ways=("--allow-unrelated-histories", "-X", "theirs"))
    said = perf("bisect", good, *ASK, "--merged").flat
    assert (
        f"{merge[:10]} is a merge; what it brought cannot be searched" in said
        and "with --merged" not in said
    )
