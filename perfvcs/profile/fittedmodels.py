"""What postprocessors computed of a unit's metric: the entries of a profile's ``models``, as
docs/format.md specifies them.

Each kind is tagged with its postprocessor. None stands for what is not defined; a field that is
``UNSET`` is not written.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

Ends = tuple[float, float]


class ModelEntry(msgspec.Struct, frozen=True, tag_field="postprocessor"):
    """What the entries of all kinds have."""

    uid: str
    metric: str

    @property
    def postprocessor(self) -> str:
        """The name of the postprocessor that made it."""
        return str(self.__struct_config__.tag)


class SizedEntry(ModelEntry, frozen=True):
    """What is over sizes, or over another metric that ``by`` names."""

    by: str


class FitStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was best with so many rows."""

    rows: int
    model: str
    r2: float | None


class RegressionEntry(SizedEntry, frozen=True, kw_only=True, tag="regression"):
    """One model; ``model`` is None where none could be fitted.

    What follows ``best`` is said of the best one alone.
    """

    strategy: str
    fit: str | UnsetType = UNSET  # the first versions had none
    model: str | None
    order: str | None
    formula: str | None
    coefficients: list[float]
    errors: list[float | None]
    r2: float | None
    log_r2: float | UnsetType | None = UNSET
    adjusted_r2: float | None
    aicc: float | None
    x: Ends
    dropped: int | UnsetType = UNSET
    rows: int
    best: bool
    omitted: dict[str, str] | UnsetType = UNSET
    zeros: int | UnsetType = UNSET
    far: int | UnsetType = UNSET
    steps: list[FitStep] | UnsetType = UNSET


class CurveEntry(SizedEntry, frozen=True, kw_only=True):
    """A smooth curve; ``points`` are its x, rising, and its y."""

    x: Ends
    rows: int
    sizes: int
    r2: float
    points: tuple[list[float], list[float]]


class MovingAverageEntry(CurveEntry, frozen=True, tag="moving-average"):
    """``window`` is in rows; an exponential average has ``alpha`` instead."""

    kind: str
    window: int | UnsetType = UNSET
    alpha: float | UnsetType = UNSET


class KernelEntry(CurveEntry, frozen=True, tag="kernel-regression"):
    """``bandwidth`` is in the unit of x."""

    estimate: str
    bandwidth: float
    bandwidth_by: str


class LowessEntry(CurveEntry, frozen=True, kw_only=True, tag="lowess"):
    """``band`` is the lower and the upper end at each x of ``points``, with ``confidence``; None
    where it was not drawn.
    """

    share: float
    robust: int
    confidence: float
    band: tuple[list[float], list[float]] | None


class RegressogramEntry(CurveEntry, frozen=True, tag="regressogram"):
    """The curve is level about each point."""

    statistic: str
    buckets: int


class BootstrapEntry(ModelEntry, frozen=True, kw_only=True, tag="bootstrap"):
    """The mean of a unit at one size, with its interval; ``within`` and ``between`` executions are
    variances.
    """

    size: float | None
    rows: int
    executions: int
    draws: int
    share: float
    seed: int
    confidence: float
    mean: float | None
    within: float | None
    between: float | None
    interval: Ends | None


KnownEntry = (
    RegressionEntry
    | MovingAverageEntry
    | KernelEntry
    | LowessEntry
    | RegressogramEntry
    | BootstrapEntry
)


class OpenEntry(msgspec.Struct, frozen=True):
    """What another postprocessor made, or another version: kept as it is."""

    fields: dict[str, Any]

    @property
    def postprocessor(self) -> object:
        """The name of the postprocessor, where it is given."""
        return self.fields.get("postprocessor")

    @property
    def uid(self) -> object:
        """The unit, where it is given."""
        return self.fields.get("uid")

    @property
    def metric(self) -> object:
        """The metric, where it is given."""
        return self.fields.get("metric")

    @property
    def known(self) -> KnownEntry | None:
        """What can be read of it, without the fields that this version does not know; None where it
        lacks one that is needed.
        """
        try:
            entry: KnownEntry = msgspec.convert(self.fields, KnownEntry)
        except msgspec.ValidationError:
            return None
        return entry


AnyEntry = KnownEntry | OpenEntry


def read(written: Iterable[dict[str, Any]]) -> list[AnyEntry]:
    """The entries of a document; those with a field that would be lost stay open."""
    return [_read(OpenEntry(fields)) for fields in written]


def _read(entry: OpenEntry) -> AnyEntry:
    closed = entry.known
    return entry if closed is None or as_written(closed).keys() != entry.fields.keys() else closed


def as_written(entry: AnyEntry) -> dict[str, Any]:
    """The fields of an entry, as a document has them."""
    if isinstance(entry, OpenEntry):
        return entry.fields
    fields: dict[str, Any] = msgspec.to_builtins(entry)
    return fields


def over_sizes(entry: AnyEntry) -> bool:
    """Whether it is over sizes, and not over another metric or over nothing."""
    return as_written(entry).get("by") == "size"
