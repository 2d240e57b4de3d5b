"""A verdict as one entry per comparison: JUnit XML and OpenMetrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from perfvcs.check.answer import criteria
from perfvcs.check.text import measure as measured
from perfvcs.check.text import remarks
from perfvcs.check.vocabulary import said
from perfvcs.ci.demands import demands, unmet
from perfvcs.profile.naming import labelled
from perfvcs.text.characters import shorten, visible
from perfvcs.text.quantity import step
from perfvcs.text.words import metric_name

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from perfvcs.check.change import Change
    from perfvcs.ci.civerdict import CiVerdict
    from perfvcs.ci.demands import Demand


LARGEST_JUNIT = 30_000_000  # bytes that GitLab reads
MOST_TEST_CASES = 50_000  # test cases
MOST_ACCEPTED = 100  # degradations that the change accepts by itself
NAME, MESSAGE = 300, 600  # characters
MOST_COMPARISONS = 20_000  # comparisons
OF_COMPARISONS = {  # name -> attribute of a change, and what it is
    "perf_baseline": ("baseline", "Level of the baseline, in the unit of its label."),
    "perf_target": ("target", "Level of the target, in the unit of its label."),
    "perf_effect_ratio": ("effect", "Target divided by baseline, minus 1."),
    "perf_effect_low_ratio": ("low", "Lower end of the interval of the effect."),
    "perf_effect_high_ratio": ("high", "Upper end of the interval of the effect."),
}


def junit(verdict: CiVerdict) -> bytes:
    """The document; of very many comparisons those that matter most, so that it is never larger
    than ``LARGEST_JUNIT``.
    """
    most = MOST_TEST_CASES
    while len(document := _document(verdict, most)) >= LARGEST_JUNIT:
        most //= 2
    return document


def _document(verdict: CiVerdict, most: int) -> bytes:
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    top = Element("testsuites")
    suite = SubElement(top, "testsuite", name="perf ci")
    properties = SubElement(suite, "properties")
    facts = [
        ("verdict", verdict.word),
        ("baseline", verdict.report.baseline),
        ("target", verdict.report.target),
    ]
    facts += [("judged by", rules)] if (rules := criteria(verdict.report.judged_by)) else []
    facts += [
        ("accepts", accepted) for accepted in verdict.report.judged_by.accepts[:MOST_ACCEPTED]
    ]
    for name, value in (*facts, *(("error receipt", line) for line in verdict.receipt.lines())):
        SubElement(properties, "property", name=name, value=_text(value, MESSAGE))
    cases, seen = [_whole(verdict)], Counter[tuple[str, str]]()
    cases += [_demanded(demand, seen) for demand in demands(verdict.report)[:most]]
    cases += [_case(change, seen) for change in verdict.report.changes[:most]]
    cases += [
        _case_of("not touched", name, "skipped", "the change cannot touch it", seen)
        for name in verdict.report.untouched[:most]
    ]
    suite.extend(cases)
    kinds = Counter(child.tag for case in cases for child in case)
    counts = {
        "tests": len(cases),
        "failures": kinds["failure"],
        "errors": kinds["error"],
        "skipped": kinds["skipped"],
    }
    for name, count in counts.items():
        suite.set(name, str(count))
    suite.set("time", f"{verdict.seconds:.3f}")
    output = SubElement(suite, "system-out")
    output.text = "\n".join(
        _text(line, MESSAGE)
        for line in (verdict.headline(), *verdict.receipt.lines(), *verdict.notes)
    )
    indent(top)
    document: bytes = tostring(top, encoding="utf-8", xml_declaration=True)
    return document


def _whole(verdict: CiVerdict) -> Element:
    """The case of the verdict itself: that nothing was settled, or measured, is not the same as
    that all is well.
    """
    kind = {"failed": "error", "unsettled": "error", "untouched": "skipped"}.get(verdict.word, "")
    return _case_of("perf ci", "verdict", kind, verdict.headline(), Counter())


def _demanded(demand: Demand, seen: Counter[tuple[str, str]]) -> Element:
    """One demand: failed where it is not met, skipped where that is open."""
    kind = {"degradation": "failure", "suspected": "skipped"}.get(demand.word, "")
    return _case_of(demand.job, demand.name, kind, demand.said, seen)


def _case(change: Change, seen: Counter[tuple[str, str]]) -> Element:
    """One comparison: failed where the job fails, skipped where it is open."""
    name = f"{labelled(change.job, change.uid, change.size)}, {metric_name(change.metric)}"
    sentence = " ".join(
        filter(
            None,
            [
                f"{change.word}:",
                measured(change),
                step(change.baseline, change.target, change.unit),
            ],
        )
    )
    message = "; ".join([sentence.removesuffix(":"), *remarks(change)])
    fails = said(change).fails and change.gate
    kind = "failure" if fails else ""
    if not fails and not change.settled:
        kind = "skipped"
    seconds = change.target if change.unit == "s" and change.target is not None else 0.0
    return _case_of(change.job, name, kind, message, seen, seconds)


def _case_of(
    job: str,
    name: str,
    kind: str,
    message: str,
    seen: Counter[tuple[str, str]],
    seconds: float = 0.0,
) -> Element:
    from xml.etree.ElementTree import Element, SubElement

    job, name = _text(job, NAME), _text(name, NAME)
    seen[job, name] += 1
    numbered = name if seen[job, name] == 1 else f"{name} ({seen[job, name]})"
    case = Element("testcase", classname=job, name=numbered, time=f"{max(0.0, seconds):.9f}")
    if kind:
        child = SubElement(case, kind, message=_text(message, MESSAGE))
        if kind != "skipped":
            child.set("type", "degradation" if kind == "failure" else "verdict")
            child.text = _text(message, MESSAGE)
    return case


def _text(text: str, most: int) -> str:
    """Text that XML can hold."""
    return visible(shorten(text, most))


def open_metrics(verdict: CiVerdict) -> bytes:
    """The text, which ends in ``# EOF``."""
    return "".join(f"{line}\n" for line in _lines(verdict)).encode()


