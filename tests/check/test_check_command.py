from math import log1p
from typing import Any

import pytest
from conftest import Perf, Project
from samples import interleaved, noisy, sample_profile
from scipy import stats

from perfvcs.check.change import Report
from perfvcs.check.method import CheckRequest
from perfvcs.profile import Collected, Environment, Job
from perfvcs.repository import Repository
from perfvcs.repository.state import State
from perfvcs.store import Store


def measured(project: Project, *centres: float) -> list[str]:
    """One commit per centre, all measured in one interleaved session."""

    def make() -> list[str]:
        commits = [project.commit(f"version {number}") for number in range(len(centres))]
        walls = [noisy(centre, seed=number) for number, centre in enumerate(centres)]
        store(*interleaved(commits, walls))
        return commits

    return project.begin(f"measured {centres}", make)


def both(project: Project) -> list[str]:
    """Two commits, and a store that is empty."""

    def make() -> list[str]:
        commits = [project.commit("one"), project.commit("two")]
        Repository.find(create=True)
        return commits

    return project.begin("two commits", make)


def store(*profiles: object) -> None:
    repository = Repository.find(create=True)
    repository.store.add(profiles, "test")  # type: ignore[arg-type]


def test_a_degradation_is_found_shown_and_fails(project: Project, perf: Perf) -> None:
    one, two = measured(project, 0.010, 0.011)
    said = perf("check", "HEAD~1", "HEAD", code=3)
    assert said.out.startswith(f"{one[:10]} -> {two[:10]}: sort became slower: wall time +10.0 % [")
    assert "\n\n  degradation    sort  wall time +10.0 % [" in said.out
    assert "also CPU time +10.0 %" in said.out
    assert "2 degradations" in said.out


def test_an_improvement_and_the_same_do_not_fail(project: Project, perf: Perf) -> None:
    measured(project, 0.010, 0.0095, 0.0095)
    assert "improvement" in perf("check", "HEAD~2", "HEAD~1").out
    assert "same" in perf("check", "HEAD~1", "HEAD").out


def test_the_baseline_is_the_nearest_measured_ancestor(project: Project, perf: Perf) -> None:
    one = project.commit("one")
    project.commit("unmeasured")
    three = project.commit("three")
    store(*interleaved([one, three], [noisy(0.01), noisy(0.02, seed=2)]))
    assert f"{one[:10]} -> {three[:10]}" in perf("check", code=3).out
    assert f"{one[:10]} -> {three[:10]}" in perf("check", "HEAD", code=3).out


def test_a_nearer_ancestor_on_another_machine_is_passed_over(project: Project, perf: Perf) -> None:
    one, two, three = (project.commit(name) for name in ("one", "two", "three"))
    elsewhere = Environment(fields={"cpu": "other"}, fingerprint="ba9876543210")
    store(
        sample_profile(noisy(0.01), commit=two, environment=elsewhere),
        *interleaved([one, three], [noisy(0.01), noisy(0.01, seed=2)]),
    )
    assert f"{one[:10]} -> {three[:10]}" in perf("check").out


def test_profiles_of_another_machine_are_not_compared(project: Project, perf: Perf) -> None:
    one, two = both(project)
    elsewhere = Environment(fields={"cpu": "other"}, fingerprint="ba9876543210")
    store(
        sample_profile(noisy(0.01), commit=one),
        sample_profile(noisy(0.02), commit=two, environment=elsewhere),
    )
    said = perf("check", code=4)
    assert "not comparable" in said.out
    assert "cpu" in said.out


def test_without_turns_and_history_a_change_is_only_suspected(project: Project, perf: Perf) -> None:
    one, two = both(project)
    store(sample_profile(noisy(0.01), commit=one), sample_profile(noisy(0.02, seed=2), commit=two))
    assert "suspected" in perf("check").out
    perf("check", "--strict", code=4)


