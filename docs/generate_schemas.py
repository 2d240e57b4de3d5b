"""Writes docs/schemas/, or another folder: a JSON schema for the document that each command prints
with ``--json``.

The number in a name is the version: fields may be added to it; one that is renamed, removed or means
something else takes a new one.
"""

from __future__ import annotations

import ast
import json
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

SCHEMAS = Path(__file__).resolve().parent / "schemas"
DOCUMENTS = {
    "bisect-1": "perfvcs.reports.bisectpage:BisectionDocument",
    "blame-1": "perfvcs.reports.blame:BlameDocument",
    "check-1": "perfvcs.check.markdown:CheckDocument",
    "history-1": "perfvcs.reports.historydocument:HistoryDocument",
    "hosts-1": "perfvcs.reports.hosts:Host",
    "judge-1": "perfvcs.judge.ruling:Ruling",
    "log-1": "perfvcs.reports.log:LogDocument",
    "plan-1": "perfvcs.reports.plan:PlanDocument",
    "select-1": "perfvcs.reports.select:SelectionDocument",
    "status-1": "perfvcs.reports.status:StatusDocument",
    "tournament-1": "perfvcs.judge.tournament:Standings",
}
# of commands that print a list of them
LISTS = {"hosts-1"}


def schema(name: str) -> dict[str, Any]:
    """The schema of a document."""
    kind = _of(DOCUMENTS[name])
    for module in [*sys.modules.values()]:
        if module.__name__.startswith("perfvcs."):
            _complete(module)
    found: dict[str, Any] = _sorted(msgspec.json.schema(list[kind] if name in LISTS else kind))
    return found


def _sorted(part: Any) -> Any:
    """A part of a schema whose alternatives have an order."""
    if isinstance(part, dict):
        rest = {key: _sorted(value) for key, value in part.items()}
        return rest | {key: sorted(rest[key], key=str) for key in ("anyOf", "enum") if key in rest}
    return [_sorted(value) for value in part] if isinstance(part, list | tuple) else part


def _complete(module: ModuleType) -> None:
    """Import what a module imports only for the checker of types."""
    if not hasattr(module, "TYPE_CHECKING") or not module.__file__:
        return
    for node in ast.parse(Path(module.__file__).read_text()).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for part in node.body:
                if isinstance(part, ast.ImportFrom) and part.module:
                    source = import_module(part.module)
                    for name in part.names:
                        known = getattr(source, name.name, None)
                        module.__dict__.setdefault(name.asname or name.name, known)


def _of(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def main(folder: Path = SCHEMAS) -> None:
    """Write all of them."""
    folder.mkdir(exist_ok=True)
    for name in DOCUMENTS:
        (folder / f"{name}.json").write_text(json.dumps(schema(name), indent=2) + "\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
