"""What `perf blame` found: a document, kept per pair of revisions and benchmark."""

from __future__ import annotations

from typing import Literal

import msgspec

from perfvcs.locate.proof import ProofWord

FORMAT = "perfvcs-blame/1"
FunctionVerdict = Literal["proved", "contributes", "not proved", "suspected", "not the code", "no difference"]


class Lines(msgspec.Struct, frozen=True):
    """A hunk: lines of the old and the new file (first line and how many), what was there and what is there now."""

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
    """A kind of change and the lines of the new file that show it (of the old one where nothing is left)."""

    name: str
    lines: list[int] = []
    says: str = ""


class SuspectFunction(msgspec.Struct, frozen=True, kw_only=True):
    """A changed function: shares of what the old version costs, its calls on both sides, its hunks."""

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
    calls: tuple[float, float] = (0.0, 0.0)
    hunks: list[Lines] = []
    kinds: list[ChangeKind] = []


class AuxiliaryTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One auxiliary version: the new one without the hunks of ``name``, its level, and what that proves."""

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


class Node(msgspec.Struct, frozen=True, array_like=True):
    """A node of both call trees: name, parent, cost with all below it and calls of each side."""

    name: str
    parent: int
    a: float
    b: float
    calls_a: float
    calls_b: float


class Blame(msgspec.Struct, frozen=True, kw_only=True):
    """All of it; ``effect`` is b/a - 1 by ``metric``, with its interval where the metric is not exact.

    ``elsewhere``: what differs besides the code, a line each. ``others``: files that differ and are not source, in words.
    ``dependencies``: the old version with the new one's. ``tree``: the heaviest nodes of both call trees in ``measure``.
    """

    format: str = FORMAT
    baseline: str
    target: str
    job: str
    metric: str
    a: float
    b: float
    effect: float
    low: float
    high: float
    delta: float
    verdict: FunctionVerdict
    suspects: list[SuspectFunction] = []
    trials: list[AuxiliaryTrial] = []
    dependencies: AuxiliaryTrial | None = None
    elsewhere: list[str] = []
    others: str = ""
    notes: list[str] = []
    measure: str = ""
    tree: list[Node] = []
    changed: int = 0
    executions: int = 0
    seconds: float = 0.0
    made: str = ""

    @property
    def tried(self) -> list[AuxiliaryTrial]:
        """All trials: of the dependencies, and of functions."""
        return [*([self.dependencies] if self.dependencies else []), *self.trials]

    @property
    def proved(self) -> AuxiliaryTrial | None:
        """The trial that proved or showed most: of a function, or of the dependencies where the code is not blamed."""
        trials = self.tried if self.verdict == "not the code" else self.trials
        done = [trial for trial in trials if trial.word in ("proved", "contributes")]
        return max(done, key=lambda trial: (trial.word == "proved", trial.share or 0.0), default=None)

    @property
    def cause(self) -> SuspectFunction | None:
        """The function that is blamed: the one that was proved, else the most suspect; None where none is."""
        if self.verdict in ("no difference", "not the code"):
            return None
        if trial := self.proved:
            return next((one for one in self.suspects if (one.path, one.name) == (trial.path, trial.name)), None)
        return self.suspects[0] if self.suspects and self.suspects[0].score > 0 else None