def test_new_and_missing_benchmarks_are_reported(project: Project, perf: Perf) -> None:
    one, two = both(project)
    extra = sample_profile(
        noisy(0.01), commit=two, job=Job(name="parse", collector="time", cmd="./parse")
    )
    gone = sample_profile(
        noisy(0.01), commit=one, job=Job(name="gone", collector="time", cmd="./gone")
    )
    store(*interleaved([one, two], [noisy(0.01), noisy(0.01, seed=2)]), extra, gone)
    out = perf("check", "-v").out
    assert "new" in out
    assert "missing" in out


def test_a_revision_against_itself_needs_a_session_that_held_it_twice(
    project: Project, perf: Perf
) -> None:
    commit = project.commit()
    store(sample_profile(noisy(0.01), commit=commit))
    assert "--measure" in perf("check", "HEAD", "HEAD", code=4).out
    store(*interleaved([commit, commit], [noisy(0.01, seed=3), noisy(0.01, seed=4)]))
    assert "same" in perf("check", "HEAD", "HEAD").out


@pytest.mark.parametrize(("delta", "code"), [("1", 3), ("30", 0), ("30%", 0)])
def test_delta_is_the_smallest_change_that_counts(
    project: Project, perf: Perf, delta: str, code: int
) -> None:
    measured(project, 0.010, 0.012)
    perf("check", "--delta", delta, code=code)


def test_the_gate_lets_a_small_degradation_pass(project: Project, perf: Perf) -> None:
    measured(project, 0.010, 0.01012)
    perf("check", code=3)
    perf("check", "--gate")
    measured(project, 0.010, 0.012)
    perf("check", "--gate", code=3)


def test_json_and_markdown_hold_the_whole_report(project: Project, perf: Perf) -> None:
    one, two = measured(project, 0.010, 0.011)
    found = perf("check", "--json", code=3).document
    assert (found["baseline"], found["target"]) == (one[:10], two[:10])
    assert {change["word"] for change in found["changes"]} == {"degradation"}
    assert perf("check", "--markdown", code=3).out.count("|") > 10
    assert perf("check", "--quiet", code=3).out == "2 degradations; 2 of 2 comparisons settled\n"


def test_json_has_the_smallest_effect_that_would_have_been_found(
    project: Project, perf: Perf
) -> None:
    """By the width of the interval: with ten pairs, 4.5 standard errors are found at 99 %."""
    measured(project, 0.010, 0.011)
    found = perf("check", "--json", code=3).document
    assert found["false_alarms"] is None
    for change in found["changes"]:
        half = (log1p(change["high"]) - log1p(change["low"])) / 2
        executions = change["executions"][0]
        degrees = executions - 1 if change["paired"] else 2 * executions - 2
        error = half / stats.t.ppf(0.995, degrees)
        # the noncentral t distribution says how often so large an effect is found
        point = stats.t.ppf(0.995, executions - 1)
        shift = log1p(change["smallest"]) / error
        chance = stats.nct.sf(point, executions - 1, shift)
        counted = stats.norm.sf(log1p(change["delta"]) / error - shift)  # as delta or more
        assert min(chance, counted) == pytest.approx(0.8, abs=0.01)


def test_the_last_verdict_is_remembered(project: Project, perf: Perf) -> None:
    one, _ = measured(project, 0.010, 0.011)
    perf("check", code=3)
    assert f"2 degradations against {one[:10]}" in perf("log").out
    assert f"2 degradations against {one[:10]}" in perf("status").out


