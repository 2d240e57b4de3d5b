"""The levels of all commits as scripts, which pages load to compare any two of them, also from a
disk; and the list of commits, by which a reader finds one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import msgspec

from perfvcs.site import model
from perfvcs.site.commitcolumns import laid
from perfvcs.site.figures import metric
from perfvcs.site.folder import PAGES_VERSION, Output, digest, packed, ready
from perfvcs.site.seriesnow import TAG
from perfvcs.system.numeric import np
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import UNIT_WIDTH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfvcs.history.verdict import Verdict
    from perfvcs.site.contents import Contents

BLOCK = 100  # commits of a script
DIGITS = 4  # of a level; its interval has two
TITLE = 70  # characters of a commit's title


class CommitLevels(msgspec.Struct, frozen=True, array_like=True):
    """A commit's series, by their numbers, with the level of each and half the width of its 99 %
    interval in logarithms (0: none), and the verdicts against the commit before that are
    known: word, effect, low, high.
    """

    series: list[int]
    levels: list[float]
    reach: list[float]
    verdicts: dict[int, list[Any]]


@dataclass(frozen=True)
class LevelBlocks:
    """The scripts of a site: its series, its commits, and the levels of each block of commits."""

    contents: Contents

    def outputs(self) -> Iterator[Output]:
        """All scripts."""
        commits = self._commits()
        yield ready("assets/lines.js", self._series())
        yield ready("assets/commits.json", commits)
        yield ready("assets/commits.js", b"perf.commits = %b;\n" % commits)
        measured = self.contents.record.measured
        for number, start in enumerate(range(0, len(measured), BLOCK)):
            block = measured[start : start + BLOCK]
            yield Output(
                (f"assets/levels-{number}.js",),
                self._key(block),
                partial(self._block, number, block),
                shared=True,
            )

    def _series(self) -> bytes:
        """The series by their numbers, and the environments that they name by theirs."""
        contents = self.contents
        numbers = {mark: turn for turn, mark in enumerate(contents.environments)}
        rows = [
            [
                contents.benchmark(series),
                metric(series),
                shorten(series.line.unit, UNIT_WIDTH),
                series.line.better,
                numbers[series.line.environment.fingerprint],
                url,
            ]
            for series, url in zip(contents.record.series, contents.urls, strict=True)
        ]
        names = [environment.name for environment in contents.environments.values()]
        return b"perf.lines = %b;\n" % msgspec.json.encode({"series": rows, "environments": names})

    def _commits(self) -> bytes:
        """The measured commits by columns, oldest first, with the numbers of lasting changes, the
        releases, and whether they have a page of their own.
        """
        contents, columns = self.contents, self.contents.columns
        measured = contents.record.measured
        changes = {
            bisect_left(measured, place): [counts["degradation"], counts["improvement"]]
            for place, counts in sorted(laid(contents).items())
        }
        document = {
            "block": BLOCK,
            "ids": columns.ids[measured].tolist(),
            "days": columns.days[measured].tolist(),
            "titles": [shorten(title, TITLE) for title in columns.titles[measured]],
            "authors": columns.authors,
            "author": columns.author[measured].tolist(),
            "own": [int(place in contents.of_note) for place in measured],
            "changes": changes,
            "tags": {
                bisect_left(measured, place): shorten(name, TAG)
                for place, name in contents.tags
                if place <= measured[-1]
            },
        }
        return msgspec.json.encode(document)

    @cached_property
    def _columns(self) -> dict[str, NDArray[Any]]:
        """What all series have, by columns, ordered by commits."""
        record = self.contents.record.series
        counts = [len(series.places) for series in record]
        columns = {
            "place": np.concatenate([series.places for series in record]),
            "number": np.repeat(np.arange(len(record)), counts),
            "turn": np.concatenate([np.arange(count) for count in counts]),
            "level": np.concatenate([series.levels for series in record]),
            "reach": np.concatenate([series.reach for series in record]),
        }
        order = np.argsort(columns["place"], kind="stable")
        return {name: column[order] for name, column in columns.items()}

    def _rows(self, block: list[int]) -> slice:
        first, last = self._columns["place"].searchsorted([block[0], block[-1] + 1]).tolist()
        return slice(first, last)

    def _key(self, block: list[int]) -> str:
        rows = self._rows(block)
        compared = [
            (
                number,
                turn,
                self.contents.record.series[number].word(turn),
                verdict.effect,
                verdict.low,
                verdict.high,
            )
            for _, number, turn, verdict in self._judged_in(block)
        ]
        columns = (
            self._columns[name][rows].tobytes() for name in ("place", "number", "level", "reach")
        )
        return digest(*columns, packed(PAGES_VERSION, compared))

    @cached_property
    def _judged(self) -> list[tuple[int, int, int, Verdict]]:
        """All verdicts with their places, series and turns, in this order."""
        verdicts = [
            (place, number, turn, series.verdicts[turn])
            for number, series in enumerate(self.contents.record.series)
            for turn, place in zip(
                series.verdicts, series.places[[*series.verdicts]].tolist(), strict=True
            )
        ]
        return sorted(verdicts, key=itemgetter(0, 1, 2))

    def _judged_in(self, block: list[int]) -> list[tuple[int, int, int, Verdict]]:
        first = bisect_left(self._judged, block[0], key=itemgetter(0))
        return self._judged[first : bisect_right(self._judged, block[-1], key=itemgetter(0))]

    def _block(self, number: int, block: list[int]) -> tuple[bytes, ...]:
        rows = self._rows(block)
        levels = np.exp(np.minimum(self._columns["level"][rows], model.LARGEST_EXPONENT))
        known = zip(
            self._columns["place"][rows].tolist(),
            self._columns["number"][rows].tolist(),
            self._columns["turn"][rows].tolist(),
            model.rounded(levels, DIGITS).tolist(),
            np.nan_to_num(model.rounded(self._columns["reach"][rows], 2)).tolist(),
            strict=True,
        )
        listed = {
            place: self._commit(list(values))
            for place, values in groupby(known, key=lambda value: value[0])
        }
        text = msgspec.json.encode([listed[place] for place in block])
        return (b"perf.levels[%d] = %b;\n" % (number, text),)

    def _commit(self, values: list[tuple[int, int, int, float, float]]) -> CommitLevels:
        reach = [reach for *_, reach in values]
        verdicts = {}
        for _, number, turn, *_ in values:
            series = self.contents.record.series[number]
            verdict = series.verdicts.get(turn)
            if verdict is not None:
                numbers = (verdict.effect, verdict.low, verdict.high)
                verdicts[number] = [series.word(turn), *map(_shown, numbers)]
        return CommitLevels(
            [number for _, number, *_ in values],
            [level for *_, level, _ in values],
            reach if any(reach) else [],
            verdicts,
        )


def _shown(effect: float | None) -> float | None:
    return None if effect is None else float(f"{effect:.4g}")
