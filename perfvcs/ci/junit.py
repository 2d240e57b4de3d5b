"""A verdict as JUnit XML: a test case per comparison."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from perfvcs.check.acceptance import is_open
from perfvcs.check.sentence import criteria
from perfvcs.check.text import labelled, remarks
from perfvcs.check.text import measure as measured
from perfvcs.text.characters import shorten, visible
from perfvcs.text.quantity import step
from perfvcs.text.words import metric_name

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from perfvcs.check.change import Change
    from perfvcs.ci.verdict import CiVerdict

LARGEST_JUNIT = 30_000_000  # bytes that GitLab reads
MOST_TEST_CASES = 50_000  # test cases
MOST_ACCEPTED = 100  # degradations that the change accepts by itself
NAME, MESSAGE = 300, 600  # characters
OPEN_VERDICTS = ("inconclusive", "suspected", "not comparable", "new", "missing")


def junit(verdict: CiVerdict) -> bytes:
    """The document; of very many comparisons those that matter most, so that it is never larger than ``LARGEST_JUNIT``."""
    most = MOST_TEST_CASES
    while len(document := _document(verdict, most)) >= LARGEST_JUNIT:
        most //= 2
    return document


def _document(verdict: CiVerdict, most: int) -> bytes:
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    top = Element("testsuites")
    suite = SubElement(top, "testsuite", name="perf ci")
    properties = SubElement(suite, "properties")
    about = [("verdict", verdict.word), ("baseline", verdict.report.baseline), ("target", verdict.report.target)]
    about += [("judged by", said)] if (said := criteria(verdict.report.judged_by)) else []
    about += [("accepts", one) for one in verdict.report.judged_by.accepts[:MOST_ACCEPTED]]
    for name, value in (*about, *(("error receipt", line) for line in verdict.receipt.lines())):
        SubElement(properties, "property", name=name, value=_text(value, MESSAGE))
    cases, seen = [_whole(verdict)], Counter[tuple[str, str]]()
    for change in verdict.report.changes[:most]:
        cases.append(_case(change, seen))
    cases += [
        _case_of("not touched", name, "skipped", "the change cannot touch it", seen) for name in verdict.report.untouched[:most]
    ]
    suite.extend(cases)
    kinds = Counter(child.tag for case in cases for child in case)
    counts = {"tests": len(cases), "failures": kinds["failure"], "errors": kinds["error"], "skipped": kinds["skipped"]}
    for name, count in counts.items():
        suite.set(name, str(count))
    suite.set("time", f"{verdict.seconds:.3f}")
    output = SubElement(suite, "system-out")
    output.text = "\n".join(_text(line, MESSAGE) for line in (verdict.headline(), *verdict.receipt.lines(), *verdict.notes))
    indent(top)
    found: bytes = tostring(top, encoding="utf-8", xml_declaration=True)
    return found


def _whole(verdict: CiVerdict) -> Element:
    """The case of the verdict itself: that nothing was settled, or measured, is not the same as that all is well."""
    kind = {"failed": "error", "unsettled": "error", "untouched": "skipped"}.get(verdict.word, "")
    return _case_of("perf ci", "verdict", kind, verdict.headline(), Counter())


def _case(change: Change, seen: Counter[tuple[str, str]]) -> Element:
    """One comparison: failed where the job fails, skipped where it is open."""
    name = f"{labelled(change.job, change.uid, change.size)}, {metric_name(change.metric)}"
    said = " ".join(filter(None, [f"{change.word}:", measured(change), step(change.baseline, change.target, change.unit)]))
    message = "; ".join([said.removesuffix(":"), *remarks(change)])
    fails = is_open(change) and change.gate
    kind = "failure" if fails else "skipped" if change.word in OPEN_VERDICTS and change.accepted is None else ""
    seconds = change.target if change.unit == "s" and change.target is not None else 0.0
    return _case_of(change.job, name, kind, message, seen, seconds)


def _case_of(job: str, name: str, kind: str, message: str, seen: Counter[tuple[str, str]], seconds: float = 0.0) -> Element:
    from xml.etree.ElementTree import Element, SubElement

    job, name = _text(job, NAME), _text(name, NAME)
    seen[job, name] += 1
    own = name if seen[job, name] == 1 else f"{name} ({seen[job, name]})"
    case = Element("testcase", classname=job, name=own, time=f"{max(0.0, seconds):.9f}")
    if kind:
        child = SubElement(case, kind, message=_text(message, MESSAGE))
        if kind != "skipped":
            child.set("type", "degradation" if kind == "failure" else "verdict")
            child.text = _text(message, MESSAGE)
    return case


def _text(text: str, most: int) -> str:
    """Text that XML can hold."""
    return visible(shorten(text, most))
