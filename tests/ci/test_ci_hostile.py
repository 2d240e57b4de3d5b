"""A report that a fork's job has written: `perf ci --post` comments or refuses it in one line,
whatever is in it.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from conftest import Perf

from benchmarks.mutation import kept
from benchmarks.mutation.changes import mutated
from perfvcs.ci.artifacts import COMMENT, comment
from perfvcs.ci.civerdict import decode
from perfvcs.errors import PerfError

SEEDS = kept.ci_reports()
# of each kind what nobody expects; the two in quotes are numbers that json does not write
OTHERS: dict[type, list[Any]] = {
    str: [
        "",
        "x",
        "a" * 20_000,
        "s",
        "B",
        "higher",
        "0" * 40,
        "same",
        "degradation",
        "new",
        "not comparable",
        "untouched",
    ],
    float: [
        0,
        -1,
        1e308,
        -1e308,
        5e-324,
        2**63,
        2**70,
        0.999999,
        1e16,
        "@1e309@",
        "@-1e309@",
        f"@1{'0' * 400}@",
    ],
    list: [[], ["x"], [1e308, -1e308], None],
    type(None): [0, -1, 1e308, "@1e309@", "x", [1, 2], True],
}
OTHERS[int] = OTHERS[bool] = OTHERS[float]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values of a document."""
    if path:
        yield path
    for key, inner in (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    ):
        yield from places(inner, (*path, key))


def changed(document: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """The document with another value at a path, if there still is one."""
    for key in path[:-1]:
        document = document[key]
    document[path[-1]] = value
    return document


def written(document: Any) -> bytes:
    return re.sub(r'"@(-?1[e0-9]+)@"', r"\1", json.dumps(document)).encode()


def of_its_kind(random: Random) -> bytes:
    """A report with values of the right kind that nobody expects: more of them are read than of
    those of another kind.
    """
    document = json.loads(random.choice(SEEDS))
    for _ in range(random.choice((1, 1, 2, 4, 8))):
        path = random.choice(list(places(document)))
        value = document
        for key in path:
            value = value[key]
        if isinstance(value, list) and value and random.random() < 0.6:
            changed(document, path, random.choice((value[:1], value * 50, value[::-1])))
        elif not isinstance(value, dict):
            changed(document, path, random.choice(OTHERS[type(value)]))
    return written(document)


def outcome(document: bytes) -> str:
    try:
        verdict = decode(document)
    except PerfError as error:
        assert "\n" not in str(error)
        return "refused"
    text = comment(verdict, "main")
    assert len(text) <= COMMENT and len(text.encode()) <= COMMENT
    assert not re.search(r" inf |\bnan\b", text)
    assert verdict.status in (0, 3, 4, 5)
    return "commented"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_a_mutant_is_refused_or_commented(part: int) -> None:
    whole = Counter(outcome(of_its_kind(Random(f"37:{part}:{number}"))) for number in range(250))
    broken = Counter(
        outcome(mutated(SEEDS, Random(f"37:{part}:{number}"))) for number in range(250)
    )
    assert min(whole["refused"], whole["commented"], broken["refused"], broken["commented"]) > 20


RECIPES = {
    "a series that there is not": (
        ("report", "overall", 0, "series"),
        ["x"],
        "$.overall[0].series is of nothing in $.changes",
    ),
    "units without a series": (
        ("report", "overall", 0, "series"),
        [],
        "$.overall[0] has units, but no series",
    ),
    "a number that is none": (
        ("report", "changes", 0, "low"),
        "@1e309@",
        "Number out of range - at `$.report.changes[0].low`",
    ),
    "a share beyond 1": (("report", "changes", 0, "confidence"), 1.5, "Expected `float` <= 1.0"),
    "less than nothing": (
        ("receipt", "settled"),
        -1,
        "Expected `int` >= 0 - at `$.receipt.settled`",
    ),
    "a text that is too long": (
        ("notes",),
        ["a" * ((1 << 20) + 1)],
        "Expected `str` of length <= 1048576",
    ),
    "a word that there is not": (("word",), "great", "Invalid enum value 'great'"),
    "another version": (
        ("format",),
        "perfvcs-ci/9",
        "its format is perfvcs-ci/9, not perfvcs-ci/1",
    ),
    "no version": (("format",), None, "Expected `str`, got `null` - at `$.format`"),
}


@pytest.mark.parametrize(("path", "value", "said"), RECIPES.values(), ids=RECIPES)
def test_a_hostile_report_is_refused_in_one_line(
    perf: Perf, tmp_path: Path, path: tuple[Any, ...], value: Any, said: str
) -> None:
    document = json.loads(SEEDS[0])
    changed(document, path, value)
    (tmp_path / "report.json").write_bytes(written(document))
    refused = perf("ci", "--platform", "plain", "--post", str(tmp_path), code=2)
    assert refused.out == "" and refused.err.count("\n") == 1 and said in refused.err


def test_the_largest_finite_numbers_are_written() -> None:
    document = json.loads(SEEDS[0])
    changed(document, ("report", "changes", 0, "effect"), 1.7e308)
    assert outcome(written(document)) == "commented"


def test_a_whole_job_named_again_and_again_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perfvcs.check.markdown.MOST_NAMED", 10_000)
    document = json.loads(SEEDS[0])
    document["report"]["overall"][0]["series"] *= 10_001
    with pytest.raises(PerfError, match=r"\$\.overall names over 10,000 changes"):
        decode(written(document))


@pytest.mark.parametrize("word", ["failed", "untouched", "unsettled", "degraded"])
def test_a_comment_is_bounded_whatever_it_says(word: str) -> None:
    document = json.loads(SEEDS[0]) | {"word": word, "why": ["\u754c@`" * 30_000] * 3}
    document["notes"] = document["following"] = ["@`" * 20_000] * 20
    document["report"]["baseline"] = "\u754c" * 100_000
    assert outcome(written(document)) == "commented"
    assert (
        "This change also changes how it is judged: perf"
        in comment(decode(written(document)), "main").partition("\n\n")[0]
    )


def test_a_link_in_place_of_a_report_is_not_followed(perf: Perf, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(SEEDS[0])
    (tmp_path / "artifact").mkdir()
    (tmp_path / "artifact" / "report.json").symlink_to(tmp_path / "secret")
    refused = perf("ci", "--platform", "plain", "--post", str(tmp_path / "artifact"), code=12)
    assert (
        refused.err
        == f"perf: {tmp_path}/artifact/report.json is not a plain file, and perfvcs follows no"
        " links there: remove it\n"
    )
    (tmp_path / "artifact" / "report.json").unlink()
    os.mkfifo(tmp_path / "artifact" / "report.json")
    perf("ci", "--platform", "plain", "--post", str(tmp_path / "artifact"), code=12)
