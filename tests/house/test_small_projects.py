"""The projects of `python -m benchmarks roads`, and how it reads what commands say."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.small_projects import KINDS, small_project
from benchmarks.small_projects.claims import (
    Claim,
    contradictions,
    next_command,
    of_report,
    subject_of,
)
from perfvcs.jobs.proposals import proposals


@pytest.mark.parametrize("kind", KINDS)
def test_a_project_is_made_with_its_slip_and_is_proposed_first_as_its_kind(
    kind: str, tmp_path: Path
) -> None:
    small = small_project(kind)
    folder = tmp_path / "small"
    small.begin(folder)
    assert proposals(folder)[0].name == small.job
    harmless = [small.go_on(folder, number) for number in range(4)]
    assert len({*harmless, small.slip_in(folder)}) == 5
    assert small.function in (folder / small.slip["path"]).read_text()


def claim(subject: str, effect: float, low: float, high: float, metric: str = "wall") -> Claim:
    return Claim("check", subject, metric, effect, low, high)


def test_claims_contradict_by_their_sign_and_by_intervals_that_lie_apart() -> None:
    slower = claim("sort", 0.1, 0.08, 0.12)
    assert not list(contradictions([slower, claim("sort", 0.12, 0.11, 0.13)]))
    assert list(contradictions([slower, claim("sort", 0.2, 0.19, 0.21)]))
    assert list(contradictions([slower, claim("sort", -0.1, -0.2, -0.01, "instructions")]))
    assert not list(contradictions([slower, claim("sort", 0.2, 0.19, 0.21, "instructions")]))
    assert not list(contradictions([slower, claim("parse", -0.1, -0.2, -0.01)]))


def test_only_what_moved_is_claimed() -> None:
    values = {"job": "work", "metric": "wall", "effect": 0.1, "low": 0.08, "high": 0.12}
    changes = [
        {"word": "degradation", "uid": "sort", **values},
        {"word": "inconclusive", "uid": "parse", **values},
    ]
    assert list(of_report("check", {"changes": changes})) == [claim("work: sort", 0.1, 0.08, 0.12)]


@pytest.mark.parametrize(
    ("sentence", "subject"),
    [
        ("tests became slower: CPU time +8.0 % [+2.7, +13.6]", "tests"),
        ("tests: a.py::test_b became slower: CPU time +8.0 %", "tests: a.py::test_b"),
        ("bench: +174 % instructions (344.9 M -> 944.9 M), b -> c", "bench"),
        ("nothing changed: both comparisons are the same", ""),
    ],
)
def test_a_sentence_has_a_subject(sentence: str, subject: str) -> None:
    assert subject_of(sentence) == subject


def test_the_next_command_ends_where_prose_begins() -> None:
    line = "Next: find the commit (3 between are not\n  measured):\n  perf bisect a1 b2"
    assert next_command(line) == "perf bisect a1 b2"
    lines = "Next: draw both: perf show a b\nIf it is wanted: perf accept ID --reason TEXT"
    assert next_command(lines) == "perf show a b"
