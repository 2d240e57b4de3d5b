"""What `perf mutate` says."""

from __future__ import annotations

import msgspec

from perfvcs.locate.guard import Guard
from perfvcs.text.characters import escaped
from perfvcs.text.quantity import percent
from perfvcs.text.words import counted

MOST_SHOWN = 20


def lines(guard: Guard) -> list[str]:
    """The score, the slowdowns that nobody noticed, and the functions that nothing guards."""
    if not guard.planted:
        return ["nothing could be planted within the budget: raise it with --budget"]
    noticed = sum(one.noticed for one in guard.planted)
    said = [
        f"score {100 * guard.score:.0f} %: {noticed} of {counted(len(guard.planted), 'planted slowdown')} "
        f"noticed at {percent(guard.delta).lstrip('+')} ({guard.metric}, {guard.commit[:10]})"
    ]
    missed = [one for one in guard.planted if not one.noticed]
    said += [
        f"missed:  {one.rule} in {one.function} ({one.path}:{one.line}): {_effect(one.effect)}" for one in missed[:MOST_SHOWN]
    ]
    said += [f"and {len(missed) - MOST_SHOWN} more"] if len(missed) > MOST_SHOWN else []
    said += [f"unguarded: {', '.join(guard.unguarded[:MOST_SHOWN])}"] if guard.unguarded else []
    if guard.unreached:
        said.append(f"no benchmark runs {counted(guard.unreached, 'function')} of {guard.reached + guard.unreached}")
    return said


def _effect(effect: float) -> str:
    return percent(effect) if abs(effect) >= 1e-6 else "no change"


def json(guard: Guard) -> str:
    """The whole as JSON, with its score."""
    document = msgspec.to_builtins(guard) | {"score": guard.score}
    return escaped(msgspec.json.format(msgspec.json.encode(document)).decode())
