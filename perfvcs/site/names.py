"""Names on a site: addresses that are safe on every file system, and short names of environments and commits."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from perfvcs.environment import naming
from perfvcs.git.project import Commit
from perfvcs.index.lines import Line
from perfvcs.profile import Environment
from perfvcs.site import model
from perfvcs.store.document import fold
from perfvcs.text.characters import shorten

ID_DIGITS_SHOWN = 10  # characters of a commit's id
MARK_DIGITS = 10  # hex digits that tell addresses apart
BENCHMARK_NAME = 160  # characters of a benchmark
COMMIT_TITLE = 200  # of a commit's title
ENVIRONMENT_CHARACTERS = 40  # of an environment
VALUE = 200  # of what is said about it
FIELDS = 24

PageKey = tuple[str, str, str, float | None, str, str, str]
SiblingKey = tuple[str, str, float | None, str]


def key(line: Line) -> PageKey:
    """The key of a page of series: label, collector, unit of the job, size, metric, its unit and direction."""
    return (line.job.label, line.job.collector, line.uid, line.size, line.metric, line.unit, line.better)


def what(line: Line) -> SiblingKey:
    """The key of a benchmark without its collector: label, unit of the job, size and metric."""
    return line.job.label, line.uid, line.size, line.metric


def slug(*names: str, of: object) -> str:
    """A readable file name without its ending, unique for what it stands for, and the same wherever it is computed."""
    digest = hashlib.sha256(msgspec.json.encode(of)).hexdigest()[:MARK_DIGITS]
    return "-".join([*filter(None, map(fold, names)), digest])


def series_url(line: Line) -> str:
    """The page of a line."""
    return f"series/{slug(line.job.label, '' if line.uid == line.job.label else line.uid, line.metric, of=key(line))}.html"


def shorts(commits: Iterable[str]) -> dict[str, str]:
    """Short ids of commits; the full ones where two short ones are the same."""
    listed = list(commits)
    counts = Counter(commit[:ID_DIGITS_SHOWN] for commit in listed)
    return {commit: commit[:ID_DIGITS_SHOWN] if counts[commit[:ID_DIGITS_SHOWN]] == 1 else commit for commit in listed}


def commit(details: Commit, short: str, url: str | None) -> model.CommitData:
    """A commit as pages show it."""
    return model.CommitData(
        details.id,
        short,
        shorten(details.title, COMMIT_TITLE),
        shorten(details.author, BENCHMARK_NAME),
        shorten(details.when, 40),
        url,
    )


def environments(several: Iterable[Environment], retired: Mapping[str, str] | None = None) -> dict[str, model.EnvironmentData]:
    """The environments by fingerprint, each with a name that no other has: the values in which they differ; ``retired`` ones last."""
    known: dict[str, Environment] = {one.fingerprint: one for one in several}
    gone, called = retired or {}, naming.names(known.values())
    return {
        mark: model.EnvironmentData(
            called[mark],
            shorten(mark, ENVIRONMENT_CHARACTERS),
            {shorten(name, ENVIRONMENT_CHARACTERS): shorten(value, VALUE) for name, value in list(one.fields.items())[:FIELDS]},
            gone.get(mark, ""),
        )
        for mark, one in sorted(known.items(), key=lambda pair: (pair[0] in gone, called[pair[0]], pair[0]))
    }
