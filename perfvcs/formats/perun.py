"""Profiles of Perun (https://github.com/Perfexionists/perun) in all its layouts, as
docs/exchange/perun.md describes them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec

from perfvcs.formats._amounts import SIZE_FIELD, UNREACHABLE, resources
from perfvcs.formats._fields import blocks, listed, mapping, text
from perfvcs.formats._foreign import UNKNOWN, collected
from perfvcs.formats._metric import metric, written
from perfvcs.formats._readings import COMMIT_ID, machine, typed
from perfvcs.profile import Design, Environment, Job, Processed, Profile
from perfvcs.profile.fittedmodels import AnyEntry, as_written
from perfvcs.profile.fittedmodels import read as read_entries
from perfvcs.profile.validity import MAX_NAME, Malformed

# what stands before the document in Perun's object store
OBJECT = re.compile(rb"profile [^\0]{0,200}\0")
SIGNATURE = re.compile(rb'"(collector_info|resource_type_map|snapshots|structure-unit-size)"\s*:')
BOUNDS = {"x_interval_start": "x_start", "x_interval_end": "x_end"}  # older names in models
MACHINE = {"architecture": "machine", "system": "system", "release": "kernel", "host": "host"}
TIME_UNIT = re.compile(r"(?:n|u|µ|m)?s|min|h")
BYTES = re.compile(r"(?:[kKMGT]i?)?B")
LINE = re.compile(r"0|[1-9][0-9]{0,8}")
NUMBERS = ("iteration", "binary", "mark")


@dataclass(frozen=True)
class Perun:
    """A profile of Perun: rows below ``global``, ``resources`` or ``snapshots``, or columns by
    ``uid#k``; or one of its objects.

    ``name``: the job's. ``better``: of a metric, by its name; by default less is better, as Perun
    takes it.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".perf",)

    name: str = ""
    better: Mapping[str, str] = field(default_factory=dict)

    def recognises(self, name: str, head: bytes) -> bool:
        """By the suffix, the mark of an object, or a field that only Perun has."""
        return name.lower().removesuffix(".gz").endswith(self.suffixes) or bool(
            OBJECT.match(head) or SIGNATURE.search(head)
        )

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - file names there hold the time
        """The profile; raises Malformed with the place."""
        before = OBJECT.match(document)
        content = mapping(typed(document[before.end() :] if before else document, Any), "$")
        header = mapping(content.get("header"), "$.header")
        origin = text(content.get("origin"), "$.origin").lower()
        if origin and not COMMIT_ID.fullmatch(origin):
            raise Malformed("$.origin is not a full commit id")
        collector = mapping(content.get("collector_info"), "$.collector_info")
        job = self._job(header, collector)
        metrics, rows, stacks = resources(blocks(content), header, job.name)
        for name, word in self.better.items():
            if name not in metrics:
                raise Malformed(
                    f"there is no metric `{name[:80]}`: there are {', '.join(metrics)[:500]}"
                )
            metrics[name] = metric(metrics[name].unit, word)
        notes = (
            {"collector parameters": _json(collector["params"])} if collector.get("params") else {}
        )
        return Profile(
            commit=origin or UNKNOWN,
            job=job,
            collected=collected(document, "perun"),
            environment=_environment(content, notes),
            design=Design(executions=len(set(rows.execution))),
            metrics=metrics,
            resources=rows,
            stacks=stacks,
            models=_models(content),
            postprocessors=_postprocessors(content),
        )

    def encode(self, profile: Profile) -> bytes:
        """The rows below ``global``; what Perun has no place for stands in fields of its rows that
        it passes over.
        """
        job = profile.job
        kinds, rows = _amounts_of(profile)
        units = {f"{kind}({name})": profile.metrics[name].unit for name, kind in kinds.items()}
        several = set(kinds.values())
        header = {
            "type": several.pop() if len(several) == 1 else "mixed",
            "cmd": job.cmd,
            "args": job.args,
            "params": job.args,
            "workload": job.workload,
            "units": units,
            "better": {name: definition.better for name, definition in profile.metrics.items()},
            "kinds": {name: definition.kind for name, definition in profile.metrics.items()},
        }
        return written(
            {
                "origin": profile.commit,
                "header": header,
                "collector_info": {"name": job.collector, "params": job.options},
                "postprocessors": profile.postprocessors,
                "global": {
                    "timestamp": "0.0",
                    "resources": rows,
                    "models": list(map(as_written, profile.models)),
                },
            }
        )

    def _job(self, header: Mapping[str, Any], collector: Mapping[str, Any]) -> Job:
        args = header.get("args", header.get("params"))
        cmd, workload = (text(header.get(name), f"$.header.{name}") for name in ("cmd", "workload"))
        tool = text(collector.get("name"), "$.collector_info.name") or "unknown"
        name = self.name or cmd.rstrip("/").rpartition("/")[2] or tool
        words = _json(args) if isinstance(args, dict) and args else text(args, "$.header.args")
        return Job(name, tool, cmd, words, workload, engine="perun")


