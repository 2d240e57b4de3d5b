"""Results computed from series, so that each is computed once; a file of its own that can be
deleted at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from perfvcs.index.database import Database
from perfvcs.statistics.changepoints import horvath, judgement, steps
from perfvcs.statistics.changepoints.judgement import Judgement
from perfvcs.statistics.changepoints.steps import ChangePoint, Detector

if TYPE_CHECKING:
    from array import array


Kind = TypeVar("Kind")


FINDINGS_VERSION = 3
FINDINGS_SCHEMA = (
    "CREATE TABLE findings (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, found BLOB NOT"
    " NULL)"
)
MOST_RESULTS = 50_000  # results that are kept; the oldest make room


class Given(NamedTuple):
    """A series to be judged: its finite levels, the variance of each (NaN: unknown), and the places
    of the steps that are settled.
    """

    levels: array[float]
    variances: array[float]
    evidence: tuple[int, ...] = ()


class BoundedStep(NamedTuple):
    """A step with the ends of its 99 % interval."""

    step: ChangePoint
    low: float
    high: float


class Found(NamedTuple):
    """A judgement with the ends of the 99 % interval of each step, which take numpy to compute."""

    judgement: Judgement
    ends: list[tuple[float, float]]

    @property
    def steps(self) -> list[BoundedStep]:
        """The steps with the ends of their intervals."""
        return [
            BoundedStep(step, *ends)
            for step, ends in zip(self.judgement.steps, self.ends, strict=True)
        ]


class Findings:
    """Results by what they were computed from."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, FINDINGS_SCHEMA, FINDINGS_VERSION)

    def judged(
        self, series: Sequence[Given], *, detector: Detector = steps.BY_SERIES
    ) -> list[Found]:
        """The judgement of each series; unknown ones are computed, and then kept."""
        keys = [_key(course, detector) for course in series]
        stored = self.recall(keys, Found)
        new = {key: course for key, course in zip(keys, series, strict=True) if key not in stored}
        if new:
            computed = _computed(new, detector)
            self.keep(computed)
            stored |= computed
        return [stored[key] for key in keys]

    def recall(self, keys: Sequence[str], kind: type[Kind]) -> dict[str, Kind]:
        """The results stored under these keys; entries that are no ``kind`` are left out."""
        decode = msgspec.msgpack.Decoder(kind).decode
        sql = "SELECT key, found FROM findings WHERE key IN (SELECT value FROM json_each(?))"

        def stored() -> dict[str, Kind]:
            rows = self._database.connection.execute(sql, (msgspec.json.encode(keys).decode(),))
            return {key: decode(document) for key, document in rows}

        return self._database.attempt(stored)

    def keep(self, new: Mapping[str, object]) -> None:
        """Keep results under their keys."""
        rows = [(key, msgspec.msgpack.encode(result)) for key, result in new.items()]

        def insert() -> None:
            with self._database.transaction() as connection:
                connection.executemany(
                    "INSERT OR REPLACE INTO findings (key, found) VALUES (?, ?)", rows
                )
                connection.execute(
                    "DELETE FROM findings WHERE number <= (SELECT max(number) FROM findings) - ?",
                    (MOST_RESULTS,),
                )

        self._database.attempt(insert)

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def keyed(kind: str) -> Callable[..., str]:
    """Makes keys for results of a kind and version, of bytes that cannot run into one another."""
    from hashlib import blake2b

    begun = blake2b(kind.encode(), digest_size=16)

    def key(*parts: bytes) -> str:
        digest = begun.copy()
        for part in parts:
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
        return digest.hexdigest()

    return key


def _computed(series: dict[str, Given], detector: Detector) -> dict[str, Found]:
    given = list(series.values())
    if detector == steps.BY_HORVATH:
        judged = [horvath.judge(course.levels, course.evidence) for course in given]
    else:
        judged = judgement.judge_all(
            [course.levels for course in given],
            variances=[course.variances for course in given],
            evidence=[course.evidence for course in given],
        )
    judgements = dict(zip(series, judged, strict=True))
    # together: each call costs as much as a hundred steps
    ends = iter(steps.intervals([step for course in judgements.values() for step in course.steps]))
    return {
        key: Found(course, [next(ends) for _ in course.steps]) for key, course in judgements.items()
    }


def _key(given: Given, detector: Detector) -> str:
    places = b"".join(place.to_bytes(4, "little") for place in given.evidence)
    return keyed(f"judgement {steps.VERSION} by {detector}")(
        given.levels.tobytes(), given.variances.tobytes(), places
    )