def _lines(verdict: CiVerdict) -> Iterator[str]:
    changes = {
        _labels(change): change for change in reversed(verdict.report.changes[:MOST_COMPARISONS])
    }
    for name, (attribute, meaning) in OF_COMPARISONS.items():
        yield from _head(name, meaning)
        for labels, change in reversed(changes.items()):
            value = getattr(change, attribute)
            if value is not None:
                yield f"{name}{labels} {float(value)!r}"
    for name, (value, meaning) in _of_all(verdict).items():
        yield from _head(name, meaning)
        if value is not None:
            yield f"{name} {float(value)!r}"
    yield from _head("perf_verdict", "1 for the word of the verdict.")
    yield f'perf_verdict{{word="{verdict.word}"}} 1'
    yield "# EOF"


def _of_all(verdict: CiVerdict) -> Mapping[str, tuple[float | None, str]]:
    """Metrics about the whole report, including its error rates."""
    receipt = verdict.receipt
    least, alarms = receipt.detectable, receipt.alarms
    return {
        "perf_comparisons": (receipt.comparisons, "Comparisons."),
        "perf_comparisons_settled": (receipt.settled, "Comparisons that were settled."),
        "perf_degradations": (
            sum(alarm.certain for alarm in verdict.alarms),
            "Benchmarks that fail the job.",
        ),
        "perf_unmet_demands": (
            len(unmet(verdict.report)),
            "Limits exceeded, and outputs that had to stay the same.",
        ),
        "perf_judge_differences": (
            len(verdict.report.judged_by.differences) + len(verdict.report.judged_by.accepts),
            (
                "What the change does to its own judge: files that differ, and degradations that it"
                " accepts."
            ),
        ),
        "perf_detectable_ratio": (
            least.middle if least else None,
            "Smallest change found 4 times of 5, in half of the comparisons.",
        ),
        "perf_false_alarms_ratio": (
            alarms.rate if alarms else None,
            "A/A comparisons of this set-up that were called changed.",
        ),
        "perf_seconds": (verdict.seconds, "Seconds that measuring and judging took."),
    }


def _head(name: str, meaning: str) -> list[str]:
    return [f"# HELP {name} {meaning}", f"# TYPE {name} gauge"]


def _labels(change: Change) -> str:
    labels = {
        "job": change.job,
        "benchmark": change.uid,
        "metric": change.metric,
        "unit": change.unit,
    }
    if change.size is not None:
        labels["size"] = f"{change.size:.10g}"
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(text: str) -> str:
    text = visible(shorten(text, 300))
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
