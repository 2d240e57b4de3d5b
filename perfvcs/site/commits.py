"""The pages of commits: what changed for good there, and what moved against the measured commit before."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from perfvcs.site import model
from perfvcs.site.contents import Contents, metric
from perfvcs.site.output import digest, packed
from perfvcs.site.series import fields

FILES = 200
MOVED = 400  # series in a table
STEPS = 500  # changes that are laid to one commit
MOVING = ("degradation", "improvement", "suspected")
MAY = 100  # changes that may have come with a commit and more likely came with another
NEAR = 20  # commits that such a change may be: one that may be any of more says nothing of each, and moves with every new commit


@dataclass(frozen=True)
class Commits:
    """All pages of commits; what they say of many series is collected once."""

    contents: Contents

    @cached_property
    def _changed(self) -> dict[int, list[tuple[int, int]]]:
        """By measured place, trail and turn of what moved there, the largest first."""
        found = defaultdict(list)
        for number, trail in enumerate(self.contents.record.trails):
            for turn, verdict in trail.verdicts.items():
                if verdict.word in MOVING:
                    found[int(trail.places[turn])].append((-abs(verdict.effect or 0.0), number, turn))
        return {place: [(number, turn) for _, number, turn in sorted(rows)] for place, rows in found.items()}

    @cached_property
    def _counts(self) -> tuple[list[int], list[int]]:
        """How many series did not move at each place of the record, and how many nobody knows."""
        import numpy as np

        trails = self.contents.record.trails
        length = len(self.contents.record.commits)
        same, moved = [0] * length, [0] * length
        for trail in trails:
            for turn, verdict in trail.verdicts.items():
                (moved if verdict.word in MOVING else same)[int(trail.places[turn])] += 1
        every = np.bincount(np.concatenate([trail.places for trail in trails]), minlength=length).tolist()
        return same, [count - known - other for count, known, other in zip(every, same, moved, strict=True)]

    @cached_property
    def _turns(self) -> dict[int, int]:
        """Where each measured place stands among the measured ones."""
        return {place: turn for turn, place in enumerate(self.contents.record.measured)}

    @cached_property
    def _steps(self) -> tuple[dict[int, list[tuple[int, int]]], dict[int, list[tuple[int, int]]]]:
        """By measured place, the changes that are laid to it, and those that may be its as well."""
        contents, measured = self.contents, self.contents.record.measured
        own: dict[int, list[tuple[int, int]]] = defaultdict(list)
        may: dict[int, list[tuple[int, int]]] = {place: [] for place in measured}
        for pair in contents.found:
            finding = contents.finding(*pair)
            own[finding.turn].append(pair)
            if finding.commits <= NEAR:
                first, last = (
                    bisect_left(measured, contents.places[finding.first]),
                    bisect_right(measured, contents.places[finding.last]),
                )
                for place in measured[first:last]:
                    if place != finding.turn:
                        may[place].append(pair)
        return own, may

    def key(self, number: int) -> str:
        """A digest of all that the page of a measured commit is made from."""
        contents, turn = self.contents, self._turns[number]
        own, may = self._steps
        steps = [self._about(*pair) for pair in own[number]]
        possible = [contents.possible(*pair) for pair in may[number][:MAY]]
        moved = []
        for series, at in self._changed.get(number, []):
            trail = contents.record.trails[series]
            before = contents.record.commits[trail.places[at - 1]]
            about = [contents.urls[series], contents.environment(trail).name, before, float(trail.levels[at])]
            moved.append([*about, trail.verdicts[at]])
        near = [contents.record.commits[other] for other in (self._near(turn - 1), self._near(turn + 1)) if other is not None]
        return digest(
            packed(
                contents.record.commits[number],
                turn > 0,
                near,
                steps,
                possible,
                moved,
                [one[number] for one in self._counts],
            )
        )

    def _about(self, number: int, turn: int) -> list[Any]:
        contents = self.contents
        status = contents.statuses[number][turn]
        name = contents.environment(contents.record.trails[number]).name
        return [contents.urls[number], name, status.state, status.reason, *fields(contents.finding(number, turn))]

    def _near(self, turn: int) -> int | None:
        measured = self.contents.record.measured
        return measured[turn] if 0 <= turn < len(measured) else None

    def page(self, number: int) -> model.Revision:
        """The page of a measured commit."""
        contents, turn = self.contents, self._turns[number]
        own, may = self._steps
        diff = contents.diffs.of(contents.record.commits[number]).first(FILES)
        moved = self._changed.get(number, [])
        same, alone = (counts[number] for counts in self._counts)
        left_out = max(0, len(own[number]) - STEPS) + max(0, len(moved) - MOVED)
        around = [None if other is None else contents.commit(other) for other in (self._near(turn - 1), self._near(turn + 1))]
        return model.Revision(
            commit=contents.commit(number), parents=list(contents.record.details[contents.record.commits[number]].parents),
            files=diff.files, more=diff.more, steps=[contents.with_suspects(*pair) for pair in own[number][:STEPS]],
            may=[contents.possible(*pair) for pair in may[number][:MAY]], moved=[self._row(*pair) for pair in moved[:MOVED]],
            left_out=left_out, same=same, alone=alone, before=around[0], after=around[1],
        )  # fmt: skip

    def _row(self, number: int, turn: int) -> model.MovedData:
        contents, trail = self.contents, self.contents.record.trails[number]
        return model.MovedData(
            benchmark=contents.benchmark(trail), metric=metric(trail), environment=contents.environment(trail).name,
            url=contents.urls[number], since=contents.commit(int(trail.places[turn - 1])), before=contents.value(trail, turn - 1),
            after=contents.value(trail, turn), cell=contents.cell(number, turn),
        )  # fmt: skip
