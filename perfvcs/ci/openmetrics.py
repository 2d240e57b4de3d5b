"""A verdict as OpenMetrics text, which GitLab compares with that of the target branch, and Prometheus can store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from perfvcs.text.characters import shorten, visible

if TYPE_CHECKING:
    from perfvcs.check.change import Change
    from perfvcs.ci.verdict import CiVerdict

MOST_COMPARISONS = 20_000  # comparisons
LABEL_CHARACTERS = 300
OF_COMPARISONS = {  # name -> attribute of a change, and what it is
    "perf_baseline": ("baseline", "Level of the baseline, in the unit of its label."),
    "perf_target": ("target", "Level of the target, in the unit of its label."),
    "perf_effect_ratio": ("effect", "Target divided by baseline, minus 1."),
    "perf_effect_low_ratio": ("low", "Lower end of the interval of the effect."),
    "perf_effect_high_ratio": ("high", "Upper end of the interval of the effect."),
}


def open_metrics(verdict: CiVerdict) -> bytes:
    """The text, which ends in ``# EOF``."""
    return "".join(f"{line}\n" for line in _lines(verdict)).encode()


def _lines(verdict: CiVerdict) -> Iterator[str]:
    changes = {_labels(change): change for change in reversed(verdict.report.changes[:MOST_COMPARISONS])}
    for name, (attribute, about) in OF_COMPARISONS.items():
        yield from _head(name, about)
        for labels, change in reversed(changes.items()):
            value = getattr(change, attribute)
            if value is not None:
                yield f"{name}{labels} {float(value)!r}"
    for name, (value, about) in _of_all(verdict).items():
        yield from _head(name, about)
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
        "perf_degradations": (sum(alarm.certain for alarm in verdict.alarms), "Benchmarks that fail the job."),
        "perf_judge_differences": (
            len(verdict.report.judged_by.differences) + len(verdict.report.judged_by.accepts),
            "What the change does to its own judge: files that differ, and degradations that it accepts.",
        ),
        "perf_detectable_ratio": (
            least.middle if least else None,
            "Smallest change found 4 times of 5, in half of the comparisons.",
        ),
        "perf_false_alarms_ratio": (alarms.rate if alarms else None, "A/A comparisons of this set-up that were called changed."),
        "perf_seconds": (verdict.seconds, "Seconds that measuring and judging took."),
    }


def _head(name: str, about: str) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} gauge"]


def _labels(change: Change) -> str:
    found = {"job": change.job, "benchmark": change.uid, "metric": change.metric, "unit": change.unit}
    if change.size is not None:
        found["size"] = f"{change.size:.10g}"
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in found.items()) + "}"


def _escaped(text: str) -> str:
    text = visible(shorten(text, LABEL_CHARACTERS))
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
