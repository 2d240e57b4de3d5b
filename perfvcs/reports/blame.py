"""What `perf blame` says: five lines for a terminal, a JSON document, and SARIF for tools that show findings at lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from perfvcs import __version__
from perfvcs.locate.finding import AuxiliaryTrial, Blame, Lines, SuspectFunction
from perfvcs.locate.outline import MODULE
from perfvcs.text.characters import escaped
from perfvcs.text.quantity import percent, quantity, step
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from perfvcs.repository import Repository

UNITS = {"cpu": "s", "wall": "s"}
MEASURES = {
    "instructions": "instructions",
    "bytecodes": "bytecode instructions",
    "allocated": "bytes allocated",
    "cpu": "processor time",
}  # what call trees are in, where it is what the effect is in
SHOWN = 4  # further suspects, with -v
LINES = 12  # of a hunk, with -v


def lines(found: Blame, *, verbose: bool = False) -> list[str]:
    """The report for a terminal."""
    pair = f"{found.baseline[:10]} -> {found.target[:10]}"
    said = [f"{found.job}: {_effect(found)}, {pair}"]
    cause = found.cause
    if found.verdict == "no difference":
        said.append(f"nothing to blame: the two differ by less than {percent(found.delta).lstrip('+')}, or by chance")
    elif found.verdict == "not the code":
        said.append(_not_the_code(found))
    elif cause is None:
        said.append("no changed function explains it")
    else:
        said += [f"cause: {_cause(found, cause)}", *_hunks(cause)]
        if cause.kinds:
            said.append(f"kind:  {'; '.join(_kind(kind.says or kind.name, kind.lines) for kind in cause.kinds[:3])}")
        said.append(f"proof: {_proof(found)}")
    said += [f"also:  {line}" for line in found.elsewhere]
    if verbose:
        said += _details(found)
    said += [f"note:  {note}" for note in found.notes]
    return said


def known(repository: Repository, a: str, b: str) -> str:
    """What the newest blame of two commits, by their full ids, says in one line; empty where there is none."""
    from perfvcs.locate.blames import of_pair

    said = named(max(of_pair(repository, a, b), key=lambda one: one.made, default=None))
    return f"{said}: perf blame --stored {a[:10]} {b[:10]} shows it" if said else ""


def named(found: Blame | None) -> str:
    """The benchmark, the function or the dependencies that are blamed, where, and whether that is proved; empty where none are."""
    cause = found.cause if found else None
    if found is not None and found.verdict == "not the code" and found.proved:
        return f"blamed for {found.job}: {found.proved.path}, {found.proved.word}"
    if found is None or cause is None:
        return ""
    return f"blamed for {found.job}: {cause.name} ({cause.hunks[0].place if cause.hunks else cause.path}), {found.verdict}"


def _not_the_code(found: Blame) -> str:
    trial = found.proved
    if trial is None:
        return "not the code: no source that is measured differs in more than comments and layout"
    at = quantity(trial.level or 0.0, UNITS.get(found.metric, "")).strip()
    return f"not the code: {found.baseline[:10]} has {at} with {trial.path}: {trial.word}"


def _effect(found: Blame) -> str:
    unit = UNITS.get(found.metric, "")
    span = "" if found.low == found.high else f" [{percent(found.low)}, {percent(found.high)}]"
    return f"{percent(found.effect)}{span} {found.metric} ({step(found.a, found.b, unit)})"


def _cause(found: Blame, cause: SuspectFunction) -> str:
    name = f"the code outside of functions of {cause.path}" if cause.name == MODULE else f"{cause.name} ({cause.path})"
    why = _why(found, cause)
    return f"{name}{f': {why}' if why else ''}"


def _why(found: Blame, cause: SuspectFunction) -> str:
    """How the function came to cost more or less, by its calls."""
    more, sign = ("more", 1) if found.effect > 0 else ("less", -1)
    parts = []
    if cause.dearer * sign >= cause.oftener * sign and cause.dearer * sign > 0 and cause.own >= cause.led:
        parts.append(f"each call costs {more}")
        if min(cause.calls) > 0:
            parts.append(f"called {_times(cause.calls)}")
    elif cause.oftener * sign > 0 and cause.own >= cause.led:
        called = cause.callee.partition(" (")[0]
        parts.append(f"calls {called}() {'more' if sign > 0 else 'less'} often" if called else f"calls {more} of others")
    elif cause.through:
        parts.append(f"{cause.through}, which did not change, costs {more}")
    share = cause.own if cause.own >= cause.led else cause.led
    if share > 0 and MEASURES.get(found.metric) == found.measure:  # of another measure it would be a second size of one change
        parts.append(f"{percent(share * sign)} of all {found.measure}".replace("  ", " "))
    return ", ".join(parts)


def _times(calls: tuple[float, float]) -> str:
    before, after = (round(count) for count in calls)
    return f"{after:,} times" if before == after else f"{before:,} -> {after:,} times"


def _hunks(cause: SuspectFunction) -> list[str]:
    shown = [_hunk(hunk) for hunk in cause.hunks[:3]]
    more = f" and {counted(len(cause.hunks) - 3, 'more hunk')}" if len(cause.hunks) > 3 else ""
    return [f"hunk:  {', '.join(shown)}{more}"] if shown else []


def _hunk(hunk: Lines) -> str:
    return f"{hunk.place} (-{hunk.old[1]} +{hunk.new[1]})"


def _kind(says: str, where: list[int]) -> str:
    return f"{says} (line {where[0]})" if where else says


def _proof(found: Blame) -> str:
    trial = found.proved or (found.trials[0] if found.trials else None)
    if trial is None:
        return "not tried"
    if trial.level is None:
        return f"not proved: {trial.reason}"
    besides = f", {trial.besides}" if trial.besides else ""
    unit = UNITS.get(found.metric, "")
    at = f"{quantity(trial.level, unit).strip()} without it{besides} ({percent(trial.level / found.a - 1)} from {found.baseline[:10]})"
    many = counted(trial.executions, "execution")
    if trial.word == "contributes":
        return f"contributes {100 * (trial.share or 0):.0f} %: {at}, {many}"
    return f"{trial.word}: {at}, {many}" + (f"; {trial.reason}" if trial.reason else "")


def _details(found: Blame) -> list[str]:
    cause, said = found.cause, []
    for hunk in cause.hunks if cause else ():
        said.append(f"@@ {hunk.path} -{hunk.old[0]},{hunk.old[1]} +{hunk.new[0]},{hunk.new[1]} @@")
        said += [f"-{line}" for line in hunk.removed[:LINES]] + [f"+{line}" for line in hunk.added[:LINES]]
    others = [one for one in found.suspects if one is not cause][:SHOWN]
    if others:
        said.append("other changed functions:")
        said += [f"  {percent(one.score):>9}  {one.name} ({one.path})" for one in others]
    said += [f"tried: {_trial(trial)}" for trial in found.trials]
    said.append(f"{counted(found.executions, 'execution')}, {found.seconds:.0f} s; {counted(found.changed, 'changed function')}")
    return said


def _trial(trial: AuxiliaryTrial) -> str:
    share = "" if trial.share is None else f" {100 * trial.share:.0f} % of the effect is gone"
    return f"{trial.name} ({trial.path}): {trial.word}{share}{f': {trial.reason}' if trial.reason else ''}"


def json(found: Blame) -> str:
    """The document, as it is kept."""
    return escaped(msgspec.json.format(msgspec.json.encode(found)).decode())


def sarif(found: Blame) -> str:
    """A SARIF 2.1.0 log with a result at the hunks of the function that is blamed; without results where none is."""
    cause = found.cause
    results: list[dict[str, Any]] = []
    if cause is not None:
        level = "error" if found.verdict == "proved" and found.effect > 0 else "warning" if found.effect > 0 else "note"
        results.append({
            "ruleId": "performance-change",
            "level": level,
            "message": {"text": "\n".join(lines(found))},
            "locations": [_location(hunk) for hunk in cause.hunks[:10]],
            "properties": {"effect": found.effect, "metric": found.metric, "verdict": found.verdict, "job": found.job},
        })  # fmt: skip
    rule = {"id": "performance-change", "shortDescription": {"text": "A change that makes a benchmark slower or faster"}}
    driver = {"name": "perfvcs", "version": __version__, "rules": [rule]}
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return escaped(msgspec.json.format(msgspec.json.encode(log)).decode())


def _location(hunk: Lines) -> dict[str, Any]:
    from urllib.parse import quote

    first = max(hunk.new[0], 1)
    region = {"startLine": first, "endLine": max(first, first + hunk.new[1] - 1)}
    return {"physicalLocation": {"artifactLocation": {"uri": quote(hunk.path)}, "region": region}}
