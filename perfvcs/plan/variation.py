"""How much the units of a series vary, from the profiles of its sessions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise, starmap
from math import exp, isfinite, log, sqrt
from statistics import fmean, median
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from perfvcs.check.method import Delta, of_metric
from perfvcs.plan.inside import Drawn, Inside, Share, SizedMetric, explained, inside, runs
from perfvcs.profile import Profile
from perfvcs.profile.rules import USUAL_DELTA
from perfvcs.profile.summary import RECORDER, Measured, Place, Summary
from perfvcs.profile.units import in_base_units
from perfvcs.statistics.huber import BEND, FEWEST_PAIRS, NORMAL_IN_DISTANCES, draw_in
from perfvcs.system.numeric import Floats, np

# values of a session that are drawn for pretended pairs; twice as many change the result by about 1
# %
DRAWN = 4000
FOUR = 4  # values that make two pairs
DEVIATION_ROUNDING = 1e-12  # a relative deviation below is only rounding
ENOUGH_DEGREES = 4  # degrees of freedom from which the differences of real pairs are preferred
ROUNDING = 1e-24  # a relative variance below is only rounding
REPEATS_EXACTLY = "repeats exactly: a single execution finds every change"
SQUARABLE_VARIATION = 1e100  # squares of more are beyond a float


class VersionLevels(NamedTuple):
    """What one version of a session measured of a unit and metric."""

    session: str
    version: int
    levels: dict[Place, float]  # a value per execution


def in_turns(differences: Sequence[Sequence[float]]) -> float | None:
    """The variance of a pair's difference from those of pairs that were measured in turns, one
    sequence per session, outliers pulled in.

    With one session it is n times the squared error of ``perfvcs.statistics.huber.paired``; several
    share the bound, and each keeps its own centre. None for fewer than ``FEWEST_PAIRS`` pairs, and
    where most are equal. Source: Huber 1981, sections 6.4-6.5.
    """
    samples = [np.array(sample) for sample in differences if len(sample) > 1]
    count = sum(sample.size for sample in samples)
    if count < FEWEST_PAIRS:
        return None
    scale = (
        float(np.median(np.concatenate([_distances(sample) for sample in samples])))
        * NORMAL_IN_DISTANCES
    )
    if scale <= DEVIATION_ROUNDING:
        return None
    drawn = [draw_in(sample[None, :], np.array([[BEND * scale]]))[0] for sample in samples]
    alone = max(float((np.concatenate(drawn) == np.concatenate(samples)).mean()), 1 / count)
    squares = sum(float(((sample - sample.mean()) ** 2).sum()) for sample in drawn)
    return squares / (count - len(drawn)) * ((1 + (1 - alone) / (alone * count)) / alone) ** 2


def apart(values: Sequence[Sequence[float]]) -> float | None:
    """``in_turns`` from executions that were not measured in turns, one sequence per session: of
    pairs of any two of a session.

    Without outliers it is twice the variance of the values, pooled over the sessions. None for
    fewer than ``FEWEST_PAIRS`` values, and where most pairs are equal.
    """
    samples = [np.array(sample) for sample in values if len(sample) >= FOUR]
    if sum(sample.size for sample in samples) < FEWEST_PAIRS:
        return None
    pairs = [_pairs(sample) for sample in samples]
    scale = (
        float(np.median(np.concatenate([np.abs(gaps[0] - gaps[1]) for gaps in pairs])))
        * NORMAL_IN_DISTANCES
    )
    if scale <= DEVIATION_ROUNDING:
        return None
    bound, weights = BEND * scale, [sample.size - 1 for sample in samples]
    alone = fmean([float((np.abs(gaps) <= bound).mean()) for gaps in pairs], weights)
    left = fmean([float((np.minimum(np.abs(gaps), bound) ** 2).mean()) for gaps in pairs], weights)
    squares = fmean([float((gaps**2).mean()) for gaps in pairs], weights)
    variance = fmean([float(sample.var(ddof=1)) for sample in samples], weights)
    return 2 * variance * left / squares / max(alone, 1 / DRAWN) ** 2


def _pairs(sample: Floats) -> Floats:
    """Differences of two values each, shape (2, many): those in a column share no value.

    The same for the same sample.
    """
    size = sample.size
    shuffled = np.random.default_rng(0).permuted(np.tile(sample, (-(-DRAWN // size), 1)), axis=1)
    fours = shuffled[:, : size // FOUR * FOUR].reshape(-1, FOUR)
    return np.array([fours[:, 0] - fours[:, 1], fours[:, 2] - fours[:, 3]])


def _distances(sample: Floats) -> Floats:
    """Distances between two values: of all of them, or of many that were drawn."""
    if sample.size <= sqrt(2 * DRAWN):
        rows, columns = np.triu_indices(sample.size, 1)
        return np.abs(sample[rows] - sample[columns])
    return np.abs(_pairs(sample)).ravel()


class Variation(Struct, frozen=True):
    """How much one unit and metric of a series varies.

    ``mean`` is in the metric's unit: that of the newest session, geometric where all is positive;
    ``least`` its smallest execution; ``delta`` the smallest change of it that counts where nobody
    asks for another one. Relative is what is a share of the mean's size. ``deviation`` is the
    relative standard deviation between executions of one session (between builds where several are
    measured), ``difference`` that of the difference of a pair, with ``df`` degrees of freedom;
    ``paired``: seen in pairs that were measured in turns, else it is sqrt(2) times the deviation.
    ``drawn`` is the same with outliers pulled in, as it counts in a check of eight pairs and more;
    None where too little is known for that. ``seed`` is what the seed of a block explains; None
    where that is not known. ``replicates`` are the executions (or builds) seen, ``measurements``
    the usual number per execution. ``problem`` says in words why nothing can be planned; then
    ``difference`` is None.
    """

    uid: str
    size: float | None
    metric: str
    unit: str
    mean: float | None = None
    least: float | None = None
    delta: float = USUAL_DELTA
    replicates: int = 0
    measurements: int = 1
    deviation: float | None = None
    difference: float | None = None
    drawn: float | None = None
    df: int = 0
    paired: bool = False
    inside: Inside | None = None
    seed: Share | None = None
    problem: str = ""

    @property
    def exact(self) -> bool:
        """Whether it repeats exactly, so that a single execution finds every change."""
        return self.problem == REPEATS_EXACTLY


def variations(profiles: Sequence[Profile]) -> list[Variation]:
    """The variations of all judged units and metrics of profiles of one series and environment,
    oldest first.
    """
    profiles = [in_base_units(profile) for profile in profiles]
    units = spreads([Measured.of(profile) for profile in profiles])
    keys = {
        (variation.uid, variation.size, variation.metric)
        for variation in units
        if variation.difference is not None
    }
    raw = [runs(profile, keys) for profile in profiles]
    detailed = []
    for variation in units:
        key = (variation.uid, variation.size, variation.metric)
        detailed.append(_with_inside(variation, [rows[key] for rows in raw if key in rows]))
    return detailed


def _with_inside(
    variation: Variation, sessions: Sequence[Mapping[Place, list[float]]]
) -> Variation:
    if not sessions:
        return variation
    usual = int(median(map(len, sessions[-1].values())))
    return replace(
        variation,
        measurements=max(1, usual),
        inside=inside([dict(session) for session in sessions]),
    )


def spreads(measured: Sequence[Measured]) -> list[Variation]:
    """``variations`` from summaries alone, without a look inside the executions: the units and
    metrics of the newest, which is the last.
    """
    if not measured:
        return []
    sessions: dict[SizedMetric, list[tuple[Measured, Summary]]] = defaultdict(list)
    for member in measured:
        for summary in member.summaries:
            sessions[summary.uid, summary.size, summary.metric].append((member, summary))
    definitions = measured[-1].header.metrics
    keys = dict.fromkeys(
        (summary.uid, summary.size, summary.metric) for summary in measured[-1].summaries
    )
    calls = measured[-1].header.job.collector == RECORDER
    return [
        _spread(
            Variation(*key, definitions[key[2]].unit),
            definitions[key[2]].kind,
            of_metric(key[2], calls=calls),
            sessions[key],
        )
        for key in keys
    ]


def _spread(
    empty: Variation, kind: str, usual: Delta, sessions: Sequence[tuple[Measured, Summary]]
) -> Variation:
    """The variation of a unit and metric, by what the profiles have of it, the newest last."""
    usable = [side for side in starmap(_finite, sessions) if side.levels]
    values = [value for side in usable for value in side.levels.values()]
    if not values:
        return replace(empty, problem="no execution has a usable value")
    newest, positive = list(usable[-1].levels.values()), min(values) > 0
    if positive:
        mean = exp(fmean(map(log, newest)))
    else:
        mean = fmean(value / len(newest) for value in newest) * len(newest)
    variation = replace(empty, least=min(newest), replicates=len(values))
    if isfinite(mean):
        variation = replace(variation, mean=mean, delta=usual.of(mean))
    if kind == "deterministic":
        return replace(variation, problem=REPEATS_EXACTLY)
    if not positive and (
        variation.mean is None or max(map(abs, values)) / SQUARABLE_VARIATION >= abs(mean)
    ):
        return replace(
            variation,
            problem=(
                "its mean is 0 or nearly 0, so changes are not shares of it: compare its"
                " differences"
            ),
        )
    builds = [{build for build, _ in side.levels} for side in usable]
    several = any(len(numbers) > 1 for numbers in builds)
    scaled = [
        side._replace(
            levels=_replicates(_scaled(side.levels, mean, positive=positive), several=several)
        )
        for side in usable
    ]
    seed = None if several else explained(_drawn(scaled, [profile for profile, _ in sessions]))
    variation = replace(variation, replicates=sum(len(side.levels) for side in scaled), seed=seed)
    return _with_differences(variation, scaled, several=several)


def _finite(profile: Measured, summary: Summary) -> VersionLevels:
    """The finite levels of a summary."""
    levels = {
        place: value
        for place, value in zip(summary.places, summary.medians, strict=True)
        if isfinite(value)
    }
    return VersionLevels(profile.header.collected.session, profile.header.design.version, levels)


def _scaled(levels: Mapping[Place, float], mean: float, *, positive: bool) -> dict[Place, float]:
    """The levels as logarithms, or as shares of the mean where some are 0 or below."""
    if positive:
        return {place: log(value) for place, value in levels.items()}
    return {place: value / abs(mean) for place, value in levels.items()}


def _with_differences(
    variation: Variation, scaled: Sequence[VersionLevels], *, several: bool
) -> Variation:
    """The variation with how much scaled levels differ: by pairs that were measured in turns if
    there are enough, else by single executions (or builds, of ``several``).
    """
    alone = [list(side.levels.values()) for side in scaled]
    turns = _differences(scaled)
    single, together = _pooled(alone), _pooled(turns)
    if single is None:
        what = "build" if several else "execution"
        return replace(
            variation, problem=f"a single {what} shows no spread: measure at least 5, better 10"
        )
    if together is not None and together[1] >= ENOUGH_DEGREES:
        drawn = in_turns(turns) if together[0] else None
        return replace(
            variation,
            deviation=sqrt(single[0]),
            difference=sqrt(together[0]),
            drawn=_root(drawn),
            df=together[1],
            paired=True,
        )
    drawn = apart(alone) if single[0] else None
    return replace(
        variation,
        deviation=sqrt(single[0]),
        difference=sqrt(2 * single[0]),
        drawn=_root(drawn),
        df=single[1],
    )


def _root(variance: float | None) -> float | None:
    return None if variance is None else sqrt(variance)


def _replicates(values: Mapping[Place, float], *, several: bool) -> dict[Place, float]:
    """What counts in a verdict: every execution, or each of several builds with the mean of its
    executions.
    """
    if not several:
        return {(0, number): value for (_, number), value in values.items()}
    builds: dict[int, list[float]] = defaultdict(list)
    for (build, _), value in values.items():
        builds[build].append(value)
    return {(build, 0): fmean(levels) for build, levels in builds.items()}


def _differences(scaled: Sequence[VersionLevels]) -> list[list[float]]:
    """The differences of pairs that were measured in turns: in every session of each version and
    the next.
    """
    sessions: dict[str, dict[int, Mapping[Place, float]]] = defaultdict(dict)
    for session, version, medians in scaled:
        sessions[session][version] = medians
    return [
        [new[place] - old[place] for place in old if place in new]
        for versions in sessions.values()
        for old, new in pairwise([versions[number] for number in sorted(versions)])
    ]


def _drawn(scaled: Sequence[VersionLevels], measured: Sequence[Measured]) -> list[list[Drawn]]:
    """The versions of each session with what they shared."""
    shared = {
        (member.header.collected.session, member.header.design.version): member
        for member in measured
    }
    sessions: dict[str, list[Drawn]] = defaultdict(list)
    for session, version, levels in scaled:
        member = shared[session, version]
        sessions[session].append(Drawn(levels, member.turns, member.seeds))
    return list(sessions.values())


def _pooled(samples: Sequence[Sequence[float]]) -> tuple[float, int] | None:
    """The variance inside samples, and its degrees of freedom; None without any."""
    squares, df = 0.0, 0
    for sample in samples:
        if len(sample) > 1:
            centre = fmean(sample)
            squares += sum((value - centre) ** 2 for value in sample)
            df += len(sample) - 1
    if not df:
        return None
    return (squares / df if squares / df > ROUNDING else 0.0), df
