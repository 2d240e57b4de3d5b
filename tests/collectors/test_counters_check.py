"""How profiles of the ``counters`` collector are judged: totals one by one, samples together, the
machine not at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from samples import sample_profile

from perfvcs.check import Change, compare
from perfvcs.check.methods.counters import ASIDE
from perfvcs.collectors.counters.processes import MACHINE_ROWS
from perfvcs.profile import Collected, Design, Job, Metric, Profile, Resources

NAMES = ("cpu_use", "read_call_rate", "write_call_rate")
METRICS = {"wall": Metric("s"), "minor_faults": Metric("", "none")} | {
    name: Metric("", "none") for name in NAMES
}


def profile(
    version: int,
    *,
    wall: float = 1.0,
    write: float = 1.0,
    machine: float = 1.0,
    samples: int = 30,
    **extra: Metric,
) -> Profile:
    """Five executions of a service under changing load; ``write``, ``machine``: how often a request
    writes, what others do.
    """
    random = np.random.default_rng(version)
    rows = Resources(names=["shop", MACHINE_ROWS, "orders"], iteration=[])
    assert rows.iteration is not None
    columns: dict[str, list[float | None]] = {
        name: [] for name in (*METRICS, "machine_busy", *extra)
    }

    def add(uid: int, execution: int, number: int, **values: float) -> None:
        assert rows.iteration is not None
        rows.uid.append(uid)
        rows.execution.append(execution)
        rows.iteration.append(number)
        for name, column in columns.items():
            column.append(values.get(name))

    for execution in range(5):
        add(
            0,
            execution,
            0,
            wall=wall * random.normal(1, 0.002),
            minor_faults=1000.0 * version + execution,
        )
        for number in range(1, samples + 1):
            load, noise = random.uniform(50, 150), random.normal(1, 0.02, 3)
            add(
                0,
                execution,
                number,
                cpu_use=0.01 * load * noise[0],
                read_call_rate=load * noise[1],
                write_call_rate=write * load * noise[2],
            )
            add(
                1,
                execution,
                number,
                machine_busy=machine * random.uniform(0, 2),
                **dict.fromkeys(extra, random.uniform(0, machine)),
            )
        add(2, execution, 0, wall=0.5)
    rows.metrics = columns
    fields: dict[str, Any] = {
        "commit": str(version) * 40,
        "job": Job("shop", "counters", "load", engine="proc+launcher/1"),
        "collected": Collected(
            f"s{version}",
            f"2026-11-2{version}T09:30:00Z",
            f"2026-11-2{version}T09:40:00Z",
            "perfvcs 0.1.0",
        ),
        "design": Design(executions=5),
        "metrics": METRICS | {"machine_busy": Metric("", "none")} | extra,
        "resources": rows,
    }
    return sample_profile([1.0], **fields)


def verdicts(old: Profile, new: Profile, method: str = "auto") -> dict[tuple[str, str], Change]:
    found = compare([old], [new], method=method).changes
    assert len({(change.uid, change.metric) for change in found}) == len(found), (
        "nothing is told twice"
    )
    return {(change.uid, change.metric): change for change in found}


@pytest.mark.slow
def test_totals_and_samples_are_judged_the_machine_is_not() -> None:
    found = verdicts(profile(1), profile(2, wall=1.2, machine=40.0))
    assert found.keys() == {("shop", "wall"), ("orders", "wall"), ("shop", "counters")}
    assert found["shop", "counters"].word == "same"
    assert found["shop", "wall"].word != "same" and found["shop", "wall"].method == "log-median"


def test_counters_that_no_longer_belong_together_are_a_degradation() -> None:
    change = verdicts(profile(1), profile(2, write=3.0))["shop", "counters"]
    assert (change.word, change.method) == ("degradation", "counters")
    counters = {name for cluster in change.clusters or () for name in cluster.counters}
    assert "write_call_rate" in counters <= set(NAMES), "totals are no counters"


def test_what_the_machine_decides_and_copies_are_not_compared() -> None:
    extra = {
        name: Metric("", "none")
        for name in (*ASIDE, *(f"web.{name}" for name in ASIDE), "web.rss", "rss")
    }
    old, new = profile(1, **extra), profile(2, **extra)
    for place, one in enumerate((old, new)):
        rows = one.resources
        random = np.random.default_rng(place)
        for number, (uid, iteration) in enumerate(zip(rows.uid, rows.iteration or [], strict=True)):
            for name in extra if not uid and iteration else ():
                rows.metrics[name][number] = random.uniform(0, 1) * (
                    1 if name == "rss" else 1 + 50 * place
                )
    change = verdicts(old, new)["shop", "counters"]
    counters = {name for cluster in change.clusters or () for name in cluster.counters}
    assert (
        change.word == "same"
        and "web.rss" not in counters
        and "rss" in counters
        and not {name.rpartition(".")[2] for name in counters} & set(ASIDE)
    )


def test_the_method_by_name_judges_nothing_else() -> None:
    found = verdicts(profile(1), profile(2, wall=2.0), method="counters")
    assert {key: change.word for key, change in found.items()} == {("shop", "counters"): "same"}


def test_a_method_for_samples_leaves_the_counters_alone() -> None:
    assert verdicts(profile(1), profile(2), method="mann-whitney").keys() == {
        ("shop", "wall"),
        ("orders", "wall"),
    }


@pytest.mark.parametrize("samples", [0, 30])
def test_executions_that_ended_before_enough_samples_are_no_answer(samples: int) -> None:
    change = verdicts(profile(1, samples=samples), profile(2, samples=0))["shop", "counters"]
    assert change.word == "inconclusive" and change.reason.startswith("too few observations")


def test_counters_that_only_one_version_has_are_new_and_reported_once() -> None:
    extra = {"cycle_rate": Metric("1/s", "none"), "latency": Metric("s")}
    found = verdicts(profile(1), profile(2, **extra))
    assert found["", "cycle_rate"].word == "new"
    assert {key for key in found if key[1] == "latency"} == {(MACHINE_ROWS, "latency")}
