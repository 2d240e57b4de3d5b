"""One execution of a run's command, with the run's limits; every way in which it can go wrong is a CollectError."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from perfvcs.collector import CollectError, Run

if TYPE_CHECKING:
    from perfvcs.launcher import Execution


def launched(run: Run, argv: Sequence[str] | None = None, *, env: Mapping[str, str] | None = None, **options: Any) -> Execution:
    """Execute the run's command, or ``argv`` around it; raises CollectError where that could not start.

    ``env`` replaces the run's environment; ``options`` are those of `launcher.launch`, which say more than the run does.
    """
    from perfvcs import launcher

    given = {"timeout": run.timeout, "cpus": run.cpus, "aslr": run.aslr, **options}
    try:
        return launcher.launch(run.argv if argv is None else argv, cwd=run.cwd, env=run.env if env is None else env, **given)
    except launcher.LaunchError as error:
        raise CollectError(str(error), lasting=error.lasting) from None


def executed(run: Run, argv: Sequence[str] | None = None, *, env: Mapping[str, str] | None = None, **options: Any) -> Execution:
    """The same; raises CollectError where the command failed, too."""
    from perfvcs.launcher.execution import failure

    execution = launched(run, argv, env=env, **options)
    if reason := failure(run.argv, execution, run.timeout):
        raise CollectError(reason, lasting=execution.timed_out)
    return execution
