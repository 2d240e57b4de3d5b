"""`perf hosts`, and what `perf history` says of the host where a series steps."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Project
from histories import SORT, Perf, begun, measured, printed, stepped, store
from msgspec import structs
from samples import interleaved, noisy, sample_profile

from perfvcs.environment.host import changes
from perfvcs.profile import Collected, Environment, Metric, Profile
from perfvcs.reports.audit import distrusted
from perfvcs.reports.replay import pairs_of
from perfvcs.repository import Repository

BEFORE = {"host": "lab", "kernel": "6.1.1", "memory": "15.5 GiB", "os": "Debian 12"}
AFTER = BEFORE | {"kernel": "6.1.2"}


def on(profile: Profile, notes: dict[str, str], number: int, **fields: Any) -> Profile:
    """A profile as if another host had measured it, on another day."""
    environment = structs.replace(profile.environment, notes=notes)
    day = f"2026-11-{1 + number:02}T09:30:00Z"
    collected = Collected(f"202611{1 + number:02}T093000-000000", day, day, "perfvcs 0.2.0")
    return structs.replace(profile, environment=environment, collected=collected, **fields)


def updated(commits: list[str], levels: list[float], place: int) -> list[Profile]:
    """A history whose host got another kernel at a place."""
    found = measured(commits, levels)
    return [
        on(one, AFTER if number >= place else BEFORE, number) for number, one in enumerate(found)
    ]


@pytest.fixture
def commits(project: Project) -> list[str]:
    return begun(project, 24)


def test_a_step_names_what_changed_on_its_host(commits: list[str], perf: Perf) -> None:
    store(*updated(commits, stepped(24, 12), 12))
    assert "the host changed meanwhile: kernel 6.1.1 -> 6.1.2" in perf("history").out
    (step,) = printed(perf)["findings"]
    assert step["host"] == ["kernel 6.1.1 -> 6.1.2"]


def test_steps_that_are_summed_up_name_what_changed_on_their_host(
    commits: list[str], perf: Perf
) -> None:
    jobs = [structs.replace(SORT, name=f"sort {number}") for number in range(3)]
    store(
        *(
            structs.replace(one, job=job)
            for job in jobs
            for one in updated(commits, stepped(24, 12), 12)
        )
    )
    out = perf("history").out
    assert "  degradation  3 series: +" in out
    assert out.count("the host changed meanwhile: kernel 6.1.1 -> 6.1.2") == 1


def test_a_step_elsewhere_is_not_the_hosts(commits: list[str], perf: Perf) -> None:
    store(*updated(commits, stepped(24, 12), 18))
    assert "the host changed" not in perf("history").out
    assert printed(perf)["findings"][0]["host"] == []


def test_hosts_are_listed_with_what_they_measured_and_what_changed(
    commits: list[str], perf: Perf
) -> None:
    other = measured(commits[-1:], [0.01], seed=2)
    store(
        *updated(commits, stepped(24, 12), 12),
        *(on(one, {"host": "old", "memory": "4 GiB"}, 0) for one in other),
    )
    out = perf("hosts").out.split("\n")
    assert out[0] == "lab: test, 15.5 GiB"
    assert out[1] == "  24 profiles of 1 job in 24 sessions, 2026-11-01 to 2026-11-24"
    assert out[2] == "  2026-11-13: kernel 6.1.1 -> 6.1.2"
    assert out[3] == "old: test, 4 GiB"
    assert perf("hosts", "old").out.count("\n") == 2
    found = perf("hosts", "--json").document
    assert [host["name"] for host in found] == ["lab", "old"]
    assert found[0]["changes"] == [
        {"when": "2026-11-13T09:30:00Z", "changes": ["kernel 6.1.1 -> 6.1.2"]}
    ]


def test_many_changes_are_listed_when_one_host_is_named(commits: list[str], perf: Perf) -> None:
    profiles = measured(commits[:6], [0.01] * 6)
    store(
        *(
            on(one, BEFORE | {"kernel": f"6.1.{number}"}, number)
            for number, one in enumerate(profiles)
        )
    )
    assert "and 2 earlier changes: perf hosts lab" in perf("hosts").out
    assert perf("hosts", "lab").out.count("kernel") == 5


def test_the_pace_of_the_newest_session_is_compared_with_those_before(
    commits: list[str], perf: Perf
) -> None:
    metrics = {"wall": Metric("s"), "pace": Metric("s", "none")}
    for number, pace in enumerate([1.0, 1.0, 1.0, 1.1]):
        one = sample_profile(commit=commits[number], metrics=metrics)
        one.resources.metrics["pace"] = [pace] * 3
        store(on(one, BEFORE, number))
    assert (
        "pace: the newest session took +10.0 % against the median of those before"
        in perf("hosts").out
    )


def test_audits_count_for_the_host_that_made_them(commits: list[str], perf: Perf) -> None:
    walls = [[0.01, 0.0101, 0.0099, 0.01, 0.0102, 0.01]] * 2
    twins = [on(one, BEFORE, 1) for one in interleaved(commits[-1:] * 2, walls)]
    store(*twins)
    assert "A/A: 0 of 2 comparisons called changed" in perf("hosts").out


def test_an_audit_over_hosts_compares_each_with_itself(commits: list[str]) -> None:
    walls = [[0.010, 0.0101, 0.0099, 0.010, 0.0102, 0.010]] * 2
    twins = [
        on(one, BEFORE | {"worker": host}, 1)
        for host in "ab"
        for one in interleaved(commits[-1:] * 2, walls)
    ]
    (pairs,) = pairs_of(store(*twins).index.headers()).values()
    assert sorted((first.worker, last.worker) for first, last in pairs) == [("a", "a"), ("b", "b")]


def audited(commit: str, number: int, **biases: float) -> list[Profile]:
    """A session that measured a commit against itself on some hosts; on each, the second copy is
    slower by its bias.
    """
    return [
        on(one, BEFORE | {"worker": host}, number)
        for place, (host, bias) in enumerate(biases.items())
        for one in interleaved(
            [commit] * 2,
            [noisy(0.01 * (1 + bias * side), 10, 4 * number + 2 * place + side) for side in (0, 1)],
        )
    ]


def test_a_host_whose_newest_audits_fail_is_not_trusted(commits: list[str], perf: Perf) -> None:
    for number in (1, 2):
        store(*audited(commits[-1], number, good=0.0, bad=0.2))
    assert distrusted(Repository.find()) == {}, "two may be bad luck"
    store(*audited(commits[-1], 3, good=0.0, bad=0.2))
    (host,), (why,) = zip(*distrusted(Repository.find()).items(), strict=True)
    assert (host, why[:33]) == ("bad", "in its newest audits 100 % of the")
    listed = {one["name"]: one["audit"] for one in perf("hosts", "--json").document}
    assert listed == {
        "good": {"comparisons": 6, "called": 0},
        "bad": {"comparisons": 6, "called": 6},
    }
    for number in (4, 5, 6):
        store(*audited(commits[-1], number, bad=0.0))
    assert distrusted(Repository.find()) == {}, "it was mended"


def test_nothing_measured_and_an_unknown_host(project: Project, perf: Perf) -> None:
    project.commit("one")
    Repository.find(create=True)
    assert perf("hosts").out == "nothing was measured yet: run `perf collect`\n"
    store(on(measured([project.commit("two")], [0.01])[0], BEFORE, 1))
    assert "no host `lap` has measured here" in perf("hosts", "lap", code=2).err


def test_only_what_both_sides_know_has_changed() -> None:
    old, new = (
        Environment(notes={"kernel": "1", "os": "A"}),
        Environment(notes={"kernel": "1", "memory": "2 GiB", "host": "x"}),
    )
    assert changes(old, new) == []
    assert changes(Environment(notes={"host": "a"}), Environment(notes={"host": "b\x1b[31m"})) == [
        "host a -> b␛[31m"
    ]
