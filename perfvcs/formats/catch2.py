"""XML of Catch2 (https://github.com/catchorg/Catch2), versions 2 and 3, as docs/exchange/catch2.md
describes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from perfvcs.formats._foreign import Element, elements
from perfvcs.formats._readings import Marked, Reading, ReadingValue, ToolFormat, number
from perfvcs.profile.validity import Malformed

CASES = ("TestCase", "Section")


@dataclass(frozen=True)
class Catch2(Marked, ToolFormat):
    """One run of the XML reporter: the mean of each benchmark, with its deviation and bounds;
    Catch2 does not write the samples.
    """

    tool = "catch2"
    mark = re.compile(rb"<(?:Catch|Catch2TestRun|BenchmarkResults)[ >]")

    def readings(self, document: bytes) -> Iterator[Reading]:
        """The benchmarks; raises Malformed with the line."""
        return _readings([*elements(document, ("BenchmarkResults", "mean", "standardDeviation"))])


def _readings(elements: list[Element]) -> Iterator[Reading]:
    columns: dict[str, list[ReadingValue]] = {}
    for place, element in enumerate(elements):
        if element.name == "BenchmarkResults":
            columns = {"samples": [number(element.attributes.get("samples", ""))]}
            continue
        if not element.around or element.around[-1].name != "BenchmarkResults":
            continue
        word = {"mean": "wall", "standardDeviation": "wall.deviation"}[element.name]
        columns |= {word: [_seconds(element, "value")]}
        if word == "wall":
            columns |= {
                "wall.low": [_seconds(element, "lowerBound")],
                "wall.high": [_seconds(element, "upperBound")],
            }
        if place + 1 == len(elements) or elements[place + 1].name == "BenchmarkResults":
            samples = columns.pop("samples")
            yield Reading(_named(element.around), {**columns, "wall.samples": samples})


def _named(around: tuple[Element, ...]) -> str:
    return " > ".join(
        element.attributes.get("name", "").strip()
        for element in around
        if element.name in CASES or element.name == "BenchmarkResults"
    )


def _seconds(element: Element, attribute: str) -> ReadingValue:
    text = element.attributes.get(attribute, "")
    nanoseconds = number(text)
    if nanoseconds is None and text.lower().lstrip("-") not in ("", "nan", "inf"):
        raise Malformed(f"<{element.name} {attribute}={text[:80]!r}> is not a number")
    return None if nanoseconds is None else nanoseconds / 1e9
