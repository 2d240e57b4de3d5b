"""The rows behind headers and summaries, for the methods that need more than a median per execution; opened on demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.profile import REPEATED, Profile
from perfvcs.units import in_base_units

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.summary import Header, Measured


@dataclass(frozen=True)
class UnitTable:
    """The rows of one unit in one profile, in their order; columns of equal length.

    ``size`` and the metrics are NaN where a row has none; units have no prefix. Rows whose execution was repeated are left out.
    """

    size: NDArray[np.float64]
    binary: NDArray[np.int64]
    execution: NDArray[np.int64]
    iteration: NDArray[np.int64]
    metrics: dict[str, NDArray[np.float64]]


class ProfileRows:
    """Opens profiles, each once, and hands out their rows unit by unit.

    ``given`` are profiles that are in memory, by the id of their ``Measured``; ``read`` gets the others from their headers. Where
    neither has it, its summaries serve as rows, one per execution.
    """

    def __init__(
        self, given: Mapping[int, Profile] | None = None, read: Callable[[Sequence[Header]], Sequence[Profile]] | None = None
    ) -> None:
        self._given = dict(given or {})
        self._read = read
        self._opened: dict[int, _Opened] = {}

    def prepare(self, wanted: Iterable[Measured]) -> None:
        """Read what will be asked for in one go."""
        missing = {id(one): one for one in wanted if id(one) not in self._given and one.header.path}
        if missing and self._read:
            profiles = self._read([one.header for one in missing.values()])
            self._given |= zip(missing, profiles, strict=True)

    def table(self, measured: Measured, uid: str) -> UnitTable:
        """The rows of a unit; none where the profile has no such unit."""
        return self._open(measured).unit(uid)

    def units(self, measured: Measured) -> list[str]:
        """The units of a profile, in its order."""
        return self._open(measured).units

    def _open(self, measured: Measured) -> _Opened:
        if id(measured) not in self._opened:
            self.prepare([measured])
            profile = self._given.get(id(measured))
            self._opened[id(measured)] = _Opened(profile) if profile else _Opened.summarised(measured)
        return self._opened[id(measured)]


class _Opened:
    """The columns of a profile as arrays, sorted by unit."""

    def __init__(self, profile: Profile) -> None:
        import numpy as np

        rows = in_base_units(profile).resources
        codes = np.array(rows.uid, dtype=np.int64)
        used = np.flatnonzero(np.array(rows.integers("mark"), dtype=np.int64) != REPEATED)
        self._order = used[np.argsort(codes[used], kind="stable")]
        self._codes = codes[self._order]
        self._numbers = {name: number for number, name in enumerate(rows.names)}
        self._columns = {name: np.array(rows.integers(name), dtype=np.int64) for name in ("binary", "execution", "iteration")}
        self._size = rows.array("size") if rows.size is not None else np.full(len(rows), np.nan)
        self._metrics = {name: rows.array(name) for name in rows.metrics}

    @classmethod
    def summarised(cls, measured: Measured) -> _Opened:
        """The summaries in place of rows: a row per execution and metric."""
        from perfvcs.profile import Resources

        rows = Resources(names=list(dict.fromkeys(found.uid for found in measured.summaries)), size=[], binary=[])
        rows.metrics = {name: [] for name in measured.header.metrics}
        numbers = {name: number for number, name in enumerate(rows.names)}
        assert rows.size is not None
        assert rows.binary is not None
        for found in measured.summaries:
            for (binary, execution), value in zip(found.places, found.medians, strict=True):
                rows.uid.append(numbers[found.uid])
                rows.execution.append(execution)
                rows.binary.append(binary)
                rows.size.append(found.size)
                for name, column in rows.metrics.items():
                    column.append(value if name == found.metric else None)
        header = measured.header
        return cls(
            Profile(commit=header.commit, job=header.job, collected=header.collected, metrics=header.metrics, resources=rows)
        )

    @property
    def units(self) -> list[str]:
        return list(self._numbers)

    def unit(self, uid: str) -> UnitTable:
        import numpy as np

        number = self._numbers.get(uid, -1)
        start, end = np.searchsorted(self._codes, [number, number + 1])
        chosen = self._order[start:end]
        binary, execution, iteration = (self._columns[name][chosen] for name in ("binary", "execution", "iteration"))
        return UnitTable(
            self._size[chosen], binary, execution, iteration, {name: column[chosen] for name, column in self._metrics.items()}
        )
