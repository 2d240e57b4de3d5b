"""What `perf blame` found: a document, and what an experiment proves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec

from perfvcs.check.bounds import NEW
from perfvcs.profile.naming import labelled

# the share of the effect by which the auxiliary version may miss the level, whatever delta is
ENOUGH_SHARE = 0.2
EXACT_SHARE = 0.05  # the same of exact values, where delta is less
SMALLEST_SHARE = 0.1  # a smaller share of the effect is not a contribution
# the share of a verdict's effect from which on an exact metric shows the same difference
SHOWN_SHARE = 0.25
LEVEL = 0.95  # of the intervals
# what is taken back besides a function where nothing less works
WHOLE_FILE = "with the whole file"

ProofWord = Literal["proved", "contributes", "not proved", "open"]
FunctionVerdict = Literal[
    "proved",
    "contributes",
    "not proved",
    "suspected",
    "same counts",
    "not seen",
    "not the code",
    "no difference",
]
NO_FUNCTION: tuple[FunctionVerdict, ...] = (
    "same counts",
    "not seen",
    "not the code",
    "no difference",
)  # name none


class VersionValues(msgspec.Struct, frozen=True):
    """Values of the versions a, b and auxiliary, one per execution; of a deterministic metric one
    is enough.
    """

    a: list[float]
    b: list[float]
    auxiliary: list[float] = []

    @property
    def exact(self) -> bool:
        """Whether there is nothing to average."""
        return len(self.a) == 1


class Experiment(msgspec.Struct, frozen=True):
    """The outcome: ``share`` of the effect that is gone without the change, with its interval, and
    the verdict.

    ``open``: more executions would decide it.
    """

    word: ProofWord
    share: float
    low: float
    high: float


class RelativeEffect(msgspec.Struct, frozen=True):
    """The relative difference of two versions, and its interval; ``real``: it is neither chance nor
    below delta.
    """

    value: float
    low: float
    high: float
    real: bool


class _MeanInterval(NamedTuple):
    mean: float
    low: float
    high: float


def effect(a: Sequence[float], b: Sequence[float], delta: float, *, exact: bool) -> RelativeEffect:
    """The difference of b from a, relative to a; values of one place in both lists are of one
    block.

    >>> effect([100], [150], 0.01, exact=True)
    RelativeEffect(value=0.5, low=0.5, high=0.5, real=True)
    >>> effect([0], [0], 0.0, exact=True).real, effect([0], [64], 0.0, exact=True).real
    (False, True)
    """
    shares = list(map(_difference, a, b))
    value, low, high = _interval(shares, exact=exact)
    return RelativeEffect(value, low, high, abs(value) >= delta and (low > 0 or high < 0))


def _difference(before: float, after: float) -> float:
    """The difference as a share of ``before``; of nothing, such as the memory of a program that
    allocated none, that of `perf check` for what has no ratio.
    """
    if before:
        return after / before - 1
    return NEW if after else 0.0


def judge(levels: VersionValues, delta: float) -> Experiment:
    """Whether the version without the change has the level of a.

    ``proved``: it has, within ``delta`` and within a fifth of the effect; of exact values a
    twentieth of the effect is enough, as it would not be a contribution. ``contributes``: a
    part of the effect, or more than all of it, is gone. An interval that allows both is ``open``,
    unless values are exact.

    >>> judge(VersionValues([100], [112], [100.1]), 0.01).word
    'proved'
    >>> judge(VersionValues([100], [200], [104]), 0.01).word
    'proved'
    >>> judge(VersionValues([100], [112], [106]), 0.01).word
    'contributes'
    >>> judge(VersionValues([100], [112], [112]), 0.01).word
    'not proved'
    >>> judge(VersionValues([0], [64], [0]), 0.01).word
    'proved'
    """
    whole = sum(map(_difference, levels.a, levels.b)) / len(levels.a)
    rest, low, high = _interval(
        list(map(_difference, levels.a, levels.auxiliary)), exact=levels.exact
    )
    if not whole:
        return Experiment("not proved", 0.0, 0.0, 0.0)
    shares = sorted((1 - low / whole, 1 - high / whole))
    share = 1 - rest / whole
    near = max(min(delta / abs(whole), ENOUGH_SHARE), EXACT_SHARE) if delta else ENOUGH_SHARE
    word = _exact_word(share, near) if levels.exact else _word(*shares)
    return Experiment(word, share, *shares)


def _exact_word(share: float, near: float) -> ProofWord:
    """The word for a share without error; from 1 it may be as far as ``near``."""
    if abs(1 - share) <= near:
        return "proved"
    return "contributes" if share >= SMALLEST_SHARE else "not proved"


def _word(low: float, high: float) -> ProofWord:
    if low >= 1 - ENOUGH_SHARE and high <= 1 + ENOUGH_SHARE:
        return "proved"
    if high < SMALLEST_SHARE:
        return "not proved"
    is_apart = high < 1 - ENOUGH_SHARE or low > 1 + ENOUGH_SHARE
    return "contributes" if low >= SMALLEST_SHARE and is_apart else "open"


def _interval(values: Sequence[float], *, exact: bool) -> _MeanInterval:
    """The mean of values, and the interval that holds it by Student's t."""
    mean = sum(values) / len(values)
    if exact:
        return _MeanInterval(mean, mean, mean)
    if len(values) < 2:
        return _MeanInterval(mean, float("-inf"), float("inf"))
    from statistics import stdev

    from scipy.special import stdtrit

    half = float(stdtrit(len(values) - 1, (1 + LEVEL) / 2)) * stdev(values) / len(values) ** 0.5
    return _MeanInterval(mean, mean - half, mean + half)


