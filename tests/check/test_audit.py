import pytest
from conftest import Perf, Project
from samples import interleaved, noisy

from perfvcs.check.method import CheckRequest
from perfvcs.profile import Collected, Environment, Job, Profile
from perfvcs.reports.audit import audit, bounds
from perfvcs.reports.replay import counts_of
from perfvcs.repository import Repository


def store(*profiles: Profile) -> None:
    Repository.find(create=True).store.add(profiles, "test")


def itself(
    commit: str,
    *,
    bias: float = 0.0,
    count: int = 30,
    number: int = 1,
    job: str = "sort",
    spread: float = 0.002,
) -> list[Profile]:
    """A session that measured a commit against itself; its second copy is slower by ``bias``."""
    walls = [noisy(0.01 * (1 + bias * side), count, 10 * number + side, spread) for side in (0, 1)]
    when = f"2026-11-{number:02}T09:30:00Z"
    session = Collected(f"session-{number}", when, when, "perfvcs 0.1.0")
    return interleaved(
        [commit, commit],
        walls,
        collected=session,
        job=Job(name=job, collector="time", cmd=f"./{job}"),
    )


def committed(project: Project) -> str:
    """A commit, and a store that is empty."""

    def make() -> str:
        commit = project.commit()
        Repository.find(create=True)
        return commit

    return project.begin("one commit", make)


def compared(project: Project) -> str:
    """Two commits in turns, equally fast; the newer one."""

    def make() -> str:
        commits = [project.commit(name) for name in ("one", "two")]
        job = Job(name="sort", collector="time", cmd="./sort")
        store(*interleaved(commits, [noisy(0.01, seed=seed) for seed in (98, 99)], job=job))
        return commits[1]

    return project.begin("compared in turns", make)


@pytest.mark.parametrize(("rate", "trials"), [(0.1, 20), (0.5, 2), (0.02, 100)])
def test_the_bounds_are_those_of_clopper_and_pearson(rate: float, trials: int) -> None:
    from scipy.stats import binomtest

    expected = binomtest(round(rate * trials), trials).proportion_ci(0.9, "exact")
    assert bounds(rate, trials) == pytest.approx((expected.low, expected.high))


def test_all_or_nothing_has_an_open_bound() -> None:
    assert bounds(0.0, 10) == pytest.approx((0.0, 1 - 0.05 ** (1 / 10)))
    assert bounds(1.0, 10) == pytest.approx((0.05 ** (1 / 10), 1.0))


def test_a_sound_set_up_raises_no_alarm_and_says_how_sure_that_is(project: Project) -> None:
    commit = committed(project)
    store(*itself(commit))
    found = audit(Repository.find(), "HEAD")
    assert (found.sessions, found.trials, found.refused) == (1, 1, False)
    assert [(tally.metric, tally.comparisons, tally.called) for tally in found.tallies] == [
        ("wall", 1, 0),
        ("cpu", 1, 0),
        ("all", 2, 0),
    ]
    assert found.rate < 0.05
    assert "cannot rule out" in found.conclusion()
    assert max(map(len, found.lines())) <= 80


def test_many_quiet_sessions_earn_trust(project: Project) -> None:
    commit = committed(project)
    store(
        *(
            profile
            for job in range(16)
            for number in range(1, 11)
            for profile in itself(commit, number=number, job=f"job{job}", count=5)
        )
    )
    found = audit(Repository.find(), "HEAD")
    assert (found.sessions, found.trials) == (10, 160)
    assert found.high < 0.02
    assert "can be trusted" in found.conclusion()


def test_a_copy_that_is_always_slower_is_a_false_alarm_with_its_name(project: Project) -> None:
    commit = committed(project)
    store(
        *(profile for number in (1, 2, 3) for profile in itself(commit, bias=0.05, number=number))
    )
    found = audit(Repository.find(), "HEAD")
    assert found.refused
    assert found.rate > 0.9
    assert found.suspects[0].effect == pytest.approx(0.05, abs=0.01)
    text = "\n".join(found.lines())
    assert "3 of 3" in text
    assert "sort, wall time: called changed in 100 % of the subsets (+5." in text
    assert "`perf check --gate` is refused" in text