def _models(content: Mapping[str, Any]) -> list[AnyEntry]:
    """The models from wherever a layout has them, under their present names."""
    where: list[tuple[str, Any]] = [("$", content)]
    if isinstance(content.get("global"), dict):
        where.append(("$.global", content["global"]))
    where += [
        (f"$.snapshots[{number}]", snapshot)
        for number, snapshot in enumerate(content.get("snapshots") or [])
        if isinstance(snapshot, dict)
    ]
    models = [
        mapping(model, f"{place}.models[{number}]")
        for place, holder in where
        for number, model in enumerate(listed(holder.get("models"), f"{place}.models"))
    ]
    return read_entries(
        {BOUNDS.get(name, name): value for name, value in model.items()} for model in models
    )


def _postprocessors(content: Mapping[str, Any]) -> list[Processed]:
    applied = []
    for number, entry in enumerate(listed(content.get("postprocessors"), "$.postprocessors")):
        path = f"$.postprocessors[{number}]"
        step = mapping(entry, path)
        params = step.get("params") or {}  # also an empty text or list
        applied.append(
            Processed(
                text(step.get("name"), f"{path}.name"),
                params if isinstance(params, dict) else {"params": params},
            )
        )
    return applied


def _environment(content: Mapping[str, Any], notes: dict[str, str]) -> Environment:
    """The machine, where a newer profile describes it."""
    described = mapping(content.get("machine"), "$.machine")
    fields = {
        ours: described[theirs]
        for theirs, ours in MACHINE.items()
        if isinstance(described.get(theirs), str)
    }
    return machine(fields, notes)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()[:MAX_NAME]


def _amounts_of(profile: Profile) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """The type of each metric, and one resource per value, in the order of the rows."""
    rows = profile.resources
    kinds = {name: _kind(definition.unit) for name, definition in profile.metrics.items()}
    traces = _traces(profile)
    numbers = {name: column for name in NUMBERS if any(column := getattr(rows, name) or ())}
    several = len(profile.metrics) > 1
    resources: list[dict[str, Any]] = []
    for row, (code, execution) in enumerate(zip(rows.uid, rows.execution, strict=True)):
        shared: dict[str, Any] = {"uid": rows.names[code], "order": execution}
        if rows.size is not None and rows.size[row] is not None:
            shared[SIZE_FIELD] = rows.size[row]
        if rows.trace is not None and rows.trace[row] >= 0:
            shared["trace"] = traces[rows.trace[row]]
        shared |= {key: column[row] for key, column in numbers.items()} | (
            {"row": row} if several else {}
        )
        values = {
            name: column[row] for name, column in rows.metrics.items() if column[row] is not None
        }
        for name, value in (values or dict.fromkeys(list(rows.metrics)[:1])).items():
            resources.append({"amount": value, "type": kinds[name], "subtype": name, **shared})
    return kinds, resources


def _kind(unit: str) -> str:
    if TIME_UNIT.fullmatch(unit):
        return "time"
    return "memory" if BYTES.fullmatch(unit) else "mixed"


def _traces(profile: Profile) -> list[list[dict[str, Any]]]:
    if profile.stacks is None:
        return []
    frames = []
    for frame in profile.stacks.frames:
        place, colon, line = frame.removesuffix(")").rpartition(":")
        function, bracket, source = place.rpartition(" (")
        fits = frame.endswith(")") and colon and bracket and source and LINE.fullmatch(line)
        located = fits and (source != UNREACHABLE or line != "0")
        frames.append(
            {"function": function, "source": source, "line": int(line)}
            if located
            else {"function": frame, "source": UNREACHABLE, "line": 0}
        )
    return [[frames[number] for number in reversed(stack)] for stack in profile.stacks.stacks]
