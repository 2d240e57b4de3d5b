"""Instructions counted on the commits of a bisection, where that shows sooner than times where to
look.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from perfvcs.locate.bisect.guide import TIME_METRICS, Counting, counting, pays
from perfvcs.measure.journal import Identity
from perfvcs.measure.session import Session
from perfvcs.system.numeric import Floats

if TYPE_CHECKING:
    from perfvcs.jobs.cell import Cell
    from perfvcs.locate.bisect.decision import Decision
    from perfvcs.locate.bisect.guide import Guide
    from perfvcs.locate.bisect.searched import Searched

FEWEST_GUIDED = 8  # commits: of fewer, blocks are quicker
# commits that are counted beyond those that halving takes: the ends, and two neighbours
COUNTED_MORE = 4


class InstructionCounts:
    """Counts that guide a search; ``guide`` is what they say, if they were taken and differ.

    ``weights`` gives the commits' shares of the prior, by the difference of the ends.
    """

    def __init__(self, searched: Searched, weights: Callable[[float], Floats]) -> None:
        self._searched, self._weights = searched, weights
        self._taken = False
        self.guide: Guide | None = None

    def recall(self) -> None:
        """What the counts say that were taken before: asked again, a search that ended says the
        same.
        """
        if self._searched.begun.counted:
            self.guide = self._counting(lambda _: {}).guide()

    def pay(self, decision: Decision, remaining: Callable[[], tuple[int, int]]) -> bool:
        """Whether they are to be taken now: to guide the search from here on, or to say where else
        to look if times show nothing. ``remaining`` gives the builds and blocks that it would take
        without.
        """
        on, seen = self._searched, self._searched.seen
        unproved = decision.step.why == "unproved"
        if (
            self._taken
            or not (decision.step.what == "block" or unproved)
            or on.span.last < FEWEST_GUIDED
            or on.begun.target.metric not in TIME_METRICS
        ):
            return False
        builds, ahead = (on.span.last.bit_length(), 0) if unproved else remaining()
        seconds = seen.mean([value for block in seen.blocks for value in block.values])
        # what is ahead is a guess: at the latest it pays where as much was measured without
        return bool(on.begun.counted) or pays(
            seconds, builds + COUNTED_MORE, max(ahead, len(seen.blocks))
        )

    def take(self) -> None:
        """Count the instructions of commits until these say where to look."""
        on, begun = self._searched, self._searched.begun
        self._taken = True
        cell = counting(on.cell, begun.target)
        if cell is None:
            return
        on.rig.progress.say("counting instructions, which repeat exactly, to see where to look")
        begin, before = time.monotonic(), begun.seconds

        def count(numbers: Sequence[int]) -> dict[int, float]:
            counts = self._counted(cell, numbers)
            begun.counted |= {on.span.commits[number]: value for number, value in counts.items()}
            begun.seconds = before + time.monotonic() - begin
            on.saved.write()
            return counts

        self.guide = self._counting(count).run()

    def _counting(self, count: Callable[[Sequence[int]], dict[int, float]]) -> Counting:
        """The search by counts from those that were taken."""
        on, numbers = self._searched, self._searched.seen.numbers
        counts = {
            numbers[commit]: value
            for commit, value in on.begun.counted.items()
            if commit in numbers
        }
        sign = -1 if on.begun.target.improvement else 1
        return Counting(on.span.last, counts, on.seen.skipped, self._weights, sign, count)

    def _counted(self, cell: Cell, numbers: Sequence[int]) -> dict[int, float]:
        """The instructions of one execution of each of some commits, of those that run."""
        from perfvcs.locate.blame.laboratory import Quiet, level

        on = self._searched
        sites = on.sites(numbers, [on.cell, cell])
        with Session(sites, Quiet(on.rig.progress), Identity.new(on.seed)) as session:
            on.note_built(numbers)
            session.begin({0: 1})
            session.warm_up({0: 1})  # without counting: Python compiles what it imports
            session.begin({1: 1})
            session.run({1: 1})
            by_commit = {profile.commit: level(profile) for profile in session.profiles()}
        on.skip(session, numbers, ends=False)
        levels = {number: by_commit.get(on.span.commits[number], []) for number in numbers}
        return {number: values[0] for number, values in levels.items() if values and values[0] > 0}