def test_one_alarm_alone_is_no_ground_to_refuse(project: Project, perf: Perf) -> None:
    commit = compared(project)
    store(*itself(commit, bias=0.05))
    found = audit(Repository.find(), "HEAD")
    assert found.low > 0.02
    assert not found.refused
    assert "may be bad luck" in found.conclusion()
    perf("check", "--gate", "HEAD~1", "HEAD")


def test_a_larger_delta_cures_it(project: Project) -> None:
    commit = committed(project)
    store(
        *(profile for number in (1, 2, 3) for profile in itself(commit, bias=0.05, number=number))
    )
    assert audit(Repository.find(), "HEAD", CheckRequest(delta=0.01)).refused
    assert not audit(Repository.find(), "HEAD", CheckRequest(delta=0.1)).refused


def test_what_the_audits_of_a_unit_show_raises_its_floor(project: Project) -> None:
    commit = committed(project)
    store(
        *(
            profile
            for number in range(1, 7)
            for profile in itself(commit, bias=0.05 * (-1) ** number, number=number)
        )
    )
    assert not audit(Repository.find(), "HEAD").refused


def test_short_sessions_and_builds_count_whole(project: Project) -> None:
    commit = committed(project)
    store(*itself(commit, count=4), *itself(commit, count=8, number=2, job="short"))
    built = []
    for profile in itself(commit, count=30, number=3, job="built"):
        rows = profile.resources
        rows.binary = [execution % 5 for execution in rows.execution]
        built.append(profile)
    store(*built)
    found = audit(Repository.find(), "HEAD")
    assert (found.sessions, found.trials) == (2, 2)
    assert found.tallies[-1].comparisons == 4


def test_only_four_executions_audit_nothing(project: Project, perf: Perf) -> None:
    commit = compared(project)
    store(*itself(commit, count=4, bias=0.5))
    perf("check", "--gate")
    from perfvcs.check import NothingToCompare

    with pytest.raises(NothingToCompare, match="perf check --audit"):
        audit(Repository.find(), "HEAD")


def test_another_machine_does_not_count(project: Project) -> None:
    commit = committed(project)
    old = [
        Profile(
            **{name: getattr(profile, name) for name in Profile.__struct_fields__}
            | {"environment": Environment(fingerprint="ba9876543210")}
        )
        for profile in itself(commit, bias=0.05)
    ]
    store(*old, *itself(commit, number=2))
    assert audit(Repository.find(), "HEAD").trials == 1


def test_the_gate_is_refused_where_audits_raise_alarms(project: Project, perf: Perf) -> None:
    commit = compared(project)
    perf("check", "--gate", "HEAD~1", "HEAD")
    store(
        *(profile for number in (1, 2, 3) for profile in itself(commit, bias=0.05, number=number))
    )
    said = perf("check", "--gate", "HEAD~1", "HEAD", code=2)
    assert "the gate is refused" in said.err
    assert "perf plan" in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
    perf("check", "--gate", "HEAD~1..HEAD", code=2)
    perf("check", "HEAD~1", "HEAD")
    perf("check", "--gate", "--delta", "10", "HEAD~1", "HEAD")


def test_one_alarm_among_several_jobs_refuses_nothing(project: Project, perf: Perf) -> None:
    commit = compared(project)
    store(
        *(profile for job in ("a", "b", "c") for profile in itself(commit, job=job)),
        *itself(commit, bias=0.05, number=2),
    )
    assert not audit(Repository.find(), "HEAD").refused
    perf("check", "--gate", "HEAD~1", "HEAD", code=None)


def test_audits_of_other_jobs_do_not_touch_the_gate(project: Project, perf: Perf) -> None:
    commit = compared(project)
    store(
        *(
            profile
            for number in (1, 2, 3)
            for profile in itself(commit, bias=0.05, number=number, job="other")
        )
    )
    perf("check", "--gate", "HEAD~1", "HEAD")


