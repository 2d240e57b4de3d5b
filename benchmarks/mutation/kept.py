"""Small files of every kind that perfvcs keeps in `.perf`, beside it and in sites."""

from __future__ import annotations

import json
import tempfile
from array import array
from functools import cache
from pathlib import Path
from typing import Any

from .documents import plain, profile


@cache
def reports() -> list[bytes]:
    """A report of `perf check`."""
    import msgspec

    return [msgspec.json.encode(_report())]


def ci_reports() -> list[bytes]:
    """The report.json of `perf ci`, one for each word."""
    from msgspec.structs import replace

    from perfvcs.check.change import CounterCluster, Curve, Difference, JudgedBy
    from perfvcs.ci.artifacts import document
    from perfvcs.ci.civerdict import (
        STATUS,
        Alarm,
        Alarms,
        CausesOfUnit,
        CiVerdict,
        Detectable,
        Receipt,
        SourcePlace,
    )

    report = _report()
    first = report.changes[0]
    ends: dict[str, Any] = {
        "models": ("linear", "log"),
        "orders": ("O(n)", "O(log n)"),
        "r2": (0.9, 0.8),
        "sizes": (1.0, 9.0),
        "at": (1.0, 9.0),
    }
    cluster = CounterCluster(
        counters=["misses"], target="misses", error=0.4, threshold=0.1, regressed=True
    )
    worse = [replace(first, word="degradation", uid="a", effect=0.5, low=0.4, high=0.6, gate=True)]
    worse += [
        replace(worse[0], uid="b", size=3.0, curve=Curve(**ends)),
        replace(worse[0], uid="c", clusters=[cluster], effect=None),
    ]
    open_ = [
        replace(first, word=word, uid=word)
        for word in ("suspected", "not comparable", "new", "missing", "inconclusive")
    ]
    changes = [*report.changes, *worse, *open_, replace(worse[0], uid="d", accepted="wanted")]
    names = {
        "failures": ["it failed"],
        "renamed": ["it looks renamed"],
        "untouched": ["it"],
        "inherits": "0123456789",
    }
    differences = [Difference(what="perf.toml", parts=["new"], files=["b"])]
    judged_by = JudgedBy(
        rules="target",
        differences=differences,
        accepts=["a: wanted"],
        remark="the baseline has no perf.toml",
    )
    errors = Receipt(
        comparisons=9,
        settled=4,
        pairs=[5, 30],
        detectable=Detectable(0.01, 0.02, 0.1),
        alarms=Alarms(300, 2, 0.01, 0.02),
    )
    more: dict[str, Any] = {
        "why": ["a", "b"],
        "notes": ["c"],
        "following": ["d"],
        "seconds": 61.5,
        "causes": [CausesOfUnit(first.job, "a", ["e"])],
    }
    alarms = [
        Alarm(
            worse[0], worse, SourcePlace("bench/a.py", 3, 7), certain=True, text="it became worse"
        )
    ]
    whole = replace(report, changes=changes, judged_by=judged_by, **names)
    return [
        document(CiVerdict(word=word, report=whole, receipt=errors, alarms=alarms, **more))
        for word in STATUS
    ]


def _report() -> Any:
    from perfvcs.check import compare
    from perfvcs.profile.summary import Measured

    sides = [[Measured.of(plain(number))] for number in range(2)]
    return compare(sides[0], sides[1], overall=True)


def series() -> Any:
    """The values of one series with a step."""
    return array("d", [1.0 + (place > 20) + 0.01 * (place % 3) for place in range(40)])


@cache
def _stored() -> tuple[Path, Any]:
    from perfvcs.store import Store

    folder = Path(tempfile.mkdtemp(prefix="perf-mutants-"))
    store = Store.create(folder / "store")
    store.add([plain(0), plain(1), profile(0)], "Seed")
    return folder, store


def store() -> Any:
    """A store with three profiles."""
    return _stored()[1]


def folder() -> Path:
    """Where the store is, to be removed at the end."""
    return _stored()[0]


@cache
def indexes() -> list[bytes]:
    """The index of that store."""
    from perfvcs.index import Index

    path = folder() / "index.db"
    index = Index(store(), path)
    index.headers()
    index.close()
    return [path.read_bytes()]


@cache
def verdicts() -> list[bytes]:
    """A remembered verdict."""
    from perfvcs.index.verdicts import LastVerdicts

    path = folder() / "verdicts.db"
    memory = LastVerdicts(path)
    memory.remember("b" * 40, "a" * 40, reports()[0])
    memory.close()
    return [path.read_bytes()]


def given() -> Any:
    """The series as it is judged, with a step that is settled."""
    from perfvcs.index.seriesresults import Given

    return Given(series(), array("d", [float("nan")] * 40), (3,))


@cache
def findings() -> list[bytes]:
    """Remembered judgements."""
    from perfvcs.index.seriesresults import Findings

    path = folder() / "steps.db"
    found = Findings(path)
    found.judged([given()])
    found.close()
    return [path.read_bytes()]


def audits() -> list[bytes]:
    """Remembered A/A sessions."""
    import msgspec

    from perfvcs.reports.replay import ReplayRecord

    return [
        msgspec.json.encode(
            {"a": [ReplayRecord("s", "sort", "0" * 64, "sort", None, "wall", False, 0.01, 0.0)]}
        )
    ]


def manifests() -> list[bytes]:
    """The manifest of a published site."""
    import msgspec

    from perfvcs.site.folder import MANIFEST_FORMAT, Manifest, ManifestEntry

    return [
        msgspec.json.encode(
            Manifest(
                MANIFEST_FORMAT,
                "perfvcs",
                {"index.html": ManifestEntry("0" * 16, 10, "1" * 16)},
                ["a.html"],
            )
        )
    ]


def records() -> list[bytes]:
    """The record of a store, beside the project and elsewhere."""
    token = "0" * 64
    return [
        json.dumps(one).encode() + b"\n"
        for one in (
            {"token": token, "store": "../.perf"},
            {"token": token, "store": "/elsewhere/.perf"},
        )
    ]
