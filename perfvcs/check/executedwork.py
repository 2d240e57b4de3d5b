"""Work beside time: what exact counts of a program, or of its units, say of the times that were
measured with them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import inf
from typing import NamedTuple

from msgspec.structs import replace

from perfvcs.check.change import Change
from perfvcs.check.movement import SizedUnit
from perfvcs.check.vocabulary import ONE_SIDED, SURE, direction
from perfvcs.profile.naming import ONCE
from perfvcs.profile.rules import USUAL_DELTA
from perfvcs.text.quantity import percent
from perfvcs.text.words import CLOCKS, COUNTS

EXACT = "deterministic"  # the method that judges counts
# which leaves out what functions of C do, so that equal counts do not mean equal work
PARTIAL = "bytecodes"
MOST_VARIED = 0.25  # of counts that can show that time moved by layout, which moves it by less
# seconds that one bytecode takes at most by itself: what C functions do for it is not counted
BYTECODE_SECONDS = 50e-9


class Work(NamedTuple):
    """What a unit executes more on the target, as a share, under a metric; ``agrees``: no more than
    its counts vary, by themselves, by a share ``bar``. ``seconds`` is what that takes at most by
    itself.
    """

    metric: str
    effect: float
    agrees: bool
    bar: float = 0.0
    seconds: float = inf

    @property
    def text(self) -> str:
        """``executes 3.2 % more instructions``."""
        if self.agrees and self.bar > USUAL_DELTA:
            return f"its {self.metric} vary from execution to execution"
        if self.agrees:
            return f"executes as many {self.metric}"
        more = "more" if self.effect > 0 else "fewer"
        return f"executes {percent(self.effect).lstrip('+-−')} {more} {self.metric}"


def beside(
    changes: Sequence[Change],
    drawn: Collection[str],
    in_python: Collection[str],
    by_unit: Collection[str] = (),
) -> list[Change]:
    """The changes with what their programs, or units, execute.

    1. Work that differs by delta or more settles what time leaves open, if time moved the same way
       and the work can take that long: two bytecodes more of ninety may be nothing beside the C
       functions that they call.
    2. Time that moved, by no more than a layout moves it, while compiled code executes as many
       instructions is due to layout, caches or memory: it is only suspected, and no gate fails,
       unless the layouts of the job's builds, or heaps, were ``drawn`` at random. So is time that
       fell while more instructions are executed. A wall time that CPU time does not follow is
       waiting, of which no count says anything.
    3. Counts of the series ``by_unit`` were taken beside time alone. They change nothing by
       themselves: less than delta is the same, more is suspected where time does not follow, and
       those that were taken of one side only are left out.

    The instructions of jobs ``in_python`` depend on their heaps: where they differ they say
    nothing.
    """
    work = _work(changes, in_python)
    if not work and not by_unit:
        return [*changes]
    cpu = {_unit(change): change for change in changes if change.metric == "cpu"}
    judged = [
        _judged(change, found, cpu.get(_unit(change)), drawn=change.job in drawn)
        if change.metric in CLOCKS and (found := work.get(_unit(change)))
        else change
        for change in changes
    ]
    times: dict[SizedUnit, list[Change]] = {}
    for change in judged:
        if change.metric in CLOCKS:
            times.setdefault(_unit(change), []).append(change)
    return [
        _followed(change, times.get(_unit(change), ())) if change.series in by_unit else change
        for change in judged
        if not _is_left_out(change, by_unit, times)
    ]


def _is_left_out(
    change: Change, by_unit: Collection[str], times: Mapping[SizedUnit, Sequence[Change]]
) -> bool:
    """Whether a count beside times was taken of one side only, where the times are of both."""
    if change.series not in by_unit or change.word not in ONE_SIDED:
        return False
    return any(time.word not in ONE_SIDED for time in times.get(_unit(change), ()))


def _unit(change: Change) -> SizedUnit:
    """What a change is about; counts do not say whether a test could be repeated."""
    return SizedUnit.of(change)._replace(uid=change.uid.removesuffix(ONCE))


def _work(changes: Sequence[Change], in_python: Collection[str]) -> dict[SizedUnit, Work]:
    """What each unit executes; bytecodes where a job has both counts."""
    work: dict[SizedUnit, Work] = {}
    for change in sorted(changes, key=lambda change: change.metric == PARTIAL):
        if (
            change.metric in COUNTS
            and change.method == EXACT
            and change.effect is not None
            and change.word in (*SURE, "same")
            and (change.word == "same" or change.metric == PARTIAL or change.job not in in_python)
        ):
            agrees, bar = change.word == "same", change.delta or 0.0
            seconds = _longest(change)
            work[_unit(change)] = Work(change.metric, change.effect, agrees, bar, seconds)
    return work


def _longest(change: Change) -> float:
    """The seconds that what a count differs by takes at most by itself; infinite where that is not
    known.
    """
    if change.metric != PARTIAL or change.baseline is None or change.target is None:
        return inf
    return abs(change.target - change.baseline) * BYTECODE_SECONDS


def _followed(count: Change, times: Sequence[Change]) -> Change:
    """A count that was taken beside the times of its unit, under their name, as these let it
    stand.
    """
    if not times:
        return count
    count = replace(count, uid=times[0].uid)
    if count.word not in SURE:
        return count
    delta = min(time.delta or USUAL_DELTA for time in times)
    if abs(count.effect or 0.0) < delta:
        return replace(count, word="same", gate=False, reason="")
    if any(time.word == count.word for time in times):
        return count
    return replace(count, word="suspected", gate=False, reason="time does not follow")


def _judged(change: Change, work: Work, cpu: Change | None, *, drawn: bool) -> Change:
    """One time with the work beside it, and the CPU time of its unit."""
    change = replace(change, work=work.text)
    if change.word in ("inconclusive", "suspected") and _settles(change, work):
        word = direction(change, work.effect)
        return replace(change, word=word, reason=f"the work differs: it {work.text}", layout=False)
    says_same = work.agrees and work.bar <= MOST_VARIED and work.metric != PARTIAL
    if change.word not in SURE or not (says_same or _denies(change, work)):
        return change
    if abs(change.effect or 0.0) > MOST_VARIED or _waits(change, cpu):
        return change
    what = "same instructions" if says_same else f"it {work.text}"
    reason = f"{what}: layout, caches or memory"
    if drawn:
        return replace(change, reason=reason)
    return replace(change, word="suspected", gate=False, layout=True, reason=reason)


def _denies(change: Change, work: Work) -> bool:
    """Whether more work stands beside a time that fell."""
    is_more = not work.agrees and work.metric != PARTIAL and work.effect > 0
    return is_more and change.word == "improvement"


def _waits(change: Change, cpu: Change | None) -> bool:
    """Whether a wall time moved, and CPU time did not follow: their intervals lie apart."""
    if change.metric != "wall" or cpu is None:
        return False
    if change.low is None or change.high is None or cpu.low is None or cpu.high is None:
        return False
    return change.low > cpu.high or cpu.low > change.high


def _settles(change: Change, work: Work) -> bool:
    """Whether work says what happened to an open time: it differs by delta, can take that long, and
    time moved the same way.
    """
    delta = change.delta or USUAL_DELTA
    if work.agrees or abs(work.effect) < delta:
        return False
    if change.unit == "s" and work.seconds < delta * (change.baseline or 0.0):
        return False
    return (change.effect or work.effect) * work.effect > 0
