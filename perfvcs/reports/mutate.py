"""What `perf mutate` says."""

from __future__ import annotations

import msgspec

from perfvcs.locate.guard import Guard
from perfvcs.text.characters import escaped
from perfvcs.text.quantity import percent
from perfvcs.text.words import counted

SHOWN = 20


def lines(found: Guard) -> list[str]:
    """The score, the slowdowns that nobody noticed, and the functions that nothing guards."""
    if not found.planted:
        return ["nothing could be planted within the budget: raise it with --budget"]
    noticed = sum(one.noticed for one in found.planted)
    said = [
        f"score {100 * found.score:.0f} %: {noticed} of {counted(len(found.planted), 'planted slowdown')} "
        f"noticed at {percent(found.delta).lstrip('+')} ({found.metric}, {found.commit[:10]})"
    ]
    missed = [one for one in found.planted if not one.noticed]
    said += [f"missed:  {one.rule} in {one.function} ({one.path}:{one.line}): {_effect(one.effect)}" for one in missed[:SHOWN]]
    said += [f"and {len(missed) - SHOWN} more"] if len(missed) > SHOWN else []
    said += [f"unguarded: {', '.join(found.unguarded[:SHOWN])}"] if found.unguarded else []
    if found.unreached:
        said.append(f"no benchmark runs {counted(found.unreached, 'function')} of {found.reached + found.unreached}")
    return said


def _effect(effect: float) -> str:
    return percent(effect) if abs(effect) >= 1e-6 else "no change"


def json(found: Guard) -> str:
    """The whole as JSON, with its score."""
    document = msgspec.to_builtins(found) | {"score": found.score}
    return escaped(msgspec.json.format(msgspec.json.encode(document)).decode())
