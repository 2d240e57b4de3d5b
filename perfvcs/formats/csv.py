"""Tables of comma, semicolon or tab separated values, as docs/exchange/csv.md describes them."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Literal

from perfvcs.errors import UsageError, nearest
from perfvcs.formats._foreign import UNKNOWN, bounded, collected, counted, grouped, numbered
from perfvcs.formats._metric import described, distinct, heading, metric
from perfvcs.formats._table import Parser, TextTable, integer, number
from perfvcs.profile import Design, Job, Metric, Profile, Resources
from perfvcs.profile.validity import Malformed
from perfvcs.system.numeric import np
from perfvcs.text.characters import armed, disarmed

GUESSES = {
    "uid": ("uid", "function", "benchmark", "test", "name", "command"),
    "size": ("size", "n", "length", "structure-unit-size"),
    "execution": ("execution", "run", "repetition"),
    "iteration": ("iteration", "measurement"),
    "binary": ("binary", "build"),
    "mark": ("mark",),
    "metric": ("metric",),
    "value": ("value", "amount"),
}
NUMBERED = ("execution", "iteration", "binary", "mark")
METRIC_COLUMNS = ("unit", "better", "kind")  # columns of a long table that describe its metrics


@dataclass(frozen=True)
class Csv:
    """A table with a row per measurement and a column per metric (wide), or a row per value (long:
    with ``metric`` and ``value``).

    Columns are known by their titles unless they are named here. ``name``: the job's. ``metrics``:
    the columns with values, all that are left where none is named; ``ignore``: those without
    meaning. ``unit``, ``better``, ``kind``: of a metric, by its title. ``delimiter``: one
    character. ``started``: when it was measured, ISO 8601. ``formulas``: whether the names of units
    that begin like a formula get an apostrophe when they are written, which reading takes away, or
    are kept as they are. Raises UsageError.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".csv", ".tsv")

    name: str = ""
    uid: str = ""
    size: str = ""
    execution: str = ""
    iteration: str = ""
    binary: str = ""
    mark: str = ""
    metric: str = ""
    value: str = ""
    metrics: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    unit: Mapping[str, str] = field(default_factory=dict)
    better: Mapping[str, str] = field(default_factory=dict)
    kind: Mapping[str, str] = field(default_factory=dict)
    delimiter: str = ""
    started: str = ""
    formulas: Literal["quote", "keep"] = "quote"

    def __post_init__(self) -> None:
        if len(self.delimiter) > 1 or self.delimiter in ('"', "\r", "\n", " "):
            raise UsageError(
                f"the delimiter {self.delimiter[:20]!r} is not one character such as ; or a tab"
            )
        try:
            datetime.fromisoformat(self.started or "2026-11-20")
        except ValueError:
            raise UsageError(
                f"started = {self.started[:40]!r} is not a time: write it like 2026-11-20T09:30:00Z"
            ) from None

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any text may be a table
        """By the file's suffix alone."""
        return name.lower().removesuffix(".gz").endswith(self.suffixes)

    def decode(self, document: bytes, stem: str = "") -> Profile:
        """The profile in a table; raises Malformed with line and column."""
        job = self.name or stem or "table"
        metrics, rows = _Reading(TextTable(bounded(document), self.delimiter), self).contents(job)
        return Profile(
            commit=UNKNOWN,
            job=Job(job, "import", "", engine="csv"),
            collected=collected(document, "csv", self.started),
            design=Design(executions=len(set(rows.execution))),
            metrics=metrics,
            resources=rows,
        )

    def encode(self, profile: Profile) -> bytes:
        """A wide table, which ``decode`` reads again with the same rows; stacks, models and the
        header are left out.
        """
        rows = profile.resources
        names = rows.names if self.formulas == "keep" else [*map(disarmed, rows.names)]
        columns: dict[str, list[Any]] = {"uid": [names[code] for code in rows.uid]}
        if rows.size is not None:
            columns["size"] = rows.size
        columns["execution"] = rows.execution
        columns |= {name: found for name in NUMBERED[1:] if any(found := getattr(rows, name) or [])}
        columns |= {
            heading(name, definition): rows.metrics[name]
            for name, definition in profile.metrics.items()
        }
        output = io.StringIO(newline="")
        # quotes every kind of line end
        writer = csv.writer(output, lineterminator="\r\n", delimiter=self.delimiter or ",")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        try:
            return output.getvalue().encode()
        except UnicodeEncodeError:
            raise Malformed(
                "a name has bytes that are not UTF-8, which a table cannot hold"
            ) from None