def test_the_executions_of_perf_toml_are_what_is_tried(project: Project) -> None:
    commit = committed(project)
    store(*itself(commit, bias=0.0125, spread=0.01, count=30))
    rates = []
    for executions in (5, 25):
        project.configure(f'cmd = "./sort"\nexecutions = {executions}', top="")
        text = (project.root / "perf.toml").read_text().replace('"work"', '"sort"')
        project.write("perf.toml", text)
        rates.append(audit(Repository.find(), "HEAD").rate)
    assert rates[0] < rates[1]


def test_automatic_executions_are_tried_as_planned(project: Project) -> None:
    commit = committed(project)
    store(*itself(commit, spread=0.02), *itself(commit, spread=0.0001, job="calm"))
    jobs = [
        f'[[job]]\nname = "{name}"\ncmd = "./{name}"\nexecutions = "auto"\n'
        for name in ("sort", "calm")
    ]
    project.write("perf.toml", "\n".join(jobs))
    counts = counts_of(Repository.find(), "HEAD")
    assert counts["calm", "time"] == 5
    assert counts["sort", "time"] > 20
    assert audit(Repository.find(), "HEAD").trials == 2


def test_an_audit_too_short_to_say_anything_is_not_measured(project: Project, perf: Perf) -> None:
    project.configure()
    project.commit("one", **{"work.sh": "true"})
    assert "-n 5" in perf("check", "--audit", "-n", "4", code=2).err
    assert Repository.find().index.headers() == []


def test_an_audit_measures_a_revision_against_itself(project: Project, perf: Perf) -> None:
    project.configure()
    project.commit("one", **{"work.sh": "true"})
    said = perf("check", "--audit", "-n", "6", "HEAD")
    assert "against itself, measured in turns: 1 session, 1 job in all" in said.out
    headers = Repository.find().index.headers()
    assert [header.design.executions for header in headers] == [6, 6]
    found = perf("check", "--audit", "-n", "5", "--json").document
    assert (found["sessions"], found["trials"]) == (2, 2)
    perf("check", "--audit")
    assert max(header.design.executions for header in Repository.find().index.headers()) == 30


def test_a_job_that_fails_fails_the_audit(project: Project, perf: Perf) -> None:
    project.configure()
    project.commit("one", **{"work.sh": "exit 3"})
    assert "status 3" in perf("check", "--audit", "-n", "5", code=5).err


@pytest.mark.parametrize(
    "arguments", [("HEAD", "HEAD"), ("HEAD~1..HEAD",), ("--gate",), ("--measure",), ("-q",)]
)
def test_an_audit_takes_one_revision_and_stands_alone(
    project: Project, perf: Perf, arguments: tuple[str, ...]
) -> None:
    project.commit("one")
    project.commit("two")
    assert "--audit" in perf("check", "--audit", *arguments, code=2).err


@pytest.mark.parametrize("damage", ["", "[]", "{}", None])
def test_results_are_kept_and_a_damaged_file_of_them_is_made_anew(
    project: Project, damage: str | None
) -> None:
    commit = committed(project)
    store(*itself(commit, bias=0.05))
    kept = Repository.find().home / "audits.json"
    first = audit(Repository.find(), "HEAD")
    assert "sort" in kept.read_text()
    if damage is not None:
        kept.write_text(damage)
    assert audit(Repository.find(), "HEAD") == first
    assert "sort" in kept.read_text()


def test_a_folder_that_cannot_be_written_hinders_nothing(project: Project) -> None:
    commit = committed(project)
    store(*itself(commit))
    (Repository.find().home / "audits.json").mkdir()
    assert audit(Repository.find(), "HEAD").trials == 1


def test_the_json_of_a_check_has_the_false_alarms_of_the_series(
    project: Project, perf: Perf
) -> None:
    before = project.commit("before")
    commit = project.commit("after")
    job = Job(name="sort", collector="time", cmd="./sort")
    walls = [noisy(0.01, seed=1), noisy(0.011, seed=2)]
    store(*interleaved([before, commit], walls, job=job))
    assert perf("check", "--json", code=3).document["false_alarms"] is None
    store(*itself(commit))
    alarms = perf("check", "--json", code=3).document["false_alarms"]
    found = audit(Repository.find(), "HEAD")
    assert alarms == {
        "rate": found.rate,
        "low": found.low,
        "high": found.high,
        "sessions": 1,
        "trials": 1,
    }
