"""What `perf blame` found: a document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from perfvcs.locate.blame.proof import ProofWord, difference
from perfvcs.profile.naming import labelled

# the share of a verdict's effect from which on an exact metric shows the same difference
SHOWN_SHARE = 0.25
# what is taken back besides a function where nothing less works
WHOLE_FILE = "with the whole file"

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
        return difference(self.a, self.b)


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
