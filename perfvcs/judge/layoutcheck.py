"""The check of the guard whether a gain may be due to where a build put its code alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfvcs.check.movement import CLOCKS
from perfvcs.judge.guardcheck import PASSED, GuardCheck
from perfvcs.text.quantity import percent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from perfvcs.check.change import Change
    from perfvcs.profile import Profile

# of the base: a branch that is never taken made a loop 6 % faster, by where the code behind it lay
MOVED_BY_LAYOUT = 0.1
CURE = 'add the collector "instructions" to the job, or give it several `binaries`'


def layout(gain: Change | None, base: Iterable[Profile]) -> GuardCheck:
    """Whether a gain of a program that is built once a side is one that nothing else confirms.

    Instructions that were counted beside it do (``work``), or builds whose layouts were drawn.
    ``base`` are the profiles of its side, which say of what the jobs are made.
    """
    if gain is None or gain.metric not in CLOCKS or gain.work or gain.builds:
        return PASSED
    fields = [profile.environment.fields for profile in base if profile.job.key == gain.series]
    is_built = any(field.get("build") and not field.get("python") for field in fields)
    bounds = [abs(bound) for bound in (gain.low, gain.high) if bound is not None]
    if not is_built or min(bounds, default=1.0) > MOVED_BY_LAYOUT:
        return PASSED
    return GuardCheck(
        "doubted",
        f"where a build puts its code moves time by up to {percent(MOVED_BY_LAYOUT).lstrip('+')}"
        f" alone, and {gain.job} gains {percent(gain.effect or 0.0)}: {CURE}",
    )
