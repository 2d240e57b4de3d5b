"""What became of every lasting change along a history."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from perfvcs.history.judging import Allowance, JudgedLine
from perfvcs.history.triage import Past, Standing, triaged
from perfvcs.repository import Repository


def standings(
    repository: Repository, judgements: Collection[JudgedLine], commits: Sequence[str]
) -> dict[int, Standing]:
    """The standing of every finding of judged lines along ``commits``, by its ``id``."""
    if not any(series.findings for series in judgements):
        return {}
    indexed = repository.index.commits()  # of all benchmarks, though some may be asked for
    measured = [place for place, commit in enumerate(commits) if commit in indexed]
    newest = {measured[-1], *(series.places[-1] for series in judgements)}
    past = Past(commits, measured, repository.project.describe(commits[place] for place in newest))
    by_series = triaged(list(judgements), past, Allowance(repository, commits))
    return {
        id(finding): standing
        for series, of_series in zip(judgements, by_series, strict=True)
        for finding, standing in zip(series.findings, of_series, strict=True)
    }
