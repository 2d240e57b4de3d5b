"""The steps of series as they were computed, so that each series is looked at once; a file of its own that can be deleted at any time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from perfvcs.index.database import Database
from perfvcs.statistics.changepoints import steps
from perfvcs.statistics.changepoints.steps import Step
from perfvcs.twin import shared

if TYPE_CHECKING:
    from array import array
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

VERSION = 2
SCHEMA = "CREATE TABLE findings (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, steps BLOB NOT NULL)"
MOST = 50_000  # series that are kept; the oldest make room


class Found(NamedTuple):
    """A step with the ends of the 99 % interval of its effect, which take numpy to compute."""

    step: Step
    low: float
    high: float


class Findings:
    """Steps by what they were computed from: the values of the series and the version of the statistics."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, SCHEMA, VERSION)

    def steps(self, series: Sequence[array[float] | NDArray[np.float64]]) -> list[list[Found]]:
        """The steps of each series of finite values; only those that are not known yet are computed, and then kept."""
        keys = [_key(values.tobytes()) for values in series]
        known = self._database.attempt(lambda: self._known(keys))
        new = {key: values for key, values in zip(keys, series, strict=True) if key not in known}
        if new:
            computed = _computed(new)
            self._database.attempt(lambda: self._keep(computed))
            known |= computed
        return [known[key] for key in keys]

    def _known(self, keys: Sequence[str]) -> dict[str, list[Found]]:
        decode = msgspec.msgpack.Decoder(list[Found]).decode
        sql = "SELECT key, steps FROM findings WHERE key IN (SELECT value FROM json_each(?))"
        rows = self._database.connection.execute(sql, (msgspec.json.encode(keys).decode(),))
        return {key: decode(found) for key, found in rows}

    def _keep(self, new: dict[str, list[Found]]) -> None:
        rows = [(key, msgspec.msgpack.encode(found)) for key, found in new.items()]
        with self._database.transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO findings (key, steps) VALUES (?, ?)", rows)
            connection.execute("DELETE FROM findings WHERE number <= (SELECT max(number) FROM findings) - ?", (MOST,))

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def _computed(series: dict[str, array[float] | NDArray[np.float64]]) -> dict[str, list[Found]]:
    found = dict(zip(series, shared(steps.steps, list(series.values())), strict=True))
    ends = iter(
        steps.intervals([step for one in found.values() for step in one])
    )  # together: each call costs as much as a hundred steps
    return {key: [Found(step, *next(ends)) for step in one] for key, one in found.items()}


def _key(values: bytes) -> str:
    from hashlib import blake2b

    return blake2b(values, digest_size=16, person=f"steps {steps.VERSION}".encode()).hexdigest()
