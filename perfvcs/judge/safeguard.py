"""The guard: what would make a gain worthless, each as a check of its own."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from perfvcs.check.change import Change, LimitVerdict, exceeded
from perfvcs.judge.executionchecks import examine_executions
from perfvcs.judge.guardcheck import PASSED, GuardCheck, said_by, worst
from perfvcs.judge.plain import BASE, Plain
from perfvcs.plugins.collector import OF_COPIES
from perfvcs.profile.naming import is_whole, labelled
from perfvcs.text.quantity import percent, quantity
from perfvcs.text.words import CLOCKS, counted, listed, plural

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from perfvcs.judge.candidate import Candidate
    from perfvcs.judge.quiet import Trust
    from perfvcs.profile import Profile

HALF = 0.5  # of what is reported: what an honest gain keeps by the process's clocks
SHOWN = 0.1  # of a process's time: a reported gain that its clocks must show
SHOWN_IN_ALL = 0.01  # where it is known how often the process does that
LASTING = ("processes", "folders")  # checks of executions
OPEN = frozenset({"clocks", "variables", "base", "first_execution", "counts"})  # checks of figures
LEAST_SHARE = 0.2  # of what is reported: a gain that the launcher's clock must see
# of the base: code that is never run made a loop 6 % faster, and another one, which the linker put
# 34 bytes further, 17 %, with the same instructions
MOVED_BY_LAYOUT = 0.25
CURE = 'add the collector "instructions" to the job, or give it several `binaries`'


class Parts(NamedTuple):
    """What the units of series are: processes of their own (``apart``), not parts of one; or parts
    that a program reports by itself, so many times (``often``, by series and unit) an execution.
    """

    apart: Collection[str]
    often: Mapping[tuple[str, str], float]

    @classmethod
    def of(cls, profiles: Iterable[Profile]) -> Parts:
        """The units of the base's profiles, in which no target has a say; harnesses fit how often
        they do their work to the clock, so that a process takes as long whatever one time takes.
        """
        found = [profile for profile in profiles if profile.design.version == BASE]
        often: dict[tuple[str, str], float] = {}
        for profile in found:
            if "reads" in profile.job.options:
                continue
            rows = profile.resources
            counts = Counter(rows.names[uid] for uid in rows.uid)
            executions = len({*rows.execution}) or 1
            for name, count in counts.items():
                often[profile.job.key, name] = count / executions
        return cls({each.job.key for each in found if each.job.collector in OF_COPIES}, often)

    def programs(self, changes: Iterable[Change]) -> list[Change]:
        """The changes of series whose units are parts of a process."""
        return [change for change in changes if change.series not in self.apart]


NO_PARTS = Parts((), {})


class Seen(msgspec.Struct, frozen=True):
    """What the guard looks at: the candidate, the comparisons, the plain executions, and the base
    against itself.

    ``outputs`` are the jobs whose output differs between the sides, and on neither varies by
    itself; ``same_output``: it has to be the same. ``left`` says which processes jobs left running,
    ``limits`` how the target keeps to those of the base. ``parts`` says what the units of the
    series are.
    """

    candidate: Candidate
    changes: Sequence[Change]
    plain: Sequence[Plain]
    trust: Trust
    outputs: Sequence[str] = ()
    same_output: bool = False
    left: Sequence[str] = ()
    limits: Sequence[LimitVerdict] = ()
    parts: Parts = NO_PARTS


def examine(seen: Seen) -> dict[str, GuardCheck]:
    """The checks by their names."""
    of_programs = seen.parts.programs(seen.changes)
    return {
        "output": _output(seen.outputs, seen.plain, same_output=seen.same_output),
        "units": _units(seen.changes),
        **examine_files(seen.candidate),
        **examine_executions(seen.plain, of_programs),
        "left": _left_running(seen),
        "limits": _limits(seen.limits),
        "clocks": _clocks(of_programs, seen.parts),
        "quiet": _quiet(seen.trust),
    }


def layout(gain: Change | None, base: Iterable[Profile]) -> GuardCheck:
    """Whether a gain of a program that is built once a side is one that nothing else confirms.

    Instructions that were counted beside it do (``work``), or builds whose layouts were drawn.
    ``base`` are the profiles of its side, which say of what the jobs are made.
    """
    if gain is None or gain.metric not in CLOCKS or gain.work or gain.builds:
        return PASSED
    fields = [profile.environment.fields for profile in base if profile.job.key == gain.series]
    is_built = any(field.get("build") and not field.get("python") for field in fields)
    bounds = [abs(bound) for bound in (gain.low, gain.high) if bound is not None]
    if not is_built or min(bounds, default=1.0) > MOVED_BY_LAYOUT:
        return PASSED
    return GuardCheck(
        "doubted",
        f"where a build puts its code moves time by up to {percent(MOVED_BY_LAYOUT).lstrip('+')}"
        f" alone, and {gain.job} gains {percent(gain.effect or 0.0)}: {CURE}",
    )


def is_open(checks: Mapping[str, GuardCheck], gain: Change | None) -> bool:
    """Whether there are doubts, all of which more pairs may settle."""
    doubted = {name for name, check in checks.items() if check.word == "doubted"}
    if gain is not None and abs(gain.effect or 0.0) > MOVED_BY_LAYOUT:
        doubted.discard("layout")
    is_rejected = bool(said_by(checks, "rejected"))
    return bool(said_by(checks, "doubted")) and doubted <= OPEN and not is_rejected


def doubts(changes: Sequence[Change], trust: Trust, parts: Parts) -> list[str]:
    """What speaks against the figures of a report, without executions beside these."""
    checks = (_clocks(parts.programs(changes), parts), _quiet(trust))
    return [check.said for check in checks if check.word in ("rejected", "doubted")]


def examine_files(candidate: Candidate) -> dict[str, GuardCheck]:
    """The checks that need no execution, by their names."""
    return {"benchmark_files": _benchmark_files(candidate), "links": _links(candidate)}


def lasting(plain: Sequence[Plain], *, same_output: bool) -> dict[str, GuardCheck]:
    """The checks that reject, by their names, and that no later execution takes back; of what
    fails, measuring says how.
    """
    checks = examine_executions([each for each in plain if not each.failed], ())
    found = {name: checks[name] for name in LASTING}
    found["output"] = _output((), plain, same_output=same_output)
    return {name: check for name, check in found.items() if check.word == "rejected"}


def _output(outputs: Sequence[str], plain: Sequence[Plain], *, same_output: bool) -> GuardCheck:
    """What jobs print, and the files that they write into their copies."""
    differing = dict.fromkeys([*outputs, *(each.job for each in plain if each.differs)])
    said = [f"the output of {listed(list(differing))} differs from the base's"] if differing else []
    said += [
        f"{each.job} does not write {listed(each.differing)} as the base does"
        for each in plain
        if each.differing
    ]
    if not said:
        return PASSED
    return GuardCheck("rejected" if same_output else "warning", "; ".join(said))


def _left_running(seen: Seen) -> GuardCheck:
    return GuardCheck("rejected", listed(list(seen.left))) if seen.left else PASSED


def _limits(limits: Sequence[LimitVerdict]) -> GuardCheck:
    """A limit that the target exceeds is a reason to reject it, unless the base does so, too."""
    beyond = exceeded(limits)
    own = [verdict for verdict in beyond if verdict.before != verdict.word]
    if not beyond:
        return PASSED
    said = "; ".join(verdict.said for verdict in (own or beyond))
    return GuardCheck("rejected" if own else "warning", said)


def _units(changes: Sequence[Change]) -> GuardCheck:
    """A benchmark that only the base has cannot be slower."""
    missing = dict.fromkeys(
        labelled(change.job, change.uid, change.size)
        for change in changes
        if change.word == "missing"
    )
    if not missing:
        return PASSED
    names = listed(list(missing))
    return GuardCheck("rejected", f"{counted(len(missing), 'benchmark')} is gone: {names}")


def _links(candidate: Candidate) -> GuardCheck:
    """What a link out of the project leads to can be anything, and is not in the change."""
    if not candidate.leaving:
        return PASSED
    lead = plural(len(candidate.leaving), "leads", "lead")
    return GuardCheck("rejected", f"{listed(candidate.leaving)} {lead} out of the project")


def _benchmark_files(candidate: Candidate) -> GuardCheck:
    parts = []
    if changed := [path for path in candidate.restored if path not in candidate.absent]:
        parts.append(
            f"the change touches what measures or judges it ({listed(changed)}): both sides are"
            " measured with the base's"
        )
    if candidate.absent:
        parts.append(
            f"it is measured without {listed(candidate.absent)}, which the base's benchmarks would"
            " take or run instead of what they do now: commit that first if the program needs it"
        )
    if candidate.kept:
        parts.append(f"it touches {listed(candidate.kept)}, which can change what a benchmark does")
    if candidate.deciding:
        files = listed(candidate.deciding)
        parts.append(
            f"it touches {files}, by which a benchmark, a test or a command decides what to run:"
            " commit that first, and judge the rest against it"
        )
        return GuardCheck("doubted", "; ".join(parts))
    return GuardCheck("warning", "; ".join(parts)) if parts else PASSED


def _clocks(changes: Sequence[Change], reported_as: Parts) -> GuardCheck:
    """A gain that a program reports of itself, and that its process does not show."""
    checks = [
        _contradiction(whole, parts, changes, reported_as)
        for whole in changes
        if whole.metric == "wall"
        and is_whole(whole.job, whole.uid)
        and (parts := _parts(whole, changes))
    ]
    return worst(checks) if checks else PASSED


def _parts(whole: Change, changes: Sequence[Change]) -> list[Change]:
    """What a program reports of itself beside its process."""
    return [
        change
        for change in changes
        if change.series == whole.series
        and change.metric == whole.metric
        and not is_whole(change.job, change.uid)
    ]


def _contradiction(
    whole: Change, parts: Sequence[Change], changes: Sequence[Change], reported_as: Parts
) -> GuardCheck:
    """What a process's clocks say of its parts.

    1. Parts that gain at least 20 % of the process's time must take half of that from it: its wall
       time may not deny that.
    2. Of a tenth on, it must show, too: by CPU time by its estimate, or surely by wall time. Of a
       hundredth on, where it is known how often a process does them.
    """
    processors = [
        change
        for change in changes
        if change.series == whole.series and change.uid == whole.uid and change.metric == "cpu"
    ]
    reported = sum(part.baseline or 0.0 for part in parts)
    gained = sum(max(0.0, -(part.shift_high or 0.0)) for part in parts)
    often = [reported_as.often.get((part.series, part.uid), 0.0) for part in parts]
    in_all = sum(
        max(0.0, -(part.shift_high or 0.0)) * times
        for part, times in zip(parts, often, strict=True)
    )
    all_parts = sum(
        (part.baseline or 0.0) * times for part, times in zip(parts, often, strict=True)
    )
    if all_parts > (whole.baseline or 0.0):  # they run beside each other, or one in another
        in_all = 0.0
    # of a busy machine's wall time, much is nobody's
    whole_time = min(change.baseline or 0.0 for change in [whole, *processors])
    if not whole.baseline or reported > whole.baseline:
        return PASSED
    if gained < SHOWN * whole_time and in_all < SHOWN_IN_ALL * whole_time:
        return PASSED
    if whole.shift_low is None or whole.shift_high is None:
        return PASSED
    most_gained = max(gained, in_all)
    said = f"{whole.job} reports that it takes {quantity(most_gained, 's')} less, but its process"
    least = HALF * most_gained
    if gained >= LEAST_SHARE * whole.baseline and whole.shift_low >= -HALF * gained:
        most = quantity(max(0.0, -whole.shift_low), "s")
        moved = "the work moved out of what is timed"
        return GuardCheck("rejected", f"{said} takes {most} less at most: {moved}")
    taken = min((change.shift or 0.0 for change in processors), default=0.0)
    if taken <= -least or whole.shift_high <= -HALF * least:
        return PASSED
    return GuardCheck("doubted", f"{said} does not show that so far: give it a larger budget")


def _quiet(trust: Trust) -> GuardCheck:
    if trust.quiet:
        return PASSED
    return GuardCheck(
        "rejected",
        f"the base differs from itself by {percent(trust.effect or 0.0)} ({trust.benchmark}) in"
        " this very call: measure on a quieter machine",
    )
