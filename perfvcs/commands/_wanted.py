"""How commands take benchmarks: by a name among their words, behind ``--``, or by -j, -u and -m."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal

import click

from perfvcs.commands import _completion as complete

if TYPE_CHECKING:
    from perfvcs.profile.benchmarkfilter import FilterWords

BEHIND = "perfvcs.behind"  # what stood behind `--`
JOBS = {
    "configured": ("Only this job of perf.toml; may be repeated.", complete.jobs),
    "measured": ("Measure only this job of perf.toml; may be repeated.", complete.jobs),
    "stored": ("Only this job; may be repeated.", complete.known_jobs),
}
JobKind = Literal["configured", "measured", "stored"]


class Naming(click.Command):
    """A command with benchmarks among its words: what stands behind ``--`` is one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, up to ``--``."""
        words = args
        if "--" in args:
            place = args.index("--")
            words, behind = args[:place], args[place + 1 :]
            if len(behind) > 1:
                raise click.UsageError("name one benchmark behind --", ctx)
            ctx.meta[BEHIND] = "".join(behind)
        return super().parse_args(ctx, words)


def behind(jobs: tuple[str, ...] = (), unit: str = "", metric: str = "") -> FilterWords:
    """The words for benchmarks: the one behind ``--``, and the values of the options."""
    from perfvcs.profile.benchmarkfilter import FilterWords

    meta = click.get_current_context().meta
    return FilterWords(meta.get(BEHIND, ""), jobs, unit, metric, behind=BEHIND in meta)


def arguments(kind: JobKind, help: str = "") -> dict[str, Any]:
    """What click needs to know of -j, for jobs of perf.toml or of stored profiles."""
    text, completed = JOBS[kind]
    return {"multiple": True, "metavar": "NAME", "help": help or text, "shell_complete": completed}


def job_option(kind: JobKind, name: str = "jobs", help: str = "") -> Callable[[Any], Any]:
    """-j as a decorator."""
    return click.option("-j", "--job", name, **arguments(kind, help))


def benchmark_options(
    kind: JobKind = "stored", *, metric: bool = True
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """-j, -u and -m (unless the command has another ``metric``), and the benchmark behind ``--``,
    as one ``wanted``.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def command(
            *, jobs: tuple[str, ...], unit: str, only_metric: str = "", **others: Any
        ) -> None:
            function(wanted=behind(jobs, unit, only_metric), **others)

        for option in reversed(_options(kind, metric=metric)):
            command = option(command)
        return command

    return decorate


def _options(kind: JobKind, *, metric: bool) -> list[Callable[[Any], Any]]:
    unit = click.option(
        "-u",
        "--unit",
        default="",
        metavar="NAME",
        help="Only this unit of a job: a test, or a function.",
        shell_complete=complete.units,
    )
    of_metric = click.option(
        "-m",
        "--metric",
        "only_metric",
        default="",
        metavar="NAME",
        help="Only this metric.",
        shell_complete=complete.metrics,
    )
    return [job_option(kind), unit, *([of_metric] if metric else [])]
