"""What ``perf process`` does: a postprocessor applied to stored profiles, or to a file, and what it
found.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from perfvcs.errors import UsageError
from perfvcs.profile import Profile
from perfvcs.profile.fittedmodels import AnyEntry, RegressionEntry, as_written, over_sizes
from perfvcs.profile.workloads import at_workload, bound, joined
from perfvcs.repository.lookup import paths_of
from perfvcs.store.removal import verified
from perfvcs.text.characters import shorten
from perfvcs.text.document import json_text
from perfvcs.text.quantity import number, quantity
from perfvcs.text.words import metric_name, plural
from perfvcs.text.wrapping import wrap

if TYPE_CHECKING:
    from perfvcs.plugins.postprocessor import Postprocessor
    from perfvcs.profile.benchmarkfilter import BenchmarkFilter
    from perfvcs.repository import Repository

UNIT, METRIC = 26, 12  # characters of names in the table
LABEL_CHARACTERS = 40
ROUNDING = 1e-12  # an intercept below this share of the slope is what computing with floats leaves


@dataclass(frozen=True)
class ProcessOutcome:
    """What became of one profile: where it was and is (paths in the store, or one file), and what
    the postprocessor left in it.

    ``refused`` is why it could not be applied, empty where it could; ``models`` are its entries of
    the profile's, ``columns`` the metrics that are new or have new values, ``units`` the units of
    all metrics. With ``workloads`` it is of so many profiles together, joined over the sizes of
    their workloads: it is only named, and its paths are empty.
    """

    before: str
    after: str
    commit: str
    label: str
    refused: str = ""
    changed: bool = False
    models: Sequence[AnyEntry] = ()
    columns: Sequence[str] = ()
    units: dict[str, str] | None = None
    workloads: int = 0


def apply(
    profile: Profile, member: Postprocessor, name: str, origin: str, path: str
) -> tuple[Profile, ProcessOutcome]:
    """A profile with a postprocessor applied, and its outcome; ``origin`` is the SHA-256 of its
    document, ``path`` its place.

    Returns the profile itself where nothing changes. Raises UsageError where it lacks what is
    needed.
    """
    new = member.apply(profile)
    changed = new != profile
    if changed and new.origin is None:
        new = msgspec.structs.replace(new, origin=origin)
    before, after = profile.resources.metrics, new.resources.metrics
    outcome = ProcessOutcome(
        path,
        path,
        profile.commit,
        profile.job.label,
        changed=changed,
        models=[entry for entry in new.models if entry.postprocessor == name],
        columns=[
            metric for metric in after if metric not in before or after[metric] != before[metric]
        ],
        units={metric: metadata.unit for metric, metadata in new.metrics.items()},
    )
    return (new if changed else profile), outcome


def process(
    repository: Repository,
    target: str,
    benchmarks: BenchmarkFilter,
    member: Postprocessor,
    name: str,
) -> list[ProcessOutcome]:
    """Applies a postprocessor to the profiles of a revision, or to one by its path or id, and
    stores new versions in one commit.

    Each new version takes the place of the old one, and names the document that the first of them
    was made from. Profiles that lack what is needed stay as they are; raises UsageError where all
    do. Also raises Damaged, and what the store raises; then nothing is stored. Outcomes over the
    sizes of workloads come last.
    """
    outcomes: list[ProcessOutcome] = []
    sized: list[Profile] = []
    with repository.replacing():
        paths = list(dict.fromkeys(paths_of(repository, target, benchmarks)))
        stored = iter(
            repository.store.replace(
                _versions(repository, paths, member, name, outcomes, sized),
                f"Process {target}: {name}",
            )
        )
    if all(outcome.refused for outcome in outcomes):
        raise UsageError(outcomes[0].refused)
    after = [
        replace(outcome, after=next(stored)) if outcome.changed else outcome for outcome in outcomes
    ]
    return [*after, *_over_workloads(sized, member, name)]


def _over_workloads(
    profiles: Sequence[Profile], member: Postprocessor, name: str
) -> Iterator[ProcessOutcome]:
    """What a postprocessor finds over the sizes of workloads, each of which is a profile of its
    own; nothing of one that needs no sizes.
    """
    for whole in joined(profiles):
        try:
            _, outcome = apply(whole, member, name, "", "")
        except UsageError:  # each profile has said why
            continue
        models = [entry for entry in outcome.models if over_sizes(entry)]
        if models:
            count = len(set(whole.resources.size or ()))
            yield replace(outcome, changed=False, models=models, columns=(), workloads=count)


def _versions(
    repository: Repository,
    paths: Sequence[str],
    member: Postprocessor,
    name: str,
    outcomes: list[ProcessOutcome],
    sized: list[Profile],
) -> Iterator[tuple[str, Profile]]:
    """What did change, with the paths of the old versions, one in memory at a time.

    Outcomes are added to ``outcomes``, the rows of workloads that have a size to ``sized``.
    """
    tip = repository.index.head
    for path, document in repository.store.documents({path: f"{tip}:{path}" for path in paths}):
        new = old = verified(path, document)
        assert isinstance(document, bytes)
        digest = hashlib.sha256(document).hexdigest()
        try:
            new, outcome = apply(old, member, name, digest, path)
        except UsageError as error:
            outcomes.append(
                ProcessOutcome(path, path, old.commit, old.job.label, refused=str(error))
            )
        else:
            outcomes.append(outcome)
            if outcome.changed:
                yield path, new
        if bound(new) is not None:
            sized.append(at_workload(new))


def document(outcomes: Sequence[ProcessOutcome]) -> str:
    """The outcomes as JSON."""
    rows = [
        asdict(outcome) | {"models": [as_written(entry) for entry in outcome.models]}
        for outcome in outcomes
    ]
    return json_text(rows)


def lines(outcomes: Sequence[ProcessOutcome]) -> Iterator[str]:
    """What was found, in lines of 80 columns: a table per profile, then how many were stored."""
    for outcome in outcomes:
        if outcome.refused:
            continue
        state = "" if outcome.changed else "  unchanged"
        if outcome.workloads:
            state = f"  over {outcome.workloads:,} workloads, not stored"
        yield f"{outcome.commit[:10]} {shorten(outcome.label, LABEL_CHARACTERS)}{state}"
        shown = [
            entry
            for entry in outcome.models
            if not isinstance(entry, RegressionEntry) or entry.best or entry.model is None
        ]
        several = len({(str(entry.uid), str(entry.metric)) for entry in shown}) < len(shown)
        for entry in shown:
            yield from _row(entry, outcome.units or {}, several=several)
        yield from (f"  column {shorten(column, LABEL_CHARACTERS)}" for column in outcome.columns)


def notes(outcomes: Sequence[ProcessOutcome]) -> Iterator[str]:
    """Why profiles were left as they are, in lines of 80 columns."""
    for outcome in outcomes:
        if outcome.refused:
            yield from wrap(
                f"note: left as it is: {outcome.refused}", 80, subsequent_indent="      "
            )


def _row(entry: AnyEntry, units: dict[str, str], *, several: bool) -> Iterator[str]:
    """One entry; the range of x where a unit has ``several``."""
    names = (
        f"  {shorten(str(entry.uid), UNIT):{UNIT}}"
        f" {shorten(metric_name(str(entry.metric)), METRIC):{METRIC}}"
    )
    if not isinstance(entry, RegressionEntry):
        fields = as_written(entry)
        count = fields.get("rows", 0)
        yield (
            f"{names} {count:>7,} {plural(count, 'row'):4}  {_explained(fields.get('r2'))}".rstrip()
        )
        return
    if entry.model is None:
        yield f"{names} no model: {next(iter(entry.omitted.values()), '') if entry.omitted else ''}"
        return
    (low, high), fit = entry.x, "" if entry.model == "constant" else _explained(entry.r2)
    yield f"{names} {'one size' if low == high else entry.order or '':12} {fit}".rstrip()
    within = f"{number(low)} to {number(high)}: " if several else ""
    yield f"    {within}{equation(entry, units.get(entry.metric, ''))}"


def _explained(r2: float | None) -> str:
    return "" if r2 is None else f"r² {round(r2, 3) + 0.0:5.3f}"


def equation(entry: RegressionEntry, unit: str) -> str:
    """The formula of a fitted model with its numbers: ``110 ns + 34 ns log n``."""
    scale, *shape = entry.coefficients
    model = str(entry.model).removeprefix("linearised ")
    if not shape:
        return quantity(scale, unit)
    if model == "power":
        return f"{quantity(scale, unit)} n^{shape[0]:.4g}"
    if model == "exponential":
        return f"{quantity(scale, unit)} {shape[0]:.6g}^n"
    if abs(scale) < ROUNDING * abs(shape[0]):
        scale = 0.0
    terms = [term.partition(" ")[2] for term in str(entry.formula).split(" + ")[1:]]
    rest = (
        f"{'-' if by < 0 else '+'} {quantity(abs(by), unit)} {term}"
        for by, term in zip(shape, terms, strict=True)
    )
    return " ".join([quantity(scale, unit), *rest])
