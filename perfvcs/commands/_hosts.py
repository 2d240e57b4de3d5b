"""The options that choose where blocks run, and the executor that they mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from pathlib import Path

    from perfvcs.environment.facts import Facts
    from perfvcs.jobs.config import Config
    from perfvcs.measure.executor import Make
    from perfvcs.measure.progress import Progress
    from perfvcs.repository import Repository

TLS_NEEDS_SCHEDULER = "--tls-ca, --tls-cert and --tls-key go with --scheduler"
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def host_options(function: Decorated) -> Decorated:
    """``--scheduler`` and its certificates."""
    for name, what in (("key", "key"), ("cert", "certificate"), ("ca", "authority's certificate")):
        function = click.option(f"--tls-{name}", default="", metavar="FILE", help=f"The {what} for a scheduler at tls://.")(
            function
        )
    return click.option(
        "--scheduler",
        default="",
        metavar="ADDRESS",
        help="Measure on the hosts of a Dask scheduler: tcp://HOST:8786, local:N or ssh.",
    )(function)


def present(scheduler: str, root: Path, tls: tuple[str, str, str]) -> list[Facts]:
    """The hosts behind a scheduler as they are now; none without a scheduler."""
    if not scheduler:
        if any(tls):
            raise click.UsageError(TLS_NEEDS_SCHEDULER)
        return []
    from perfvcs.hosts.cluster import Tls, connected
    from perfvcs.jobs.config import Config, load
    from perfvcs.measure.progress import shown
    from perfvcs.rules import RULES_FILE

    config = load(root / RULES_FILE) if (root / RULES_FILE).is_file() else Config()
    with shown(quiet=True) as progress, connected(scheduler, config.hosts, Tls(*tls), progress) as cluster:
        return [cluster.facts[host] for host in sorted(set(cluster.workers().values()))]


@contextmanager
def executing(
    scheduler: str, config: Config, progress: Progress, tls: tuple[str, str, str], repository: Repository | None
) -> Iterator[Make]:
    """What runs the blocks: this machine, or the hosts of a scheduler; Dask is imported only for these.

    Hosts whose audits in a ``repository`` fail get no blocks.
    """
    from perfvcs.hosts.choice import chosen

    def distrusted() -> dict[str, str]:
        from perfvcs.reports.audit import distrusted

        return distrusted(repository) if repository is not None else {}

    if any(tls) and not scheduler:
        raise click.UsageError(TLS_NEEDS_SCHEDULER)
    if not any(tls):
        with chosen(scheduler, config, progress, distrusted=distrusted) as executor:
            yield executor
        return
    from perfvcs.hosts.cluster import Tls

    with chosen(scheduler, config, progress, Tls(*tls), distrusted) as executor:
        yield executor
