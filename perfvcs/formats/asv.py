"""Results of asv (https://asv.readthedocs.io), of both versions of its files, as
docs/exchange/asv.md describes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from math import prod
from typing import Any, Literal

import msgspec

from perfvcs.formats._asvresults import (
    KIND_METRICS,
    MACHINE_NAMES,
    TRACKED,
    VERSION_DIGITS,
    CommitResults,
    files,
)
from perfvcs.formats._readings import (
    COMMIT_ID,
    Marked,
    Reading,
    ReadingValue,
    machine,
    profile_of,
    shaped,
    sized,
    typed,
)
from perfvcs.profile import Environment, Profile
from perfvcs.profile.validity import Malformed

OUR_NAMES = {theirs: ours for theirs, ours in MACHINE_NAMES.items() if theirs != "os"}
LATEST_MILLISECOND = 253402300799000  # ms: the end of the year 9999


class _Results(msgspec.Struct):
    """A file; of version 1 it has no ``result_columns``."""

    commit_hash: str
    results: dict[str, Any]
    params: dict[str, Any] = {}
    requirements: dict[str, Any] = {}
    env_vars: dict[str, Any] = {}
    result_columns: list[str] | None = None


class _Result(msgspec.Struct):
    """One benchmark: a value, and maybe samples, of each combination of its parameters; None or no
    value where it failed.
    """

    result: list[ReadingValue] | ReadingValue = None
    params: list[list[str]] = []
    version: str | None = None
    started_at: int | None = None
    samples: list[list[ReadingValue] | None] | None = None


@dataclass(frozen=True)
class Asv(Marked):
    """One file of asv's ``results/MACHINE/``: all benchmarks of one commit in one environment.

    ``versions``: whether a benchmark whose code asv has seen change is another one from then on.
    """

    suffixes = (".json",)
    mark = re.compile(rb'"commit_hash"\s*:')

    versions: Literal["apart", "together"] = "apart"

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - file names there hold commit and environment
        """The profile; raises NoResults where everything failed, Malformed with the place."""
        file = shaped(typed(document, Any), _Results, "$")
        if not COMMIT_ID.fullmatch(file.commit_hash):
            raise Malformed("$.commit_hash is not a full commit id")
        results = {
            name: _result(name, value, file.result_columns) for name, value in file.results.items()
        }
        readings = [
            reading for name, result in results.items() for reading in self._readings(name, result)
        ]
        moments = sorted(
            _moment(result.started_at)
            for result in results.values()
            if result.started_at is not None and 0 < result.started_at < LATEST_MILLISECOND
        )
        return profile_of(
            document,
            "asv",
            readings,
            dict([*KIND_METRICS.values(), TRACKED]),
            commit=file.commit_hash,
            machine=_environment(file),
            started=next(iter(moments), ""),
            ended=next(reversed(moments), ""),
        )

    def encode(self, profile: Profile) -> bytes:
        """A file of version 2 with the samples of what asv has a word for; raises Malformed where
        there is nothing of that.
        """

        return CommitResults.of([profile]).encode()

    def folder(self, profiles: Iterable[Profile]) -> Iterator[tuple[str, bytes]]:
        """The files of ``results/`` by their paths; profiles of a commit follow each other.

        Raises Malformed as ``encode`` does.
        """

        return files(profiles)

    def _readings(self, name: str, result: _Result) -> Iterator[Reading]:
        """What one benchmark has, unit by unit."""
        values = result.result if isinstance(result.result, list) else [result.result]
        if values == [None]:  # everything failed, whatever the parameters
            yield Reading(name, {})
            return
        if prod(map(len, result.params)) != len(values):
            raise Malformed(
                f"$.results.{name[:200]} has {len(values)} values, which is not one for each"
                " combination of its parameters"
            )
        metric, _ = KIND_METRICS.get(re.split("_", name.rpartition(".")[2])[0], TRACKED)
        unit = (
            f"{name} @{result.version[:VERSION_DIGITS]}"
            if self.versions == "apart" and result.version
            else name
        )
        samples = result.samples or []
        for number, (given, value) in enumerate(zip(product(*result.params), values, strict=True)):
            uid, size = sized(unit, [("", text) for text in given])
            taken = (samples[number] if number < len(samples) else None) or [value]
            if known_samples := [sample for sample in taken if sample is not None]:
                yield Reading(uid, {metric: known_samples}, size)


def _result(name: str, value: Any, columns: list[str] | None) -> _Result:
    """One benchmark of either version of the files."""
    if columns is not None and isinstance(value, list):
        value = {
            key: entry for key, entry in zip(columns, value, strict=False) if entry is not None
        }
    elif not isinstance(value, dict):
        value = {"result": value}
    return shaped(
        {key: entry for key, entry in value.items() if entry is not None},
        _Result,
        f"$.results.{name[:200]}",
    )


def _environment(results: _Results) -> Environment:
    """The machine and what was installed, which asv keeps apart; asv's name of a machine is by
    default the host's.
    """
    params = {OUR_NAMES.get(name, name): value for name, value in results.params.items()}
    if system := str(params.pop("os", "")):
        params["system"], _, params["kernel"] = system.partition(" ")
    return machine(params | results.requirements | results.env_vars)


def _moment(milliseconds: int) -> str:
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"