@pytest.mark.parametrize(
    ("arguments", "code", "cure"),
    [
        (("nope", "HEAD"), 2, "not a revision"),
        (("HEAD~1", "HEAD"), 4, "perf collect"),
        ((), 4, "~1 HEAD -- CMD"),
        (("HEAD", "HEAD", "HEAD"), 2, "at most"),
        (("--method", "log-medain"), 2, "did you mean"),
        (("--delta", "-1"), 2, "delta"),
        (("-j", "srot"), 2, "no job is called `srot`; did you mean `sort`?"),
        (("-j", "sort"), 4, "no ancestor of"),
        (("-n", "3"), 2, "-n goes with --measure or --audit"),
        (("--seed", "0"), 2, "--seed goes with --measure or --audit"),
        (("--wait",), 2, "--wait goes with --measure or --audit"),
        (("--budget", "1min"), 2, "--budget goes with --measure or --audit"),
        (("--measure", "--budget", "soon"), 2, "--budget"),
        (("--measure", "--sample", "3"), 2, "--sample goes with --select"),
    ],
)
def test_what_cannot_be_checked_names_the_cure(
    project: Project, perf: Perf, arguments: tuple[str, ...], code: int, cure: str
) -> None:
    project.commit("one")
    commit = project.commit("two")
    store(sample_profile(commit=commit))
    if "--method" in arguments:
        store(sample_profile(commit=project.git("rev-parse", "HEAD~1")))
    said = perf("check", *arguments, code=code)
    assert cure in said.err
    assert said.err.count("\n") == 1


def test_what_has_no_baseline_is_measured_by_the_jobs_of_a_configuration(
    project: Project, perf: Perf
) -> None:
    project.configure()
    store(sample_profile(commit=project.commit("one")))
    assert "measure both in turns with `perf check --measure`" in perf("check", code=4).err


def test_measuring_collects_both_in_turns_and_stops_when_decided(
    project: Project, perf: Perf
) -> None:
    project.configure('cmd = "sh work.sh"')
    project.commit("quick", **{"work.sh": "sleep 0.02"})
    project.commit("slow", **{"work.sh": "sleep 0.2"})
    said = perf("check", "--measure", "HEAD~1", "HEAD", "--seed", "3", code=3)
    assert "  degradation    work  wall time" in said.out
    repository = Repository.find()
    headers = repository.index.headers([repository.project.resolve("HEAD")])
    # instructions are counted, too, where CPU time stays open to the end
    (header,) = [header for header in headers if header.job.collector == "time"]
    assert header.design.order == "interleaved"
    assert 5 <= header.design.executions <= 30


def test_what_repeats_exactly_takes_the_executions_that_were_asked_for(
    project: Project, perf: Perf
) -> None:
    project.configure(
        'cmd = "python3 work.py"\ncollectors = [{ name = "bytecode", executions = 1, warmup = 0 }]'
    )
    project.commit("few", **{"work.py": "sum(n for n in range(1000))"})
    project.commit("many", **{"work.py": "sum(n for n in range(2000))"})
    said = perf("check", "--measure", "HEAD~1", "HEAD", code=3)
    assert "  degradation    work  bytecodes" in said.out
    headers = Repository.find().index.headers([project.git("rev-parse", "HEAD")])
    assert [header.design.executions for header in headers] == [1]


def test_measuring_a_fixed_number_of_pairs_of_a_revision_against_itself(
    project: Project, perf: Perf
) -> None:
    project.configure('cmd = "true"')
    commit = project.commit()
    assert perf("check", "--measure", "-n", "5", "HEAD", "HEAD", code=None).code in (0, 3)
    repository = Repository.find()
    assert [header.design.executions for header in repository.index.headers([commit])] == [5, 5]


def test_what_is_settled_is_not_measured_again(project: Project, perf: Perf) -> None:
    project.configure('cmd = "false"\nname = "x"'.replace('\nname = "x"', ""))
    one, two = project.commit("one"), project.commit("two", other="x")
    job = Job(name="work", collector="time", cmd="false")
    store(*interleaved([one, two], [noisy(0.01), noisy(0.02, seed=2)], job=job))
    assert "degradation" in perf("check", "--measure", code=3).out


def test_a_command_that_fails_while_checking_exits_5(project: Project, perf: Perf) -> None:
    project.configure('cmd = "false"')
    project.commit("one")
    project.commit("two", other="x")
    said = perf("check", "--measure", code=5)
    assert "exited with status 1" in said.err
    assert said.out == ""


