"""The method for many counters over time, through ``compare`` and the command line."""

from __future__ import annotations

from typing import Any

import numpy as np
from samples import sample_profile

from perfvcs.check import Change, compare
from perfvcs.check.answer import sentence
from perfvcs.check.text import text
from perfvcs.profile import Collected, Design, Metric, Profile, Resources

NAMES = ("cpu_user", "cpu_system", "io_read", "io_write", "requests")


def counters(
    version: int,
    *,
    seed: int,
    runs: int = 4,
    times: int = 30,
    write: float = 1.0,
    better: Any = "none",
    **options: Any,
) -> Profile:
    """A service under changing load: CPU and I/O follow the requests; ``write`` is what a request
    costs in writing.
    """
    random = np.random.default_rng(seed)
    load = random.uniform(50, 150, runs * times)
    noise = random.normal(1, 0.02, (4, len(load)))
    table = {
        "cpu_user": 0.3 * load * noise[0],
        "cpu_system": 0.1 * load * noise[1],
        "io_read": 20 * load * noise[2],
        "io_write": 8 * write * load * noise[3],
        "requests": load,
    }
    chosen = options.pop("names", NAMES)
    units = options.pop("units", ("service",))
    count = len(load) * len(units)
    rows = Resources(
        names=list(units),
        uid=np.repeat(np.arange(len(units)), len(load)).tolist(),
        execution=np.tile(np.repeat(np.arange(runs), times), len(units)).tolist(),
        iteration=np.tile(np.tile(np.arange(times), runs), len(units)).tolist(),
        metrics={name: np.tile(table[name], len(units)).tolist() for name in chosen},
    )
    assert len(rows) == count
    fields: dict[str, Any] = {
        "commit": str(version + 1) * 40,
        "collected": Collected(
            f"s{version}",
            f"2026-11-2{version}T09:30:00Z",
            f"2026-11-2{version}T09:40:00Z",
            "perfvcs 0.1.0",
        ),
        "design": Design(executions=runs),
        "metrics": {name: Metric("", better) for name in chosen},
        "resources": rows,
    }
    return sample_profile([1.0], **(fields | options))


def verdict(old: Profile, new: Profile, method: str = "auto") -> Change:
    (change,) = compare([old], [new], method=method).changes
    return change


def test_a_counter_that_no_longer_follows_the_others_is_found_by_default() -> None:
    change = verdict(counters(0, seed=1), counters(1, seed=2, write=1.6))
    assert (change.word, change.method, change.metric, change.uid) == (
        "degradation",
        "counters",
        "counters",
        "service",
    )
    assert (change.better, change.unit, change.gate) == ("none", "", True)
    assert change.clusters is not None
    (cluster,) = [cluster for cluster in change.clusters if cluster.regressed]
    assert "io_write" in cluster.counters
    assert cluster.error is not None
    assert cluster.threshold < 0.3 < cluster.error
    assert change.finding.endswith(f"clusters of counters behaves differently: {cluster.target}")


def test_the_sentence_of_counters_has_no_direction() -> None:
    said = sentence(compare([counters(0, seed=1)], [counters(1, seed=2, write=1.6)]))
    assert said.startswith("the counters of sort: service behave differently")
    assert "became" not in said


def test_good_runs_are_the_same() -> None:
    for seed in range(3, 8):
        assert verdict(counters(0, seed=seed), counters(1, seed=seed + 20)).word == "same"


def test_one_run_has_the_papers_threshold() -> None:
    change = verdict(counters(0, seed=1, runs=1), counters(1, seed=2, runs=1, write=1.6))
    assert (change.word, change.gate) == ("suspected", False)
    assert (
        change.reason
        == "a single good run of the old version: what is normal is a guess, at least 3, better 5"
    )
    assert min(cluster.threshold for cluster in change.clusters or ()) >= 0.3


def test_executions_of_one_observation_are_runs_of_their_profile() -> None:
    change = verdict(
        counters(0, seed=1, runs=30, times=1), counters(1, seed=2, runs=30, times=1, write=2.0)
    )
    assert (change.word, change.executions) == ("suspected", (1, 1))


def test_two_good_runs_are_not_enough_to_be_sure() -> None:
    change = verdict(counters(0, seed=1, runs=2), counters(1, seed=2, runs=2, write=1.6))
    assert (change.word, change.gate) == ("suspected", False)
    assert change.reason.startswith("2 good runs of the old version")
    assert (
        verdict(counters(0, seed=1, runs=3), counters(1, seed=2, runs=3, write=1.6)).word
        == "degradation"
    )


def test_with_as_many_counters_as_observations_equal_versions_raise_no_alarm() -> None:
    few = {"runs": 1, "times": 6}
    assert "degradation" not in {
        verdict(counters(0, seed=seed, **few), counters(1, seed=seed + 50, **few)).word
        for seed in range(9)
    }


def test_counters_on_one_side_are_new_or_missing() -> None:
    old, new = counters(0, seed=1, names=NAMES[:4]), counters(1, seed=2, names=NAMES[1:])
    found = {change.metric: (change.word, change.uid) for change in compare([old], [new]).changes}
    assert found == {
        "counters": ("same", "service"),
        "cpu_user": ("missing", ""),
        "requests": ("new", ""),
    }
    assert (
        len(
            compare(
                [counters(0, seed=1)], [counters(1, seed=2, units=("service", "queue"))]
            ).changes
        )
        == 2
    )


def test_each_unit_has_its_verdict() -> None:
    changes = compare(
        [counters(0, seed=1, units=("a", "b"))], [counters(1, seed=2, units=("b", "c"))]
    ).changes
    assert {change.uid: change.word for change in changes} == {
        "a": "missing",
        "b": "same",
        "c": "new",
    }


def test_too_few_observations_are_inconclusive() -> None:
    change = verdict(counters(0, seed=1, runs=1, times=4), counters(1, seed=2))
    assert change.word == "inconclusive"
    assert "too few observations with all counters: 4 and 120, at least 5 each" in change.reason
    empty = counters(1, seed=2)
    for name in NAMES:
        empty.resources.metrics[name] = [None] * len(empty.resources)
    assert "120 and 0" in verdict(counters(0, seed=1), empty).reason


def test_counters_that_never_change_are_the_same() -> None:
    sides = [counters(0, seed=1), counters(1, seed=1)]
    for side in sides:
        for name in NAMES:
            side.resources.metrics[name] = [7.0] * len(side.resources)
    change = verdict(*sides)
    assert (change.word, change.reason, change.clusters) == (
        "same",
        "no counter changes over time",
        [],
    )


def test_by_name_it_judges_metrics_with_a_direction_if_there_are_three() -> None:
    change = verdict(
        counters(0, seed=1, better="lower"),
        counters(1, seed=2, better="lower", write=1.6),
        "counters",
    )
    assert (change.word, change.metric) == ("degradation", "counters")
    two = {"names": NAMES[:2], "better": "lower"}
    change = verdict(counters(0, seed=1, **two), counters(1, seed=2, **two), "counters")
    assert (change.word, change.reason) == (
        "inconclusive",
        "2 metrics: at least 3 are needed to move together",
    )
    two = {"names": NAMES[3:], "better": "none"}
    assert (
        verdict(counters(0, seed=1, **two), counters(1, seed=2, write=2.0, **two)).word
        == "degradation"
    )


def test_many_regressed_counters_are_listed_briefly_and_the_report_fits() -> None:
    report = compare([counters(0, seed=1)], [counters(1, seed=2, write=1.6)])
    shown = text(report)
    assert max(map(len, shown.splitlines())) <= 80
    assert "predicted with an error of" in " ".join(shown.split())