class Lines(msgspec.Struct, frozen=True):
    """A hunk: lines of the old and the new file (first line and how many), what was there and what
    is there now.
    """

    path: str
    old: tuple[int, int]
    new: tuple[int, int]
    removed: list[str] = []
    added: list[str] = []

    @property
    def place(self) -> str:
        """File and lines, such as ``sort.py:10-12``."""
        first, count = self.new
        return f"{self.path}:{max(first, 1)}" + (f"-{first + count - 1}" if count > 1 else "")


class ChangeKind(msgspec.Struct, frozen=True):
    """A kind of change and the lines of the new file that show it (of the old one where nothing is
    left).
    """

    name: str
    lines: list[int] = []
    says: str = ""


class SuspectFunction(msgspec.Struct, frozen=True, kw_only=True):
    """A changed function, or lines: shares of what the old version costs, its calls on both sides,
    its hunks.

    ``is_hidden``: nothing here would show whether it runs.
    """

    name: str
    path: str
    score: float
    own: float = 0.0
    led: float = 0.0
    dearer: float = 0.0
    oftener: float = 0.0
    callee: str = ""
    through: str = ""
    reached: bool = False
    is_hidden: bool = False
    calls: tuple[float, float] = (0.0, 0.0)
    hunks: list[Lines] = []
    kinds: list[ChangeKind] = []


class AuxiliaryTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One auxiliary version: the new one without the hunks of ``name``, its level, and what that
    proves.
    """

    name: str
    path: str
    besides: str = ""
    commit: str = ""
    level: float | None = None
    word: ProofWord
    share: float | None = None
    low: float | None = None
    high: float | None = None
    executions: int = 0
    reason: str = ""

    @property
    def shows(self) -> bool:
        """Whether it shows that the change is a cause."""
        return self.word in ("proved", "contributes")

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """The greater, the more it says of its function: of a whole file, less than of the function
        alone.
        """
        return not self.besides.startswith(WHOLE_FILE), self.word == "proved", self.share or 0.0


def best(trials: Iterable[AuxiliaryTrial]) -> AuxiliaryTrial | None:
    """The trial that says most of a cause; None where none shows one."""
    return max(
        (trial for trial in trials if trial.shows), key=lambda trial: trial.rank, default=None
    )


class Checked(msgspec.Struct, frozen=True):
    """What the newest verdict on the two versions says of the benchmark: the ``word``, the effect
    by a ``metric`` in ``scale`` with its interval, and both levels; ``in_turns``: measured so.
    """

    metric: str
    scale: str
    word: str
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    baseline: float | None = None
    target: float | None = None
    in_turns: bool = False

    def agrees(self, value: float) -> bool:
        """Whether an exact effect may be the same difference: it has its sign, and at least a
        quarter of what the interval leaves.

        >>> checked = Checked("cpu", "s", "degradation", 0.4, 0.32, 0.48)
        >>> checked.agrees(0.1), checked.agrees(0.02), checked.agrees(-0.4)
        (True, False, False)
        """
        if self.effect is None:
            return True
        bounds = (self.effect, self.low, self.high)
        nearest = min(abs(bound) for bound in bounds if bound is not None)
        return value * self.effect > 0 and abs(value) >= SHOWN_SHARE * nearest


class Count(msgspec.Struct, frozen=True):
    """What one execution of each version counted by an exact metric, and of how many ``functions``
    that is known; of those, how many are ``differing``.

    ``whole``: of the whole program, though a unit of it was asked for.
    """

    metric: str
    a: float
    b: float
    functions: int = 0
    differing: int = 0
    whole: bool = False

    @property
    def effect(self) -> float:
        """The relative difference."""
        return _difference(self.a, self.b)


class Node(msgspec.Struct, frozen=True, array_like=True):
    """A node of both call trees: name, parent, cost with all below it and calls of each side."""

    name: str
    parent: int
    a: float
    b: float
    calls_a: float
    calls_b: float


class Blame(msgspec.Struct, frozen=True, kw_only=True):
    """The document of `perf blame`; ``effect`` is b/a - 1 by ``metric`` (in ``scale``), with its
    interval where the metric is not exact.

    ``unit`` is a part of the job, empty: the whole program. ``counts``: what exact metrics counted.
    ``elsewhere``: what differs besides the code, a line each. ``others``: files that differ and are
    not read as source, in words. ``moved``: the function that moved most, changed or not.
    ``dependencies``: the old version with the new one's. ``tree``: the heaviest nodes of both call
    trees in ``measure``.
    """

    format: str = "perfvcs-blame/1"
    baseline: str
    target: str
    job: str
    unit: str = ""
    size: float | None = None
    metric: str
    scale: str = ""
    a: float
    b: float
    effect: float
    low: float
    high: float
    delta: float
    verdict: FunctionVerdict
    checked: Checked | None = None
    counts: list[Count] = []
    suspects: list[SuspectFunction] = []
    trials: list[AuxiliaryTrial] = []
    dependencies: AuxiliaryTrial | None = None
    elsewhere: list[str] = []
    others: str = ""
    notes: list[str] = []
    measure: str = ""
    moved: str = ""
    tree: list[Node] = []
    changed: int = 0
    executions: int = 0
    seconds: float = 0.0
    made: str = ""

    @property
    def benchmark(self) -> str:
        """What was blamed, for people."""
        return labelled(self.job, self.unit, self.size)

    @property
    def tried(self) -> list[AuxiliaryTrial]:
        """All trials: of the dependencies, and of functions."""
        return [*([self.dependencies] if self.dependencies else []), *self.trials]

    @property
    def proved(self) -> AuxiliaryTrial | None:
        """The trial that proved or showed most: of a function, or of the dependencies where the
        code is not blamed.
        """
        trials = self.tried if self.verdict == "not the code" else self.trials
        return best(trials)

    @property
    def contributors(self) -> list[tuple[SuspectFunction, AuxiliaryTrial]]:
        """The functions besides the cause that were shown to contribute, the largest share
        first.
        """
        first, suspects = self.cause, {(one.path, one.name): one for one in self.suspects}
        shown = [trial for trial in self.trials if trial.shows and self.proved in self.trials]
        pairs = [(suspects.get((trial.path, trial.name)), trial) for trial in shown]
        others = [(one, trial) for one, trial in pairs if one is not None and one is not first]
        return sorted(others, key=lambda pair: pair[1].rank, reverse=True)

    @property
    def cause(self) -> SuspectFunction | None:
        """The function that is blamed: the one that was proved, else the most suspect; None where
        there is none.
        """
        if self.verdict in NO_FUNCTION:
            return None
        if trial := self.proved:
            return next(
                (
                    suspect
                    for suspect in self.suspects
                    if (suspect.path, suspect.name) == (trial.path, trial.name)
                ),
                None,
            )
        return self.suspects[0] if self.suspects and self.suspects[0].score > 0 else None
