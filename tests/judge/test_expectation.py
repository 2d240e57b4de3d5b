"""What an expectation makes of comparisons that are exact."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from perfvcs.check.change import Change
from perfvcs.judge.expectation import decide, read


def counted(word: Any, effect: float, **fields: Any) -> Change:
    """A comparison of counts that are the same in every execution."""
    return Change(
        word=word,
        job="walk",
        uid="walk",
        metric="instructions",
        unit="",
        better="lower",
        series="0" * 64,
        effect=effect,
        method="deterministic",
        **fields,
    )


def test_an_exact_gain_is_proved_and_has_no_interval() -> None:
    less = counted("improvement", -0.3)
    assert decide(read("smaller:instructions=20%"), [less]).word == "proved"
    assert decide(read("smaller:instructions=40%"), [less]).word == "refuted"
    assert decide(read("smaller:instructions"), [counted("degradation", 0.1)]).word == "refuted"
    assert decide(read("smaller:instructions"), [counted("same", 0.0)]).word == "refuted"


def test_an_effect_that_is_not_exact_needs_an_interval() -> None:
    open_one = structs.replace(counted("inconclusive", -0.3), method="log-median")
    finding = decide(read("smaller:instructions"), [open_one])
    assert finding.word == "not decided"
    assert finding.why == "the budget ended before there were two pairs"