@pytest.mark.parametrize("committed", [False, True])
def test_a_side_that_does_not_build_exits_5(project: Project, perf: Perf, committed: bool) -> None:
    project.configure('cmd = "sh work.sh"', top='build = ["sh build.sh"]')
    project.commit("one", **{"work.sh": "true", "build.sh": "true"})
    project.write("build.sh", "exit 3")
    if committed:
        project.commit("two")
    said = perf("check", "--measure", "-n", "1", code=5)
    assert "the build failed" in said.err
    assert said.err.splitlines()[-1] == "perf: 1 failure (see above); the rest is stored"


def test_uncommitted_changes_are_checked_against_their_commit(project: Project, perf: Perf) -> None:
    commit = project.commit(file="1")
    project.write("file", "2")
    dirty = Repository.find(create=True).changes.hash()
    later = Collected(
        "20261120T094500-000000", "2026-11-20T09:45:00Z", "2026-11-20T09:46:00Z", "perfvcs 0.1.0"
    )
    store(
        sample_profile(noisy(0.01), commit=commit),
        sample_profile(noisy(0.02), commit=commit, dirty=dirty, collected=later),
    )
    assert f"{commit[:10]} -> {commit[:10]}+" in perf("check").out


def test_uncommitted_changes_are_measured_against_their_commit(
    project: Project, perf: Perf
) -> None:
    project.configure('cmd = "sh work.sh"')
    commit = project.commit(**{"work.sh": "sleep 0.01"})
    project.write("work.sh", "sleep 0.1")
    assert f"{commit[:10]} -> {commit[:10]}+" in perf("check", "--measure", code=3).out


def test_a_store_of_a_newer_format_and_a_damaged_one_are_reported(
    project: Project, perf: Perf
) -> None:
    commit = project.commit()
    store(sample_profile(commit=commit))
    path = Store(project.root / ".perf" / "store").path
    for objects in path.glob("objects/*/*"):
        objects.chmod(0o600)
        objects.write_bytes(b"garbage")
    said = perf("check", code=12)
    assert said.err.startswith("perf: ")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    "form",
    [(), ("-v",), ("--quiet",), ("--json",), ("--markdown",), ("--gate",), ("HEAD~1..HEAD",)],
)
def test_a_check_prints_the_same_each_time(
    project: Project, perf: Perf, form: tuple[str, ...]
) -> None:
    measured(project, 0.010, 0.011)
    first = perf("check", *form, code=3).out
    assert first
    assert [perf("check", *form, code=3).out for _ in range(2)] == [first, first]


def test_a_gate_that_settles_nothing_exits_4(project: Project, perf: Perf) -> None:
    one, two = both(project)
    store(*interleaved([one, two], [noisy(0.01, spread=0.2), noisy(0.01, seed=2, spread=0.2)]))
    assert perf("check").out.splitlines()[-1] == "0 of 2 comparisons settled"
    for form in ((), ("--quiet",), ("--markdown",), ("HEAD~1..HEAD",)):
        assert (
            perf("check", "--gate", *form, code=4)
            .out.splitlines()[-1]
            .endswith("0 of 2 comparisons settled")
        )
    found = perf("check", "--gate", "--json", code=4).document
    assert (found["settled"], found["comparisons"]) == (0, 2)


def test_a_gate_is_green_where_something_is_settled(project: Project, perf: Perf) -> None:
    one, two = both(project)
    open_, same = (Job(name=name, collector="time", cmd=f"./{name}") for name in ("open", "same"))
    store(
        *interleaved(
            [one, two], [noisy(0.01, spread=0.2), noisy(0.01, seed=2, spread=0.2)], job=open_
        ),
        *interleaved(
            [one, two], [noisy(0.01, seed=seed, spread=1e-4) for seed in (1, 2)], job=same
        ),
    )
    assert perf("check", "--gate").out.splitlines()[-1] == "2 of 4 comparisons settled"
    assert (
        perf("check", "--gate", "-q").out == "2 inconclusive, 2 same; 2 of 4 comparisons settled\n"
    )
    assert perf("check", "--markdown").out.splitlines()[-1] == "2 of 4 comparisons settled"


