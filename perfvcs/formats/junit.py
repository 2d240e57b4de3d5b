"""JUnit XML (https://github.com/testmoapp/junitxml), which test runners of all languages write, as
docs/exchange/junit.md describes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from perfvcs.formats._foreign import Element, elements
from perfvcs.formats._readings import Reading, ReadingValue, number, profile_of
from perfvcs.profile import Metric, Profile

METRICS = {"wall": Metric("s")}
SIGNATURE = re.compile(rb"<testsuites?[\s>/]")
STARTED = re.compile(rb'\btimestamp="([^"<>]{10,40})"')
HEAD_BYTES = 1 << 14  # bytes in which the first suite begins
# a test that did not do all of its work has no duration
INCOMPLETE = ("failure", "error", "skipped")


@dataclass(frozen=True)
class Junit:
    """One run of tests: the duration of each that passed; what a file has of a test again are
    iterations.
    """

    suffixes: ClassVar[tuple[str, ...]] = ()  # too many other files have its suffix

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By an element for suites of tests."""
        return SIGNATURE.search(head) is not None and head.lstrip().startswith(b"<")

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults where no test has a duration, and Malformed with the
        line.
        """
        found = elements(document, ("testcase", *INCOMPLETE))
        when = STARTED.search(document[:HEAD_BYTES])
        return profile_of(
            document,
            "junit",
            _readings(found),
            METRICS,
            started=when[1].decode("ascii", "replace") if when else "",
        )


def _readings(found: Iterator[Element]) -> Iterator[Reading]:
    """The durations; whether a test passed is said by the elements inside it."""
    test: Element | None = None
    passed = True
    for element in found:
        if element.name == "testcase":
            yield from _reading(test, passed=passed)
            test, passed = element, True
        elif test is not None and element.around[-1] is test:
            passed = False
    yield from _reading(test, passed=passed)


def _reading(test: Element | None, *, passed: bool) -> Iterator[Reading]:
    if test is None:
        return
    name = test.attributes.get("name", "").strip()
    of = test.attributes.get("classname", "").strip()
    uid = ".".join(filter(None, (of if of != name else "", name)))
    # CTest says so in an attribute alone
    if test.attributes.get("status") in ("notrun", "disabled", "fail"):
        passed = False
    yield Reading(uid or "test", {"wall": [_seconds(test)]} if passed else {})


def _seconds(test: Element) -> ReadingValue:
    """The duration, which Maven writes with commas between thousands; None without one."""
    seconds = number(test.attributes.get("time", "").replace(",", ""))
    return seconds if seconds is not None and seconds >= 0 else None
