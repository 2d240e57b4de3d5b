"""What commands print: plain lines for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from perfvcs.profile.summary import Header, summarise
from perfvcs.system.numeric import np
from perfvcs.text.characters import COLUMNS, shorten, sparkline
from perfvcs.text.quantity import at_sizes, change, percent, quantity, step
from perfvcs.text.words import apart, counted, metric_name, metric_rank, named
from perfvcs.text.wrapping import wrap

if TYPE_CHECKING:
    from perfvcs.history.finding import Finding
    from perfvcs.measure.storedsession import CampaignOutcome
    from perfvcs.profile import Profile


STEP_WORD_WIDTH = 11  # the longest word
MARGIN = STEP_WORD_WIDTH + 4
BENCHMARK_WIDTH = 38
STEP_METRIC_WIDTH = 15
DETECTORS = {"series": "the series", "horvath": "Horvath's test"}
LEAST_P = 1e-99  # a p below is printed as this bound
LABEL_CHARACTERS = 34  # characters of a benchmark's name
VERSION = 11
SHOWN_FUNCTIONS = 8  # functions of one profile that are shown


class StepOverSizes(msgspec.Struct, frozen=True):
    """A finding, and those on other sizes of the same unit and metric at the same commit."""

    finding: Finding
    others: list[Finding]

    @property
    def title(self) -> str:
        """The benchmark's name, without a size where a whole curve was judged."""
        from perfvcs.history.finding import title

        line = self.finding.line
        return title(line if self.finding.curve is None else line._replace(size=None))


def together(findings: Iterable[Finding]) -> list[StepOverSizes]:
    """The findings, each with those on other sizes that it stands for: first what a curve's verdict
    says, else the largest effect.
    """
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        line = finding.line
        alone = finding.denied or line.size is None
        series = (
            line.job.key,
            line.uid,
            line.size if alone else None,
            line.metric,
            line.unit,
            line.environment.fingerprint,
        )
        groups.setdefault((series, finding.commit, finding.word), []).append(finding)
    steps = []
    for members in groups.values():
        first, *others = sorted(
            members, key=lambda member: (member.curve is None, -abs(member.effect))
        )
        steps.append(StepOverSizes(first, others))
    return steps


def described(
    grouped: StepOverSizes, called: str, location: str, host: Sequence[str]
) -> Iterator[str]:
    """All that is known of a change: word, benchmark and course, metric and levels, commits, and
    what contradicts it.

    ``location`` is its environment where there are several; ``host`` is what changed meanwhile on
    its host.
    """
    finding, line = grouped.finding, grouped.finding.line
    yield (
        f"  {finding.word:{STEP_WORD_WIDTH}}  {called:{BENCHMARK_WIDTH}} "
        f" {sparkline(finding.around)}".rstrip()
    )
    yield from indented(location)
    size = change(finding.effect, finding.low, finding.high)
    yield from indented(
        f"{_metric(finding):{STEP_METRIC_WIDTH}} {size:<23}"
        f" {step(*finding.judged_levels, line.unit)}"
    )
    yield from indented("; ".join(filter(None, (_at(finding), _others(grouped)))))
    yield from indented(
        "; ".join(filter(None, (_range(finding), _p(finding.p), _by(finding.detectors))))
    )
    yield from indented(finding.contradiction and f"contradicted: {finding.contradiction}")
    yield from indented(_meanwhile(host))


def summed_up(
    members: Sequence[StepOverSizes], called: str, location: str, hosts: Sequence[str]
) -> Iterator[str]:
    """Several changes of one commit and word: how many, how large, the first of them by name, and
    the fewest commits that it may be.

    What speaks against them is kept: how many are contradicted, and what changed meanwhile on their
    ``hosts``.
    """
    from statistics import median  # takes a tenth of `perf log` to import

    first = members[0].finding
    effects = sorted(member.finding.effect for member in members)
    spread = f"{percent(effects[0])} to {percent(effects[-1])}, median {percent(median(effects))}"
    yield f"  {first.word:{STEP_WORD_WIDTH}}  {counted(len(members), 'series', 'series')}: {spread}"
    yield from indented(
        f"most: {', '.join(filter(None, (called, _metric(first), location)))}, {first.levels}"
    )
    yield from indented(
        _range(min((member.finding for member in members), key=lambda finding: finding.commits))
    )
    contradicted = sum(bool(member.finding.contradiction) for member in members)
    yield from indented(
        f"contradicted: {contradicted:,} of {len(members):,} (perf history --all)"
        if contradicted
        else ""
    )
    yield from indented(_meanwhile(hosts))


def indented(text: str) -> list[str]:
    """A text behind the word's column, wrapped; inner spaces stay where it fits one line."""
    if not text:
        return []
    margin = " " * MARGIN
    if len(text) + MARGIN <= COLUMNS:
        return [margin + text]
    return wrap(" ".join(text.split()), COLUMNS, initial_indent=margin, subsequent_indent=margin)


def _meanwhile(changes: Sequence[str]) -> str:
    return f"the host changed meanwhile: {'; '.join(changes)}" if changes else ""


