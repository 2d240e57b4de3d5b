"""The pages of commits: what changed for good there, and what moved against the measured commit
before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from perfvcs.check.answer import accepting, criteria
from perfvcs.check.change import JudgedBy
from perfvcs.check.vocabulary import WORDS
from perfvcs.site import commitverdicts, model
from perfvcs.site.commitcolumns import laid
from perfvcs.site.contents import Contents, joined
from perfvcs.site.figures import level, metric
from perfvcs.site.folder import digest, packed
from perfvcs.site.notable import candidates
from perfvcs.site.pages import ChangesData, CommitList, ListedCommit, Revision
from perfvcs.site.seriespage import fields
from perfvcs.system.numeric import np
from perfvcs.text.quantity import at_sizes, step

MOST_CHANGES = 1200  # changes: with more the page would not stay below 3 MB
MOST_FILES = 200
LISTED_COMMITS = 300  # of the page that lists them
MOST_SERIES = 400  # series in a table, without those of changes that are laid to the commit
LISTED_STEPS = 500  # changes that are laid to one commit
MAY = 100  # changes that may have come with a commit and more likely came with another


def changes_key(contents: Contents) -> str:
    """A digest of all changes with their status."""
    return digest(packed([_about(contents, *pair) for pair in contents.found]))


def _about(contents: Contents, number: int, turn: int) -> list[Any]:
    """All that pages say of a change, for a digest."""
    status, series = contents.standing(number, turn), contents.record.series[number]
    place = [contents.urls[number], contents.environment(series).name]
    return [*place, status.state, status.text, *fields(series.findings[turn])]


def changes_page(contents: Contents) -> ChangesData:
    """The page of all changes, the newest commits first."""
    by_state = {
        "open": contents.having("open"),
        "accepted": contents.having("accepted"),
        "past": contents.having("over", "improvement"),
    }
    room, left_out = MOST_CHANGES, 0
    for name, pairs in by_state.items():
        by_state[name] = pairs[:room]
        left_out += len(pairs) - len(by_state[name])
        room -= len(by_state[name])
    return ChangesData(
        **{name: contents.groups(pairs) for name, pairs in by_state.items()}, left_out=left_out
    )


def commit_list(contents: Contents) -> CommitList:
    """The page of the newest measured commits."""
    counts = laid(contents)
    newest = contents.record.measured[: -LISTED_COMMITS - 1 : -1]
    listed = [
        ListedCommit(
            contents.commit(place), counts[place]["degradation"], counts[place]["improvement"]
        )
        for place in newest
    ]
    return CommitList(listed, len(contents.record.measured) - len(listed))


@dataclass(frozen=True)
class Commits:
    """All pages of commits; what they say of many series is collected once."""

    contents: Contents

    @cached_property
    def _judged(self) -> dict[int, list[tuple[int, int]]]:
        """By measured place, series and turn of what was compared there with the commit before."""
        compared = defaultdict(list)
        for number, series in enumerate(self.contents.record.series):
            for turn in series.verdicts:
                compared[int(series.places[turn])].append((number, turn))
        return compared

    @cached_property
    def _every(self) -> list[int]:
        """The number of series measured at each place of the record."""
        return self._counted(0)

    @cached_property
    def _older(self) -> list[int]:
        """The number of series at each place that were measured before, and not compared."""
        return [
            count - len(self._judged.get(place, [])) for place, count in enumerate(self._counted(1))
        ]

    def _counted(self, start: int) -> list[int]:
        """The number of series at each place, of each series from this element on."""
        record = self.contents.record
        places = np.concatenate([series.places[start:] for series in record.series])
        counts: list[int] = np.bincount(places, minlength=len(record.commits)).tolist()
        return counts

    def _comparisons(self, number: int) -> dict[tuple[int, int], commitverdicts.Judged]:
        """The comparisons at a measured commit, the most important first; a curve counts once."""
        contents = self.contents
        comparisons = {}
        for which, turn in self._judged.get(number, []):
            series = contents.record.series[which]
            verdict = series.verdicts[turn]
            called = contents.benchmark(series, sized=verdict.at is None)
            comparisons[which, turn] = commitverdicts.Judged(
                series, verdict, called, contents.environment(series).name
            )
        ranks = commitverdicts.ranks(list(comparisons.values()))
        ranked = sorted(
            (rank, comparison.verdict.at is None, where)
            for rank, (where, comparison) in zip(ranks, comparisons.items(), strict=True)
        )
        ordered = [(where, comparisons[where]) for *_, where in ranked]
        first = {comparison.curve: where for where, comparison in reversed(ordered)}
        return {
            where: comparison
            for where, comparison in ordered
            if comparison.curve is None or first[comparison.curve] == where
        }

    @cached_property
    def _turns(self) -> dict[int, int]:
        return {place: turn for turn, place in enumerate(self.contents.record.measured)}

    @cached_property
    def _steps(self) -> tuple[dict[int, list[tuple[int, int]]], dict[int, list[tuple[int, int]]]]:
        """By measured place, the changes that are laid to it, and those that may be its as well."""
        contents = self.contents
        attributed: dict[int, list[tuple[int, int]]] = defaultdict(list)
        may: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for pair in contents.found:
            finding = contents.finding(*pair)
            attributed[finding.turn].append(pair)
            for place in candidates(contents, finding):
                if place != finding.turn:
                    may[place].append(pair)
        return attributed, may

    def key(self, number: int) -> str:
        """A digest of all that the page of a measured commit is made from."""
        contents, turn = self.contents, self._turns[number]
        attributed, may = self._steps
        steps = [_about(contents, *pair) for pair in attributed[number]]
        possible = [contents.possible(*pair) for pair in may[number][:MAY]]
        judged = []
        for which, at in self._judged.get(number, []):
            series = contents.record.series[which]
            before = int(series.places[at - 1])
            head = [
                contents.urls[which],
                contents.environment(series).name,
                contents.record.commits[before],
                before in contents.of_note,
                float(series.levels[at]),
            ]
            judged.append([*head, series.verdicts[at]])
        near = [
            (contents.record.commits[other], other in contents.of_note)
            for other in (self._near(turn - 1), self._near(turn + 1))
            if other is not None
        ]
        return digest(
            packed(
                contents.record.commits[number],
                turn > 0,
                near,
                steps,
                possible,
                judged,
                self._every[number],
                self._older[number],
                contents.blamed.get(contents.record.commits[number], []),
            )
        )

    def _near(self, turn: int) -> int | None:
        measured = self.contents.record.measured
        return measured[turn] if 0 <= turn < len(measured) else None

    def page(self, number: int) -> Revision:
        """The page of a measured commit."""
        contents, turn = self.contents, self._turns[number]
        attributed, may = self._steps
        diff = contents.diffs.of(contents.record.commits[number]).first(MOST_FILES)
        comparisons = self._comparisons(number)
        judged = list(comparisons.values())
        listed = attributed[number][:LISTED_STEPS]
        held = {which for which, _ in listed}
        steps = joined(contents.with_suspects(*pair) for pair in listed)
        moved = [
            pair for pair, comparison in comparisons.items() if WORDS[comparison.verdict.word].moved
        ]
        left_out = set([pair for pair in moved if pair[0] not in held][MOST_SERIES:])
        unlisted = len(attributed[number]) - len(listed)
        older = self._older[number]
        around = [
            None if other is None else contents.commit(other)
            for other in (self._near(turn - 1), self._near(turn + 1))
        ]
        return Revision(
            commit=contents.commit(number),
            parents=list(contents.record.details[contents.record.commits[number]].parents),
            files=diff.files,
            more=diff.more,
            steps=steps,
            unlisted=unlisted,
            lasting=commitverdicts.lasting(steps, unlisted),
            may=[contents.possible(*pair) for pair in may[number][:MAY]],
            moved=[
                self._row(*pair, lasting=pair[0] in held) for pair in moved if pair not in left_out
            ],
            left_out=len(left_out),
            sentence=self._sentence(number, judged),
            jobs=commitverdicts.jobs(judged),
            rest=commitverdicts.rest(
                judged, older, self._every[number] - older - len(self._judged.get(number, []))
            ),
            next=self._next(number, comparisons),
            before=around[0],
            after=around[1],
            blamed=contents.blamed.get(contents.record.commits[number], []),
        )

    def _sentence(self, number: int, judged: list[commitverdicts.Judged]) -> str:
        """The first sentence, and what the commit does to its own judge."""
        commits, before = self.contents.record.commits, self._near(self._turns[number] - 1)
        by = JudgedBy() if before is None else self.contents.judge(commits[before], commits[number])
        acceptance, judge = accepting(by), criteria(by)
        sentences = [commitverdicts.sentence(judged, self._older[number])]
        if acceptance:
            sentences.insert(0, f"{acceptance}:")
        if judge:
            sentences.append(f"{judge}.")
        return " ".join(sentences)

    def _next(self, number: int, moved: Mapping[tuple[int, int], commitverdicts.Judged]) -> str:
        """The next command: for the most important change, or to compare; empty if none."""
        contents, before = self.contents, self._near(self._turns[number] - 1)
        if self._older[number] and not moved and before is not None:
            return f"compare them: `perf check {contents.short(before)} {contents.short(number)}`"
        for (which, turn), comparison in moved.items():
            if WORDS[comparison.word].sure:
                before = int(contents.record.series[which].places[turn - 1])
                pair = f"{contents.short(before)} {contents.short(number)}"
                between = number - before - 1
                if between:
                    better = " --improvement" * (comparison.word == "improvement")
                    lead = f"find which of {between + 1:,} commits it was"
                    return f"{lead}: `perf bisect{better} {pair}`"
                return f"find the function: `perf blame {pair}`"
        return ""

    def _row(self, number: int, turn: int, *, lasting: bool) -> model.MovedData:
        contents, series = self.contents, self.contents.record.series[number]
        verdict = series.verdicts[turn]
        levels, at = (level(series, turn - 1), level(series, turn)), ""
        # those that the effect is of
        if verdict.baseline is not None and verdict.target is not None:
            levels = (verdict.baseline, verdict.target)
            at = f" {at_sizes(verdict.at)}" if verdict.at else ""
        return model.MovedData(
            benchmark=contents.benchmark(series, sized=not at),
            metric=metric(series),
            environment=contents.environment(series).name,
            url=contents.urls[number],
            since=contents.commit(int(series.places[turn - 1])),
            levels=step(*levels, series.line.unit).replace("->", "→") + at,
            cell=contents.cell(number, turn),
            accept=commitverdicts.acceptable(
                verdict,
                contents.record.commits[series.places[turn - 1]],
                contents.record.commits[series.places[turn]],
            ),
            lasting=lasting,
        )
