"""One profile: what one job measured on one commit, as docs/format.md specifies it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import structs

from perfvcs.profile.validity import INTEGER_COLUMNS, MAX_HEADER, Malformed, check, check_sizes
from perfvcs.system.numeric import Floats, np

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from perfvcs.profile.fittedmodels import AnyEntry

FORMAT = "perfvcs-profile/1"
TOOL = "perfvcs"  # with which the tool of our own profiles begins
# notes of an environment on an execution before those that are measured
FIRST_OUTPUT, FIRST_WALL = "output of warm-up", "wall time of warm-up"
TRACED_WALL = "wall time of warm-up, traced"
FINE, DELAYED, REPEATED = 0, 1, 2
# columns <metric>.<word> that postprocessors add: no measurements
DERIVED = ("normalized", "cluster", "outlier")

ParameterValue = str | int | float | bool | None


class Metric(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Unit and direction of one metric; ``better="none"`` is recorded but never judged."""

    unit: str
    better: Literal["lower", "higher", "none"] = "lower"
    kind: Literal["sampled", "deterministic"] = "sampled"


def is_derived(metric: str, metrics: Container[str]) -> bool:
    """Whether a metric is what a postprocessor says of the rows, by its name: a mark on another of
    the ``metrics`` or the sizes.
    """
    of, _, word = metric.rpartition(".")
    return word in DERIVED and (of in metrics or of == "size")


