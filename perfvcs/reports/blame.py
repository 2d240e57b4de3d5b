"""What `perf blame` says: five lines for a terminal, and a JSON document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfvcs.check.text import command_of, stepped
from perfvcs.locate.blame.cause import NO_FUNCTION, AuxiliaryTrial, Blame, Count, SuspectFunction
from perfvcs.locate.blame.kinds import OTHER
from perfvcs.locate.blame.proof import difference as relative
from perfvcs.locate.sources.parts import FILE, MODULE, is_hunk
from perfvcs.profile.naming import typed
from perfvcs.text.characters import COLUMNS, shorten
from perfvcs.text.document import filled, json_text
from perfvcs.text.quantity import change, difference, percent, quantity, step
from perfvcs.text.words import counted, metric_name
from perfvcs.text.wrapping import wrap

if TYPE_CHECKING:
    from perfvcs.repository import Repository


MEASURES = {
    "instructions": "instructions",
    "bytecodes": "bytecode instructions",
    "allocated": "bytes allocated",
    "cpu": "processor time",
}  # what call trees are in, where it is what the effect is in
MOST_SUSPECTS = 4  # further suspects, with -v
LEFT = "where code and data lie in memory (layout, caches, page faults), or the environment"
HUNK_LINES = 12  # of a hunk, with -v


def lines(blame: Blame, *, verbose: bool = False) -> list[str]:
    """The report for a terminal."""
    pair = f"{blame.baseline[:10]} -> {blame.target[:10]}"
    report = [
        *_wrapped(f"{shorten(blame.benchmark, COLUMNS - 8)}: {_effect(blame)}, {pair}"),
        *_evidence(blame),
        *_besides(blame),
    ]
    cause = blame.cause
    if cause is None and blame.verdict in NO_FUNCTION:
        report += _wrapped(_without_function(blame))
        if blame.moved:
            report += _wrapped(f"moved: {blame.moved} of all {blame.measure}")
    elif cause is None:
        report.append("no changed function explains it")
    else:
        report += [
            *_wrapped(f"{'cause' if blame.proved else 'maybe'}: {_cause(blame, cause)}"),
            *_hunks(cause),
        ]
        if kinds := [kind for kind in cause.kinds if kind.says != OTHER]:
            said = [_kind(kind.says or kind.name, kind.lines) for kind in kinds[:3]]
            report.append(_fitting("kind:  ", said, "; "))
        report += _wrapped(f"proof: {_proof(blame)}")
        for suspect, trial in blame.contributors:
            report += _wrapped(f"and:   {_contribution(suspect, trial)}")
    if blame.others:
        report += _wrapped(f"also:  {blame.others}")
    if verbose:
        report += _details(blame)
    for note in blame.notes:
        text = f"note:  {note}"
        report += stepped(text, COLUMNS) if command_of(text) else _wrapped(text)
    return report


def _wrapped(line: str) -> list[str]:
    return wrap(line, COLUMNS, subsequent_indent=" " * 7, break_long_words=False)


def stored_cause(repository: Repository, a: str, b: str) -> str:
    """What the newest blame of two commits, by their full ids, that names something says in one
    line; empty where there is none.
    """
    from perfvcs.locate.blame.blames import of_pair

    blames = [blame for blame in of_pair(repository, a, b) if named(blame)]
    newest = max(blames, key=lambda blame: blame.made, default=None)
    if newest is None:
        return ""
    stored = f"perf blame --stored {a[:10]} {b[:10]} -- {typed(newest.benchmark)}"
    return f"{named(newest)}: {stored}"


def named(blame: Blame | None) -> str:
    """The benchmark, the function or dependencies that are blamed or suspected, where, and whether
    that is proved; else empty.
    """
    cause = blame.cause if blame else None
    if blame is not None and blame.verdict == "not the code" and blame.proved:
        return f"blamed for {shorten(blame.benchmark)}: {blame.proved.path}, {blame.proved.word}"
    if blame is None or cause is None:
        return ""
    word = "blamed" if blame.proved else "suspected"
    verdict = "not tried" if blame.verdict == word else blame.verdict
    return f"{word} for {shorten(blame.benchmark)}: {_placed(cause)}, {verdict}"


def _besides(blame: Blame) -> list[str]:
    """What differs besides the code, and what the new dependencies were shown to do; named before
    any function.
    """
    report = [line for text in blame.elsewhere for line in _wrapped(f"other: {text}")]
    trial = blame.dependencies
    if trial is not None and blame.verdict != "not the code":
        part = (
            f"contributes {100 * (trial.share or 0):.0f} %"
            if trial.word == "contributes"
            else "does not explain it"
        )
        report += _wrapped(f"tried: {blame.baseline[:10]} with {trial.path}: {part}")
    return report


def _evidence(blame: Blame) -> list[str]:
    """What the verdict says, and what was counted, where the effect is not by these."""
    checked, report = blame.checked, []
    if checked is not None and checked.metric != blame.metric and checked.effect is not None:
        effect = change(checked.effect, checked.low, checked.high)
        report += _wrapped(f"check: {metric_name(checked.metric)} {effect}, {checked.word}")
    report += [
        line
        for count in blame.counts
        if count.metric != blame.metric
        for line in _wrapped(f"count: {_count(count)}")
    ]
    return report


def _count(count: Count) -> str:
    """What an exact metric counted."""
    levels = f"{count.metric} {percent(count.effect)} ({step(count.a, count.b, '')})"
    if count.whole or not count.functions:
        return levels
    functions = counted(count.functions, "function")
    if not count.differing:
        return f"{levels}, the same in each of {functions}"
    return f"{levels}, other counts in {count.differing:,} of {functions}"


def _without_function(blame: Blame) -> str:
    """Why no function is named."""
    if blame.verdict == "same counts":
        return f"same counts: {_left(blame)}"
    if blame.verdict == "not seen":
        if blame.changed == 1:
            return "not seen: the only changed function was not seen to run, so it is not blamed"
        changed = f"{blame.changed:,} changed functions"
        return f"not seen: none of the {changed} was seen to run, so none is blamed"
    if blame.verdict == "not the code":
        return _not_the_code(blame)
    least = percent(blame.delta).lstrip("+")
    if blame.checked is not None and blame.checked.metric == blame.metric:
        return (
            f"nothing to blame: measured again, the two differ by less than {least}, or by chance"
        )
    if blame.checked is not None:
        return (
            f"not in {metric_name(blame.metric)}, which differs by less than {least}: `perf blame`"
            " without --metric looks for the rest"
        )
    return f"nothing to blame: the two differ by less than {least}, or by chance"


def _left(blame: Blame) -> str:
    """What may have moved where every count is the same."""
    metrics = {count.metric for count in blame.counts} | {blame.metric}
    if "bytecodes" in metrics and "instructions" not in metrics:
        return (
            "every Python function does as much as before, so what is left is what functions of C"
            f" do (apt install valgrind counts it), {LEFT}"
        )
    return f"every function does as much as before, so what is left is {LEFT}"


def _not_the_code(blame: Blame) -> str:
    trial = blame.proved
    if trial is None:
        return (
            "not the code: no source of this repository that is measured differs in more than"
            " comments and layout"
        )
    at = quantity(trial.level or 0.0, blame.scale).strip()
    return f"not the code: {blame.baseline[:10]} has {at} with {trial.path}: {trial.word}"


def _effect(blame: Blame) -> str:
    exact = blame.low == blame.high
    effect = change(blame.effect, None if exact else blame.low, None if exact else blame.high)
    if not blame.a:  # nothing has a ratio to it
        effect = difference(blame.b, None, None, blame.scale)
    return f"{effect} {metric_name(blame.metric)} ({step(blame.a, blame.b, blame.scale)})"


def _cause(blame: Blame, cause: SuspectFunction) -> str:
    why = _why(blame, cause)
    return f"{_called(cause)}{f': {why}' if why else ''}"


def _called(suspect: SuspectFunction | AuxiliaryTrial) -> str:
    """A function with its file, or what is blamed in place of one."""
    if suspect.name == MODULE:
        return f"the code outside of functions of {suspect.path}"
    if is_hunk(suspect.name):
        return f"{suspect.name} of {suspect.path}"
    if suspect.name == FILE:
        return f"{suspect.path} as a whole"
    return f"{suspect.name} ({suspect.path})"


def _why(blame: Blame, cause: SuspectFunction) -> str:
    """How the function came to cost more or less, by its calls."""
    more, sign = ("more", 1) if blame.effect > 0 else ("less", -1)
    parts = []
    is_tiny = percent(max(cause.own, cause.led)) == percent(0)
    if is_tiny and not cause.through:  # too little to say how
        return ""
    if (
        cause.dearer * sign >= cause.oftener * sign
        and cause.dearer * sign > 0
        and cause.own >= cause.led
    ):
        parts.append(f"each call costs {more}")
        if min(cause.calls) > 0 and blame.measure != "samples":  # samplers count no calls
            parts.append(f"called {_times(cause.calls)}")
    elif cause.oftener * sign > 0 and cause.own >= cause.led:
        called = cause.callee.partition(" (")[0]
        parts.append(f"calls {called}() {more} often" if called else f"calls {more} of others")
    elif cause.through:
        parts.append(f"{cause.through}, which did not change, costs {more}")
    share = cause.own if cause.own >= cause.led else cause.led
    # of another measure it would be a second size of one change
    if share > 0 and MEASURES.get(blame.metric) == blame.measure:
        parts.append(f"{percent(share * sign)} in all")
    return ", ".join(parts)


def _times(calls: tuple[float, float]) -> str:
    before, after = (round(count) for count in calls)
    if before != after:
        return f"{before:,} -> {after:,} times"
    return "once" if after == 1 else f"{after:,} times"


def _hunks(cause: SuspectFunction) -> list[str]:
    lines = [f"{hunk.place} (-{hunk.old[1]} +{hunk.new[1]})" for hunk in cause.hunks]
    if not lines:
        return []
    lines = [line.removeprefix(f"{cause.path}:") for line in lines]
    line = _fitting(f"hunk:  {cause.path}:", lines, ", ", room=len(" and 99 more"))
    left = len(lines) - line.count(" (-")
    return [f"{line} and {left} more" if left else line]


def _fitting(start: str, parts: list[str], between: str, room: int = 0) -> str:
    """The first of some parts on a line of a terminal, as many as fit beside ``room`` for more, and
    one at least.
    """
    line = start + parts[0]
    for number, part in enumerate(parts[1:], 2):
        if len(line) + len(between) + len(part) > COLUMNS - (room if number < len(parts) else 0):
            break
        line += between + part
    return line


def _kind(says: str, where: list[int]) -> str:
    return f"{says} (line {where[0]})" if where else says


def _proof(blame: Blame) -> str:
    trial = blame.proved or (blame.trials[0] if blame.trials else None)
    if trial is None:
        return "not tried"
    if trial.level is None:
        return f"not proved: {trial.reason}"
    besides = f" and {trial.besides.removeprefix('with ')}" if trial.besides else ""
    unit = blame.scale
    at = (
        f"{quantity(trial.level, unit).strip()} without it{besides}"
        f" ({percent(relative(blame.a, trial.level))} from {blame.baseline[:10]})"
    )
    many = counted(trial.executions, "execution")
    if trial.word == "contributes":
        share, low, high = (trial.share or 0.0, trial.low or 0.0, trial.high or 0.0)
        more = ", other changes offset some" if low > 1 else ""
        reach = "" if low == high else f" [{100 * low:.0f}, {100 * high:.0f}]"
        return f"contributes {100 * share:.0f} %{reach}: {at}{more}, {many}"
    return f"{trial.word}: {at}, {many}" + (f"; {trial.reason}" if trial.reason else "")


def _placed(suspect: SuspectFunction) -> str:
    """A function with the lines of its first hunk."""
    if is_hunk(suspect.name) or suspect.name == FILE:
        return _called(suspect)
    name = "the code outside of functions" if suspect.name == MODULE else suspect.name
    return f"{name} ({suspect.hunks[0].place if suspect.hunks else suspect.path})"


def _contribution(suspect: SuspectFunction, trial: AuxiliaryTrial) -> str:
    """A function besides the cause that contributes, and its share."""
    besides = f", {trial.besides}" if trial.besides else ""
    return f"{_placed(suspect)} contributes {100 * (trial.share or 0):.0f} %{besides}"


def _details(blame: Blame) -> list[str]:
    cause, report = blame.cause, []
    for hunk in cause.hunks if cause else ():
        report.append(
            f"@@ {hunk.path} -{hunk.old[0]},{hunk.old[1]} +{hunk.new[0]},{hunk.new[1]} @@"
        )
        report += [f"-{line}" for line in hunk.removed[:HUNK_LINES]]
        report += [f"+{line}" for line in hunk.added[:HUNK_LINES]]
    others = [suspect for suspect in blame.suspects if suspect is not cause][:MOST_SUSPECTS]
    if others:
        report.append("other changed functions:")
        report += [f"  {_moved(suspect):>9}  {_called(suspect)}" for suspect in others]
    report += [f"tried: {_trial(trial)}" for trial in blame.trials]
    report.append(
        f"{counted(blame.executions, 'execution')}, {blame.seconds:.0f} s;"
        f" {counted(blame.changed, 'changed function')}"
    )
    return report


def _moved(suspect: SuspectFunction) -> str:
    """How much a function that is not blamed may explain."""
    if suspect.score or suspect.reached:
        return percent(suspect.score)
    return "unknown" if suspect.is_hidden else "not seen"


def _trial(trial: AuxiliaryTrial) -> str:
    share = "" if trial.share is None else f", {100 * trial.share:.0f} % of the effect"
    return f"{_called(trial)}: {trial.word}{share}{f': {trial.reason}' if trial.reason else ''}"


class BlameDocument(Blame, frozen=True, kw_only=True):
    """What `perf blame --json` prints."""

    benchmark: str


def json(blame: Blame) -> str:
    """The document as it is kept, with the benchmark's name."""
    return json_text(filled(BlameDocument, blame))
