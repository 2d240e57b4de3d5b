"""The pages of branches and pull requests: the newest measured commit of each against where it left
the published history.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import NamedTuple

from perfvcs.check import Change, Report, answer
from perfvcs.check.answer import accepting, criteria
from perfvcs.check.text import settlement
from perfvcs.check.vocabulary import ORDER, WORDS, said
from perfvcs.git.ancestry import Unmerged, unmerged
from perfvcs.git.command import GitError
from perfvcs.git.forge import Forge
from perfvcs.history.verdict import CommitPair, Verdict, Verdicts
from perfvcs.profile.naming import labelled
from perfvcs.repository import Repository
from perfvcs.repository.state import State
from perfvcs.site import model, template
from perfvcs.site.commitverdicts import acceptable
from perfvcs.site.contents import Contents
from perfvcs.site.figures import cell
from perfvcs.site.pages import BranchList, BranchPage
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import quantity, step
from perfvcs.text.words import metric_name

MOST_BRANCHES = 50  # branches that have pages
BRANCH_COMMITS = 1000  # commits of a branch that are looked at
MOST_LISTED_COMMITS = 50  # commits that are listed
MOST_ROWS = 400  # rows of a table
BACK = 50  # measured commits before a branch, among which one is comparable


class _PublishedSeries(NamedTuple):
    """What a series is about."""

    series: str
    uid: str
    size: float | None
    metric: str
    environment: str


@dataclass(frozen=True)
class _Branch:
    """A branch: its commits beyond the published ones, newest first, and what is its base."""

    ref: Unmerged
    commits: Sequence[str]
    measured: Sequence[str]
    base: str | None
    environments: Sequence[str]


class Branches:
    """All branches and pull requests that were measured and are not merged."""

    def __init__(self, repository: Repository, contents: Contents, forge: Forge) -> None:
        self._repository, self._contents, self._forge = repository, contents, forge

    @cached_property
    def pages(self) -> list[BranchPage]:
        """A page for each, the newest first."""
        unmerged = list(islice(self._found(), MOST_BRANCHES))
        pairs = [
            CommitPair(branch.base, branch.measured[0], environment)
            for branch in unmerged
            if branch.base
            for environment in branch.environments
        ]
        self._verdicts = Verdicts(self._repository).of(pairs)
        wanted = {
            commit
            for branch in unmerged
            for commit in (
                *branch.measured[:MOST_LISTED_COMMITS],
                *([branch.base] if branch.base else []),
            )
        }
        self._details = self._repository.project.describe(wanted)
        return [self._page(branch) for branch in unmerged]

    @property
    def listed(self) -> BranchList:
        """The page that lists them."""
        return BranchList([page.branch for page in self.pages])

    def _found(self) -> Iterator[_Branch]:
        project, published = self._repository.project, self._contents.record.commits[-1]
        others = self._repository.index.commits().difference(self._contents.record.commits)
        if not others:
            return
        for ref in unmerged(project, published):
            try:
                commits = project.git(
                    "rev-list", f"--max-count={BRANCH_COMMITS}", ref.commit, f"^{published}"
                ).split()
                measured = [commit for commit in commits if commit in others]
                base = project.git("merge-base", ref.commit, published) if measured else ""
            except GitError:  # histories that have nothing in common, or a shallow one
                continue
            if measured:
                yield self._compared(ref, commits, measured, base)

    def _compared(
        self, ref: Unmerged, commits: Sequence[str], measured: Sequence[str], left: str
    ) -> _Branch:
        """With the nearest measured commit before it that its newest one has something of."""
        repository = self._repository
        kinds = {
            (header.job.key, header.environment.fingerprint)
            for header in repository.index.headers([measured[0]])
        }
        before = repository.with_profiles(chain([left], repository.project.ancestors(left)))
        for commit in islice(before, BACK):
            shared = {
                (header.job.key, header.environment.fingerprint)
                for header in repository.index.headers([commit])
            } & kinds
            if shared:
                return _Branch(
                    ref,
                    commits,
                    measured,
                    commit,
                    sorted({environment for _, environment in shared}),
                )
        return _Branch(ref, commits, measured, None, ())

    def _page(self, unmerged: _Branch) -> BranchPage:
        rows: list[model.MovedData] = []
        others: list[model.MovedData] = []
        words = []
        changes: list[Change] = []
        for environment in unmerged.environments:
            pair = CommitPair(unmerged.base or "", unmerged.measured[0], environment)
            for verdict in self._verdicts.get(pair, {}).values():
                word = said(verdict).word
                words.append(word)
                changes.append(verdict.change(environment))
                listed = rows if WORDS[verdict.word].moved else others
                listed.append(self._row(unmerged, environment, verdict, word))
        rows.sort(key=_largest)
        others.sort(key=_largest)
        counts = [
            (word, words.count(word))
            for word in ORDER
            if word in words and (WORDS[word].moved or word == "accepted")
        ]
        decided = sum(WORDS[word].settled for word in words)
        sentence = "nothing before it to compare with"
        if changes:
            report = Report(baseline="", target="", method="auto", changes=changes)
            sentence = f"{answer.sentence(report)}; {settlement(changes)}"
        if unmerged.base:
            by = self._repository.criteria(
                State(unmerged.base), State(unmerged.measured[0])
            ).judged_by
            sentence = "; ".join(filter(None, [accepting(by), sentence]))
            sentence = ". ".join(filter(None, [sentence, criteria(by)]))
        unchanged = "same" if decided else ""
        branch = model.BranchData(
            name=shorten(unmerged.ref.name, template.BENCHMARK_NAME),
            url=f"branches/{template.slug(unmerged.ref.name, of=unmerged.ref.reference)}.html",
            forge=self._forge.of_request(unmerged.ref.number) or None,
            newest=self._commit(unmerged.measured[0]),
            base=self._commit(unmerged.base) if unmerged.base else None,
            commits=len(unmerged.commits),
            measured=len(unmerged.measured),
            sentence=sentence,
            word=next((word for word, _ in counts), unchanged),
        )
        return BranchPage(
            branch=branch,
            listed=[self._commit(commit) for commit in unmerged.measured[:MOST_LISTED_COMMITS]],
            more=max(0, len(unmerged.measured) - MOST_LISTED_COMMITS),
            moved=rows[:MOST_ROWS],
            others=others[: max(0, MOST_ROWS - len(rows))],
            left_out=max(0, len(rows) + len(others) - MOST_ROWS),
        )

    def _row(
        self, branch: _Branch, environment: str, verdict: Verdict, word: str
    ) -> model.MovedData:
        contents = self._contents
        name = labelled(verdict.job, verdict.uid, verdict.size)
        levels = step(verdict.baseline, verdict.target, verdict.unit).replace("->", "→")
        after = "" if verdict.target is None else quantity(verdict.target, verdict.unit)
        number = self._published.get(
            _PublishedSeries(verdict.series, verdict.uid, verdict.size, verdict.metric, environment)
        )
        place = environment[: template.ID_DIGITS_SHOWN]
        if environment in contents.environments:
            place = contents.environments[environment].name
        benchmark = shorten(name, template.BENCHMARK_NAME)
        if number is not None:
            benchmark = contents.benchmark(contents.record.series[number])
        return model.MovedData(
            benchmark=benchmark,
            metric=shorten(metric_name(verdict.metric), template.BENCHMARK_NAME),
            environment=place,
            url=None if number is None else contents.urls[number],
            since=self._commit(branch.base or ""),
            levels=levels,
            cell=cell(verdict, word, after, (branch.base or "")[: template.ID_DIGITS_SHOWN]),
            accept=acceptable(verdict, branch.base or "", branch.measured[0]),
        )

    @cached_property
    def _published(self) -> dict[_PublishedSeries, int]:
        lines = (
            (number, series.line) for number, series in enumerate(self._contents.record.series)
        )
        return {
            _PublishedSeries(
                line.job.key, line.uid, line.size, line.metric, line.environment.fingerprint
            ): number
            for number, line in lines
        }

    def _commit(self, commit: str) -> model.CommitData:
        place = self._contents.places.get(commit)
        if place is not None and commit in self._contents.record.details:
            return self._contents.commit(place)
        if commit not in self._details:
            return model.CommitData(commit, commit[: template.ID_DIGITS_SHOWN], "", "", "")
        return template.commit(self._details[commit], commit[: template.ID_DIGITS_SHOWN], None)


def _largest(row: model.MovedData) -> tuple[object, ...]:
    return -abs(row.cell.effect or 0.0), row.benchmark, row.metric, row.environment
