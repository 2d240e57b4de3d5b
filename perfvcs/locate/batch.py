"""Candidates that several hosts measure at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfvcs.locate.decision import Decision, worth_of_blocks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.locate.evidence import Evidence

NEVER = 1e-9  # a probability next to 0


def together(evidence: Evidence, decision: Decision, count: int) -> list[int]:
    """The commits of as many blocks as run at a time, that of the ``decision`` first; a commit may come twice.

    Each next one tells most once those before it are measured, where the level jumps once: what two commits' levels have in common then
    follows from the belief.
    """
    import numpy as np

    from perfvcs.locate.evidence import OF_CANDIDATE
    from perfvcs.locate.posterior import OWN_DEVIATION

    belief, variance = decision.belief, evidence.summary().variance
    assert belief is not None
    noise = OF_CANDIDATE * variance / belief.effect**2 + OWN_DEVIATION**2
    moved = np.clip(belief.jump.cumsum() / belief.jump.sum(), NEVER, 1 - NEVER)
    odds = moved / (1 - moved)
    chosen, doubt = [decision.step.commit], belief.doubt.copy()
    known: list[NDArray[np.float64]] = []  # what each chosen one says of the others' levels
    while len(chosen) < count:
        newest = chosen[-1] - 1
        alike = np.sqrt(np.minimum(odds, odds[newest]) / np.maximum(odds, odds[newest]))
        common = alike * np.sqrt(belief.doubt * belief.doubt[newest])
        for column in known:
            common -= column * column[newest]
        known.append(common / np.sqrt(doubt[newest] + noise))
        doubt = np.maximum(0.0, doubt - known[-1] ** 2)
        worth = worth_of_blocks(evidence, belief, variance, doubt[:-1], chosen)
        if worth.max() <= 0.0:
            break
        chosen.append(int(worth.argmax()) + 1)
    return chosen