class _Reading:
    """What the columns of a table mean, and the rows that they make. Raises Malformed."""

    def __init__(self, table: TextTable, options: Csv) -> None:
        self.table, self.options = table, options
        read = [described(title) for title in table.titles]
        self.names = [name for name, _ in read]
        self.declared = {name: definition for name, definition in read if definition}
        for name, count in Counter(self.names).items():
            if count > 1:
                raise Malformed(f"line 1, the column `{name[:80]}` is there twice: rename one")
        self.roles = {role: self._column(role) for role in GUESSES}
        self.long = all(self.roles[role] is not None for role in ("metric", "value"))

    def contents(self, unit: str) -> tuple[dict[str, Metric], Resources]:
        """Metrics and rows; ``unit`` is the uid where no column says so."""
        used = {place for place in self.roles.values() if place is not None}
        descriptions = {
            name: place
            for place, name in enumerate(self.names)
            if self.long
            and name in METRIC_COLUMNS
            and name not in self.declared
            and place not in used
        }
        metrics = self._metrics(used | set(descriptions.values()))
        parsers: dict[int, Parser] = dict.fromkeys(descriptions.values(), str)
        for role, place in self.roles.items():
            if place is not None:
                parsers[place] = _parser(role)
        parsers |= dict.fromkeys(metrics.values(), number)
        values = dict(zip(parsers, self.table.read(parsers), strict=True))
        given = {role: values[place] for role, place in self.roles.items() if place is not None}
        count = len(next(iter(values.values())))
        if "uid" in given and self.options.formulas == "quote":
            armed_names = {text: armed(text) for text in set(given["uid"])}
            given["uid"] = [*map(armed_names.__getitem__, given["uid"])]
        given.setdefault("uid", [unit] * count)
        if self.long:
            described_by = {name: values[place] for name, place in descriptions.items()}
            return self._from_long(given, described_by)
        names = distinct(metrics)
        definitions = {names[column]: self._about(column) for column in metrics}
        columns = {names[column]: values[place] for column, place in metrics.items()}
        if "execution" not in given:
            keys = [given[role] for role in ("uid", "size", "iteration", "binary") if role in given]
            given["execution"] = counted(grouped(keys)).tolist()
        return definitions, _rows(given, columns)

    def _column(self, role: str) -> int | None:
        """The place of the column with a role: the one that the options name, else the first with a
        title that is usual for it.
        """
        if asked := getattr(self.options, role):
            return self._place(asked)
        lower = [name.lower() for name in self.names]
        # a description in the title, as we write it, makes a column a metric whatever its name
        claimed = {
            *self.declared,
            *self.options.metrics,
            *self.options.ignore,
            *self.options.unit,
            *self.options.better,
            *self.options.kind,
        }
        free = (lower.index(guess) for guess in GUESSES[role] if guess in lower)
        return next((place for place in free if self.names[place] not in claimed), None)

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise Malformed(f"there is no column `{name[:80]}`{nearest(name, self.names)}")
        return self.names.index(name)

    def _metrics(self, used: set[int]) -> dict[str, int]:
        """The columns with values of a wide table."""
        for name in (*self.options.unit, *self.options.better, *self.options.kind):
            if not self.long:
                self._place(name)
        ignored = {self._place(name) for name in self.options.ignore}
        if not self.long and self.options.metrics:
            return {name: self._place(name) for name in self.options.metrics}
        left = {name: place for place, name in enumerate(self.names) if place not in used | ignored}
        if self.long and left:
            raise Malformed(
                f"line 1, the column `{next(iter(left))[:80]}` is not used: --option ignore="
                " ignores it"
            )
        if not self.long and not left:
            raise Malformed("no column holds values: --option metrics= names those that do")
        return left

    def _about(self, column: str, overrides: Mapping[str, str] | None = None) -> Metric:
        """The metric in a column: what the options say, else the table."""
        declared = self.declared.get(column, Metric(""))
        asked = [
            getattr(self.options, name).get(column)
            or (overrides or {}).get(name)
            or getattr(declared, name)
            for name in METRIC_COLUMNS
        ]
        return metric(*asked)

    def _from_long(
        self, given: dict[str, list[Any]], details: dict[str, list[str]]
    ) -> tuple[dict[str, Metric], Resources]:
        """One row for what has the same unit, size and numbers, filled with the value of each
        metric.
        """
        column, amounts = given.pop("metric"), np.array(given.pop("value"), dtype=np.float64)
        names = distinct(dict.fromkeys(column))
        kinds = grouped([column])
        places = dict(zip(names, np.unique(kinds, return_index=True)[1].tolist(), strict=True))
        metrics = {
            used: self._about(name, {key: texts[places[name]] for key, texts in details.items()})
            for name, used in names.items()
        }
        for key, texts in details.items():
            if any(text != texts[places[name]] for text, name in zip(texts, column, strict=True)):
                raise Malformed(
                    f"column `{key}`: a metric has several; it must be the same in all of its rows"
                )
        if "execution" not in given:
            given["execution"] = counted(grouped([*given.values(), column])).tolist()
        keys = grouped(given.values())
        index = grouped([keys, counted(grouped([keys, kinds]))])
        firsts = np.unique(index, return_index=True)[1].tolist()
        shared = {name: [values[place] for place in firsts] for name, values in given.items()}
        columns: dict[str, list[float | None]] = {}
        for kind, name in enumerate(metrics):
            values = np.full(len(firsts), np.nan)
            values[index[kinds == kind]] = amounts[kinds == kind]
            columns[name] = [None if value != value else value for value in values.tolist()]  # noqa: PLR0124 - NaN
        return metrics, _rows(shared, columns)


def _parser(role: str) -> Parser:
    """What reads the cells of a column with a role."""
    if role in NUMBERED:
        return integer
    return str if role in ("uid", "metric") else number


def _rows(given: Mapping[str, list[Any]], metrics: dict[str, list[float | None]]) -> Resources:
    """Rows of columns by their roles."""
    names, uid = numbered(given["uid"])
    rest = {role: given.get(role) for role in ("size", *NUMBERED)}
    return Resources(names=names, uid=uid, metrics=metrics, **rest)  # type: ignore[arg-type]
