"""The entries of ``models``: typed where nothing of them is lost, and else as they are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cases import each
from samples import sample_profile

from perfvcs.profile.decoding import decode
from perfvcs.profile.fittedmodels import BootstrapEntry, FitStep, OpenEntry, RegressionEntry

ABOUT = {"uid": "sort", "metric": "duration"}
LINE: dict[str, Any] = {
    "postprocessor": "regression",
    **ABOUT,
    "by": "size",
    "strategy": "full",
    "fit": "means",
    "model": "linear",
    "order": "O(n)",
    "formula": "b0 + b1 n",
    "coefficients": [1.0, 2.0],
    "errors": [None, 0.1],
    "r2": 0.9,
    "adjusted_r2": 0.9,
    "aicc": None,
    "x": [1.0, 9.0],
    "rows": 9,
    "best": True,
}
AVERAGE: dict[str, Any] = {
    "postprocessor": "moving-average",
    **ABOUT,
    "by": "size",
    "kind": "mean",
    "window": 3,
    "x": [1.0, 9.0],
    "rows": 9,
    "sizes": 2,
    "r2": 0.5,
    "points": [[1.0, 9.0], [2.0, 3.0]],
}


def document(*entries: object) -> bytes:
    found = json.loads(sample_profile().encode())
    return json.dumps(found | {"models": list(entries)}).encode()


def without(entry: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name not in names}


@each(
    "entry",
    [
        LINE,
        without(LINE, "fit"),
        LINE | {"log_r2": None},
        LINE
        | {
            "omitted": {"power": "a size is 0 or below"},
            "zeros": 1,
            "steps": [{"rows": 3, "model": "linear", "r2": None}],
        },
        AVERAGE,
        LINE | {"surprise": [1, {"deep": None}]},
        LINE | {"steps": [{"rows": 3, "model": "linear", "r2": 1.0, "surprise": 2}]},
        without(LINE, "rows"),
        {"postprocessor": "mine", "value": {"a": [1]}},
        {"postprocessor": 7},
        {"uid": None},
        {},
    ],
)
def test_an_entry_is_written_as_it_was_read(entry: dict[str, Any]) -> None:
    read = decode(document(entry))
    assert json.loads(read.encode())["models"] == [entry]
    assert decode(read.encode()) == read


def test_fields_of_a_known_kind_have_their_types() -> None:
    steps = [{"rows": 3, "model": "linear", "r2": None}]
    first, second = decode(document(LINE, without(LINE, "fit") | {"steps": steps})).models
    assert (
        isinstance(first, RegressionEntry)
        and first.x == (1.0, 9.0)
        and first.postprocessor == "regression"
    )
    assert isinstance(second, RegressionEntry) and second.steps == [FitStep(3, "linear", None)]


@pytest.mark.parametrize(
    ("entry", "known"),
    [(LINE | {"surprise": 1}, True), (without(LINE, "rows"), False), ({"uid": 3}, False)],
)
def test_what_would_lose_a_field_stays_open(entry: dict[str, Any], known: bool) -> None:
    [found] = decode(document(entry)).models
    assert isinstance(found, OpenEntry) and found.fields == entry
    assert (found.known is not None) is known


def test_the_mean_of_a_bootstrap_may_lack_an_interval() -> None:
    entry = BootstrapEntry(
        "sort",
        "duration",
        size=None,
        rows=3,
        executions=1,
        draws=100,
        share=0.75,
        seed=0,
        confidence=0.99,
        mean=1.0,
        within=None,
        between=None,
        interval=None,
    )
    assert decode(sample_profile(models=[entry]).encode()).models == [entry]