class Job(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """What was run. Only profiles whose jobs have the same ``key`` are compared."""

    name: str
    collector: str
    cmd: str
    args: str = ""
    workload: str = ""
    params: dict[str, ParameterValue] = {}
    options: dict[str, Any] = {}
    engine: str = ""
    source: dict[str, str] = {}

    @cached_property
    def key(self) -> str:
        """The series key: SHA-256 of the canonical form, 64 hex digits."""
        import hashlib

        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()

    @cached_property
    def label(self) -> str:
        """The benchmark's name for people: name, arguments, workload and parameters, without what
        merely tags along.
        """
        bound = [
            f"{name}={value}" for name, value in self.params.items() if str(value) != self.workload
        ]
        return " ".join(filter(None, (self.name, self.args, self.workload, *bound)))


class Collected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When, by which tool, and in which session; times are UTC, ISO 8601."""

    session: str
    started: str
    ended: str
    tool: str

    @property
    def is_foreign(self) -> bool:
        """Whether another program measured it, so that this one cannot measure it again."""
        return not self.tool.startswith(TOOL)


class Environment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The machine and toolchain: ``fields`` decide comparability, ``notes`` do not."""

    fields: dict[str, str] = {}
    fingerprint: str = ""
    notes: dict[str, str] = {}
    warnings: list[str] = []


class Product(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program that was measured beside the project: its ``name``, and the ``command`` or the
    ``folder`` it was taken from.
    """

    name: str
    command: str = ""
    folder: str = ""


class Design(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the measurement was repeated; ``version`` is this profile's place in ``versions``.

    ``failed``: executions that failed and were repeated. ``product``: what was measured, where that
    is not the commit itself.
    """

    binaries: int = 1
    executions: int = 1
    warmup: int = 0
    order: Literal["interleaved", "sequential"] = "sequential"
    seed: int = 0
    version: int = 0
    versions: list[str] = []
    failed: int = 0
    product: Product | None = None


class Stacks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The shared stack table: each stack is a list of indices into ``frames``, root first."""

    frames: list[str]
    stacks: list[list[int]]


class Reached(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which functions ran for each unit, as indices into ``functions``; the empty name has those
    that ran for none of them.

    A function is ``file:qualified name``, its file below the project's root.
    """

    functions: list[str]
    units: dict[str, list[int]]


class Turns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The turn of each execution in its block, as columns: its number, its ``place`` (0 = first),
    and the ``seed`` of all in the block.
    """

    execution: list[int]
    place: list[int]
    seed: list[int]


class Results(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What each execution gave beside its numbers, as columns: its number, the digest of its
    ``output``, and the names of the processes that it ``left`` running; empty where there is none.

    ``same_output``: the job promises that the output stays the same.
    """

    execution: list[int]
    output: list[str]
    left: list[str]
    same_output: bool = False


class Processed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One postprocessor that was run, with its parameters."""

    name: str
    params: dict[str, Any] = {}


@dataclass
class Resources:
    """The rows of a profile as columns of equal length; an optional column that is None holds its
    default everywhere.
    """

    names: list[str] = field(default_factory=list)
    uid: list[int] = field(default_factory=list)
    execution: list[int] = field(default_factory=list)
    binary: list[int] | None = None
    iteration: list[int] | None = None
    mark: list[int] | None = None
    trace: list[int] | None = None
    size: list[float | None] | None = None
    metrics: dict[str, list[float | None]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.uid)

    def integers(self, name: str) -> Sequence[int]:
        """An integer column by name, its default filled in (trace: -1, others: 0)."""
        column: list[int] | None = getattr(self, name)
        if column is not None:
            return column
        default = -1 if name == "trace" else 0
        return [default] * len(self)

    def array(self, metric: str) -> Floats:
        """A metric's (or the size) column as float64 of shape (rows,), NaN where a row has none."""
        column = self.size if metric == "size" else self.metrics[metric]
        return np.array([] if column is None else column, dtype=np.float64)


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """One profile in memory; ``encode`` and ``decode`` move it to and from its JSON document."""

    commit: str
    job: Job
    collected: Collected
    metrics: dict[str, Metric]
    resources: Resources
    environment: Environment = Environment()
    design: Design = Design()
    dirty: str | None = None
    stacks: Stacks | None = None
    reached: Reached | None = None
    turns: Turns | None = None
    results: Results | None = None
    models: list[AnyEntry] = []
    postprocessors: list[Processed] = []
    origin: str | None = None

    @property
    def measured(self) -> str:
        """What was measured, for people: the commit, with a + for changes on top, or the
        product.
        """
        product = self.design.product
        if product:
            return product.name
        return f"{self.commit}+" if self.dirty else self.commit

    def encode(self) -> bytes:
        """The JSON document, checked: what is written can be read.

        Raises Malformed where a column does not fit the others.
        """
        rows = self.resources
        columns: dict[str, Any] = {"uid": {"names": rows.names, "codes": rows.uid}}
        columns |= {
            name: getattr(rows, name)
            for name in INTEGER_COLUMNS
            if _worth_writing(name, getattr(rows, name))
        }
        if rows.size is not None:
            columns["size"] = rows.size
        columns |= rows.metrics
        document: dict[str, Any] = {
            "format": FORMAT,
            "commit": self.commit,
            "dirty": self.dirty,
            "job": self.job,
        }
        document |= {
            name: getattr(self, name) for name in ("collected", "environment", "design", "metrics")
        }
        # profiles that were stored before these fields existed stay as they are
        absent = [name for name in ("failed", "product") if not getattr(self.design, name)]
        document["design"] = {
            name: value for name, value in structs.asdict(self.design).items() if name not in absent
        }
        document["resources"] = columns
        for name in ("stacks", "reached", "turns", "results"):
            if (part := getattr(self, name)) is not None:
                document[name] = part
        document |= {"models": _written(self.models), "postprocessors": self.postprocessors}
        if self.origin is not None:  # what was stored before there were origins stays as it is
            document["origin"] = self.origin
        try:
            encoded = msgspec.json.encode(document)
        except UnicodeEncodeError as error:
            raise Malformed(
                f"{error.object[:200]!a} is not valid Unicode: a name or argument has bytes that"
                " are not UTF-8"
            ) from None
        check(self)
        if len(encoded) > MAX_HEADER:
            check_sizes(encoded)
        return encoded


def _written(models: Sequence[AnyEntry]) -> list[object]:
    """What is encoded of each entry."""
    if not models:
        return []
    from perfvcs.profile.fittedmodels import OpenEntry

    return [entry.fields if isinstance(entry, OpenEntry) else entry for entry in models]


def _worth_writing(name: str, column: list[int] | None) -> bool:
    return column is not None and (name in ("execution", "trace") or any(column))