def test_what_is_new_or_missing_is_not_a_comparison_and_what_is_not_comparable_is(
    project: Project, perf: Perf
) -> None:
    one, two = both(project)
    extra = sample_profile(
        noisy(0.01), commit=two, job=Job(name="parse", collector="time", cmd="./parse")
    )
    store(*interleaved([one, two], [noisy(0.01, seed=seed, spread=1e-4) for seed in (1, 2)]), extra)
    assert perf("check", "--gate").out.splitlines()[-1] == "2 of 2 comparisons settled"
    elsewhere = Environment(fields={"cpu": "other"}, fingerprint="ba9876543210")
    three = project.commit("three")
    store(sample_profile(noisy(0.01), commit=three, environment=elsewhere))
    said = perf("check", "--gate", "HEAD~1", "HEAD", code=4).out
    assert said.splitlines()[-1].startswith("0 of ")


def test_an_accepted_change_is_settled(project: Project, perf: Perf) -> None:
    measured(project, 0.010, 0.011)
    perf("check", code=3)
    perf("accept", "sort:wall", "sort:cpu", "--reason", "wanted")
    assert perf("check", "--gate").out.splitlines()[-1] == "2 of 2 comparisons settled"


def test_accept_and_log_mean_the_report_that_was_printed_last(project: Project, perf: Perf) -> None:
    commits = measured(project, 0.010, 0.010, 0.0112)
    perf("check", "HEAD~2", "HEAD", code=3)
    perf("check", "HEAD~1", "HEAD", code=3)
    perf("check", "HEAD~2", "HEAD", code=3)
    assert f"against {commits[0][:10]}" in perf("status").out


