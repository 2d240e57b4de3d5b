"""Slowdowns in a working tree, with harmless changes beside them."""

from __future__ import annotations

import random
import tomllib
from pathlib import Path
from typing import Any

from perfvcs.locate.blame.mutation import PLANTED, mutants
from perfvcs.locate.sources import language
from perfvcs.locate.sources.outline import outline

TARGETS = (0.05, 0.1, 0.2, 0.5, 1.0)  # shares of all that the benchmark executes
RULES = (*PLANTED, "call repeated", "busy loop")
# bytecodes, about, of one repetition
COSTS = {"busy loop": 3, "extra pass": 30, "copy in a loop": 12, "call repeated": 200}
TRIES = 60  # functions that are drawn until a rule fits one


def written(name: str) -> list[dict[str, Any]]:
    """The changes of ``planted.toml`` or ``hand.toml``."""
    found: list[dict[str, Any]] = tomllib.loads(
        (Path(__file__).parent / f"{name}.toml").read_text()
    )["change"]
    return found


def apply(place: Path, change: dict[str, Any]) -> dict[str, Any]:
    """Make a written change; the case that it is."""
    for edit in (*change.get("also", ()), change):
        path = place / edit.get("path", change["path"])
        text = path.read_text()
        if text.count(edit["old"]) != 1:
            raise SystemExit(
                f"{change['project']}: {path.name} has {text.count(edit['old'])} of"
                f" {edit['old'][:60]!r}"
            )
        path.write_text(text.replace(edit["old"], edit["new"]))
    names = change["function"] if isinstance(change["function"], list) else [change["function"]]
    return {"functions": [f"{change['path']}:{name}" for name in names], "rule": change["kind"]}


def mutate(
    place: Path, known: dict[str, Any], chance: random.Random, number: int
) -> dict[str, Any] | None:
    """Plant by a rule of perf mutate, the rules in turns, or by another one where it fits none of
    many functions that are drawn.
    """
    reached = sorted(known["functions"])
    for attempt in range(TRIES * 3):
        target, effect = chance.choice(reached), chance.choice(TARGETS)
        rule = RULES[number % len(RULES)] if attempt < TRIES else chance.choice(RULES)
        path, _, name = target.partition(":")
        times = max(
            1,
            min(
                5000,
                round(
                    effect * known["total"] / (known["functions"][target][0] * COSTS.get(rule, 1))
                ),
            ),
        )
        made = next(
            mutants((place / path).read_text(), times=times, rules=(rule,), function=name), None
        )
        if made is not None:
            (place / path).write_text(made.text)
            return {"functions": [target], "rule": rule, "times": times}
    return None


def disguise(place: Path, known: dict[str, Any], chance: random.Random, besides: list[str]) -> int:
    """Change up to six other functions that the benchmark runs, so that it costs next to nothing;
    how many were.
    """
    others = [one for one in sorted(known["functions"]) if one not in besides]
    done = 0
    for other in chance.sample(others, min(6, len(others))):
        path, _, name = other.partition(":")
        text = (place / path).read_text()
        changed = (
            _idle_native(path, text, name) if language(path) == "c" else _idle_python(text, name)
        )
        if changed:
            (place / path).write_text(changed)
            done += 1
    return done


def _idle_python(text: str, name: str) -> str:
    made = next(mutants(text, rules=("busy loop",), function=name), None)
    if made is None:
        return ""
    lines = made.text.splitlines(keepends=True)
    indent = lines[made.line - 1][: -len(lines[made.line - 1].lstrip())]
    lines[made.line - 1 : made.line + 1] = [f"{indent}_harmless = None\n"]
    return "".join(lines)


def _idle_native(path: str, text: str, name: str) -> str:
    found = outline(path, text)
    lines = text.splitlines(keepends=True)
    for one in found.named(name) if found else ():
        for number in range(one.first - 1, one.last - 1):
            if lines[number].rstrip().endswith("{"):
                return "".join(
                    [*lines[: number + 1], '    (void)"harmless";\n', *lines[number + 1 :]]
                )
    return ""