def _metric(finding: Finding) -> str:
    return shorten(metric_name(finding.line.metric), STEP_METRIC_WIDTH)


def _at(finding: Finding) -> str:
    """At which sizes a curve has these levels."""
    return at_sizes(finding.curve.sizes) if finding.curve else ""


def _others(step: StepOverSizes) -> str:
    """How many other sizes moved, and by how much at least and at most, where that is not said
    already.
    """
    sizes = step.finding.curve.sizes if step.finding.curve else None
    apart = [
        other
        for other in step.others
        if sizes is None or other.line.size is None or not sizes[0] <= other.line.size <= sizes[1]
    ]
    if not apart:
        return ""
    low, high = (percent(end([other.effect for other in apart])) for end in (min, max))
    return f"{counted(len(apart), 'other size')} {low if low == high else f'{low} to {high}'}"


def _range(finding: Finding) -> str:
    if finding.commits == 1:
        return ""
    return f"one of {finding.commits:,} commits {finding.first[:10]}..{finding.last[:10]}"


def _p(p: float | None) -> str:
    if p is None:
        return ""
    return f"p = {p:.0e}" if p >= LEAST_P else f"p < {LEAST_P:.0e}"


def _by(detectors: Sequence[str]) -> str:
    by = ", ".join(DETECTORS[name] for name in detectors if name in DETECTORS)
    return "; ".join(
        filter(None, ("measured in turns" if "turns" in detectors else "", by and f"by {by}"))
    )


def stored(outcome: CampaignOutcome) -> Iterator[str]:
    """What a campaign stored: per version and job the centres of the judged metrics; then
    warnings.
    """
    from statistics import geometric_mean

    names = named([(profile.job.label, profile.job.collector) for profile in outcome.profiles])
    names = apart(names, LABEL_CHARACTERS)
    width = max(map(len, names), default=0)
    for profile, benchmark in zip(outcome.profiles, names, strict=True):
        product = profile.design.product
        version = profile.commit[:10] + ("+" if profile.dirty else " ")
        if product:
            version = shorten(product.name, VERSION)
        shown = [
            (
                summary.metric,
                quantity(geometric_mean(positive), profile.metrics[summary.metric].unit),
            )
            for summary in summarise(profile)
            if summary.uid == profile.job.name
            and (positive := [value for value in summary.medians if value > 0])
        ]
        centres = "  ".join(
            f"{metric_name(metric)} {text}"
            for metric, text in sorted(shown, key=lambda row: metric_rank(row[0]))
        )
        host = Header.of(profile).worker
        name = f"{version:{VERSION}} {benchmark:{width}}" + (f"  on {host}" if host else "")
        values = f"{centres}  n={profile.design.executions}".lstrip()
        if len(name) + len(values) + 2 <= COLUMNS:
            yield f"{name}  {values}"
        else:
            yield name.rstrip()
            yield f"{'':12}{values}"
        if not shown:
            yield from _units(profile)
    if outcome.profiles:
        seeds = ", ".join(map(str, outcome.seeds))
        yield f"stored {counted(len(outcome.paths), 'profile')} (seed {seeds})"
    elif not outcome.failures:
        yield from wrap(
            "nothing to measure: the profiles are stored already, or the change does not touch the"
            " benchmarks",
            COLUMNS,
            subsequent_indent="  ",
        )
    for warning in outcome.warnings:
        yield from wrap(f"note: {warning}", COLUMNS, subsequent_indent="      ")


def _units(profile: Profile) -> Iterator[str]:
    """A line for each of the units that a profile without a whole has, those with the most rows
    first.
    """
    rows = profile.resources
    unit = np.asarray(rows.uid, dtype=np.int64)
    counts = np.bincount(unit, minlength=len(rows.names))
    order = [number for number in np.argsort(-counts, kind="stable").tolist() if counts[number]]
    metric = next(
        (name for name, metadata in profile.metrics.items() if metadata.better != "none"), None
    )
    names = apart([rows.names[number] for number in order[:SHOWN_FUNCTIONS]], LABEL_CHARACTERS)
    width = max(map(len, names), default=0)
    lines = []
    for number, name in zip(order, names, strict=False):
        of_unit = unit == number
        parts = [
            f"{name:{width}}",
            f"{counts[number]:,} {'row' if counts[number] == 1 else 'rows'}",
        ]
        if rows.size is not None and np.isfinite(sizes := rows.array("size")[of_unit]).any():
            low, high = np.nanmin(sizes), np.nanmax(sizes)
            parts.append(f"size {low:g}" if low == high else f"sizes {low:g} to {high:g}")
        if metric and np.isfinite(values := rows.array(metric)[of_unit]).any():
            parts.append(
                f"median {quantity(float(np.nanmedian(values)), profile.metrics[metric].unit)}"
            )
        lines.append("  ".join(parts))
    if len(order) > SHOWN_FUNCTIONS:
        lines.append(f"and {len(order) - SHOWN_FUNCTIONS} more: perf show {profile.commit[:10]}")
    indent = max(2, min(12, COLUMNS - max(map(len, lines), default=0)))
    yield from (f"{'':{indent}}{line}" for line in lines)