def test_a_push_that_is_stopped_shows_the_whole_report(project: Project, perf: Perf) -> None:
    from perfvcs.hooks.push import Push, check

    one, two = measured(project, 0.010, 0.011)
    full = perf("check", code=3).out
    (checked,) = check(Repository.find().project, [Push("main", one, two)])
    assert (checked.status, checked.output) == (3, full)
    assert checked.settlement == "2 of 2 comparisons settled"


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The name of the target of each comparison that is computed."""
    targets: list[str] = []
    compare = Repository.compare

    def counted(
        self: Repository, baseline: State, target: State, asked: CheckRequest, **known: Any
    ) -> Report:
        targets.append(target.name)
        return compare(self, baseline, target, asked, **known)

    monkeypatch.setattr(Repository, "compare", counted)
    return targets


@pytest.mark.parametrize(
    ("first", "second", "computed"),
    [
        ("a" * 40, "a" * 40, 1),
        ("a" * 40, "b" * 40, 2),  # between two releases verdicts may change
        ("a" * 40 + "+", "a" * 40 + "+", 2),  # one edit may judge unlike another
        ("", "", 1),  # a package that names no commit: its version does
    ],
)
def test_a_verdict_is_reused_by_the_commit_of_perfvcs_that_made_it(
    project: Project,
    perf: Perf,
    monkeypatch: pytest.MonkeyPatch,
    compared: list[str],
    first: str,
    second: str,
    computed: int,
) -> None:
    measured(project, 0.010, 0.011)
    reports = []
    for commit in (first, second):
        monkeypatch.setattr("perfvcs.repository.origin.commit", lambda commit=commit: commit)
        reports.append(perf("check", code=3).out)
    assert len(compared) == computed
    assert reports[0] == reports[1]


def test_a_memory_that_is_damaged_is_made_anew(
    project: Project, perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perfvcs.repository.origin.commit", lambda: "a" * 40)
    one, two = measured(project, 0.010, 0.011)
    perf("check", code=3)
    memory = Repository.find().index.memory
    known = memory.recall(one, two)
    assert known
    memory.remember(one, two, b'{"changes": []}', known.basis)
    memory.close()
    assert perf("check", code=3).out.count("sort became slower") == 1


def test_a_range_judges_every_neighbour(project: Project, perf: Perf) -> None:
    commits = measured(project, 0.010, 0.010, 0.011, 0.011, 0.0105)
    said = perf("check", f"{commits[0]}..HEAD", code=3)
    lines = said.out.splitlines()
    names = [commit[:10] for commit in commits]
    assert lines[0].startswith(f"{names[0]} -> {names[1]}: ")
    assert any(
        line.startswith(f"{names[1]} -> {names[2]}: sort became slower: wall time +10.0 % [")
        for line in lines
    )
    assert any(line.startswith(f"{names[2]} -> {names[3]}: ") for line in lines)
    assert any(
        line.startswith(f"{names[3]} -> {names[4]}: sort became faster: wall time -4.")
        for line in lines
    )
    assert lines[-2].startswith("4 pairs of neighbours: 2 degradations, 2 improvements, ")
    assert max(map(len, lines)) <= 80
    assert perf("check", "-q", f"{commits[0]}..", code=3).out.strip() == "; ".join(lines[-2:])
    assert perf("check", f"{commits[2]}..{commits[3]}").out.count("\n") <= 5
    assert [
        one["target"] for one in perf("check", "--json", "HEAD~4..HEAD", code=3).document
    ] == names[1:]
    assert perf("check", "--markdown", "HEAD~4..HEAD", code=3).out.count("**perf check**") == 4
    assert "CPU time" in perf("check", "-v", "HEAD~2..HEAD~1").out
    perf(
        "accept",
        *(
            each["id"]
            for each in perf("check", "--json", "HEAD~3", "HEAD~2", code=3).document["changes"]
        ),
        "--reason",
        "wanted",
    )
    assert "2 accepted" in perf("check", "HEAD~4..HEAD").out.splitlines()[-2]


def test_a_long_stretch_without_news_takes_one_line(project: Project, perf: Perf) -> None:
    commits = [project.commit(f"version {number}") for number in range(7)]
    store(*interleaved(commits, [noisy(0.01, seed=seed, spread=1e-4) for seed in range(7)]))
    names = [commit[:10] for commit in commits]
    assert perf("check", "HEAD~6..HEAD").out.splitlines() == [
        f"{names[0]} -> {names[6]}: 6 pairs of neighbours: 12 same",
        "",
        "6 pairs of neighbours: 12 same",
        "12 of 12 comparisons settled",
    ]
    pairs = [f"{names[4]} -> {names[5]}: 2 same", f"{names[5]} -> {names[6]}: 2 same"]
    assert perf("check", "HEAD~2..").out.splitlines()[:2] == pairs


def test_a_range_follows_first_parents_and_measured_commits(project: Project, perf: Perf) -> None:
    start = project.commit("start")
    project.git("checkout", "--quiet", "-b", "side")
    side = project.commit("aside")
    project.git("checkout", "--quiet", "main")
    project.commit("unmeasured")
    project.git("merge", "--quiet", "--no-ff", "-m", "merge", "side")
    end = project.git("rev-parse", "HEAD")
    store(*interleaved([start, side, end], [noisy(0.01), noisy(0.02, seed=2), noisy(0.01, seed=3)]))
    found = perf("check", "--json", f"{start}..HEAD").document
    assert [(one["baseline"], one["target"]) for one in found] == [(start[:10], end[:10])]


def test_a_range_from_a_branch_compares_commits_with_their_own_parents(
    project: Project, perf: Perf
) -> None:
    fork = project.commit("start")
    project.git("checkout", "--quiet", "-b", "side")
    side = project.commit("aside", other="x")
    project.git("checkout", "--quiet", "main")
    unrelated = project.commit("on main", main="x")
    store(
        *interleaved(
            [fork, side, unrelated], [noisy(0.02), noisy(0.01, seed=2), noisy(0.02, seed=3)]
        )
    )
    found = perf("check", "--json", "side..HEAD").document
    assert [(one["baseline"], one["target"]) for one in found] == [(fork[:10], unrelated[:10])]
    project.git("merge", "--quiet", "--no-ff", "-m", "merge", "side")
    merge = project.git("rev-parse", "HEAD")
    store(
        *interleaved(
            [side, merge],
            [noisy(0.01, seed=4), noisy(0.02, seed=5)],
            session="20261121T093000-4f2a92",
        )
    )
    found = perf("check", "--json", "side..HEAD", code=3).document
    assert [(one["baseline"], one["target"]) for one in found] == [(side[:10], merge[:10])]


def test_a_range_of_uncommitted_or_incomparable_measurements(project: Project, perf: Perf) -> None:
    one, two = both(project)
    elsewhere = Environment(fields={"cpu": "other"}, fingerprint="ba9876543210")
    store(
        sample_profile(noisy(0.01), commit=one, dirty="0" * 64),
        sample_profile(noisy(0.01), commit=two, environment=elsewhere),
    )
    assert f"{one[:10]}+ -> {two[:10]}" in perf("check", "HEAD~1..HEAD", code=4).out
    store(sample_profile([0.01], commit=two))
    perf("check", "HEAD~1..HEAD")
    perf("check", "HEAD~1..HEAD", "--strict", code=4)


@pytest.mark.parametrize(
    ("arguments", "code", "cure"),
    [
        (
            ("HEAD~1..HEAD",),
            4,
            "one commit that is measured: measure them in turns with `perf collect HEAD~1..HEAD`",
        ),
        (("HEAD~2..HEAD~1",), 4, "no commit that is measured"),
        (("HEAD..HEAD~1",), 2, "the wrong way round"),
        (("HEAD~1...HEAD",), 2, "three dots"),
        (("nope..HEAD",), 2, "not a revision"),
        (("HEAD~1..HEAD", "HEAD"), 2, "one range"),
        (("HEAD~1..HEAD", "--measure"), 2, "perf collect HEAD~1..HEAD"),
    ],
)
def test_a_range_that_cannot_be_judged_names_the_cure(
    project: Project, perf: Perf, arguments: tuple[str, ...], code: int, cure: str
) -> None:
    project.commit("one")
    project.commit("two")
    store(sample_profile(commit=project.commit("three")))
    said = perf("check", *arguments, code=code)
    assert cure in said.err
    assert said.err.count("\n") == 1


def test_two_that_check_at_once_do_not_take_each_other_s_report_for_their_own(
    project: Project,
) -> None:
    from perfvcs.reports.check import judge

    measured(project, 0.010, 0.011)
    one, other = (Repository.find() for _ in range(2))
    for repository, delta in ((one, 0.01), (other, 0.05), (one, 0.01)):
        check = judge(repository, (), CheckRequest(delta=delta))
        assert {change.delta for change in check.report.changes} == {delta}


def test_what_was_measured_once_by_hand_is_not_missed(project: Project, perf: Perf) -> None:
    project.write("perf.toml", '[[job]]\nname = "sort"\ncmd = "./sort"\n')
    one, two = project.commit("one"), project.commit("two")
    by_hand = Job(name="pass", collector="time", cmd="python3 -c pass", engine="launcher/1")
    store(
        *interleaved([one, two], [noisy(0.01), noisy(0.01, seed=2)]),
        sample_profile(commit=one, job=by_hand),
    )
    said = perf("check", "-v").out
    assert "pass" not in said
    assert "missing" not in said
    (project.root / "perf.toml").unlink()
    project.git("commit", "--quiet", "--amend", "--all", "--message", "two")
    gone = Job(name="sort", collector="memory", cmd="./sort", engine="launcher/1")
    store(sample_profile(commit=one, job=gone))
    assert "missing" in perf("check", one, two, "-v").out
