"""The steps of series as they were computed, so that each series is looked at once; a file of its own that can be deleted at any time."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from perfvcs.index.database import Database

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.statistics.steps import Step

VERSION = 1
SCHEMA = "CREATE TABLE findings (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, steps BLOB NOT NULL)"
MOST = 50_000  # series that are kept; the oldest make room


class Findings:
    """Steps by what they were computed from: the values of the series and the version of the statistics."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, SCHEMA, VERSION)

    def steps(self, series: Sequence[NDArray[np.float64]]) -> list[list[Step]]:
        """The steps of each series of finite values; only those that are not known yet are computed, and then kept."""
        from perfvcs.statistics.steps import steps

        keys = [_key(values) for values in series]
        known = self._database.attempt(lambda: self._known(keys))
        new: dict[str, list[Step]] = {}
        for key, values in zip(keys, series, strict=True):
            if key not in known and key not in new:
                new[key] = steps(values)
        if new:
            self._database.attempt(lambda: self._keep(new))
        return [(known if key in known else new)[key] for key in keys]

    def _known(self, keys: Sequence[str]) -> dict[str, list[Step]]:
        from perfvcs.statistics.steps import Step

        decode = msgspec.msgpack.Decoder(list[Step]).decode
        sql = "SELECT key, steps FROM findings WHERE key IN (SELECT value FROM json_each(?))"
        rows = self._database.connection.execute(sql, (msgspec.json.encode(keys).decode(),))
        return {key: decode(found) for key, found in rows}

    def _keep(self, new: dict[str, list[Step]]) -> None:
        rows = [(key, msgspec.msgpack.encode(found)) for key, found in new.items()]
        with self._database.transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO findings (key, steps) VALUES (?, ?)", rows)
            connection.execute("DELETE FROM findings WHERE number <= (SELECT max(number) FROM findings) - ?", (MOST,))

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def _key(values: NDArray[np.float64]) -> str:
    from perfvcs.statistics.steps import VERSION as STATISTICS

    return blake2b(values.tobytes(), digest_size=16, person=f"steps {STATISTICS}".encode()).hexdigest()
