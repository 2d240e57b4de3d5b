"""The options that choose where blocks run, and the executor that they mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pathlib import Path

    from perfvcs.environment.facts import Facts
    from perfvcs.hosts.tls import Tls
    from perfvcs.jobs.config import Config
    from perfvcs.measure.executor import Make
    from perfvcs.measure.progress import Progress
    from perfvcs.repository import Repository

NEEDS_SCHEDULER = "--tls-ca, --tls-cert, --tls-key and --insecure go with --scheduler"
FILES = {"ca": "authority's certificate", "cert": "certificate", "key": "key"}
INSECURE = "Use a scheduler at tcp:// on a network: whoever reaches it can run programs as you."


def host_options(function: Callable[..., None]) -> Callable[..., None]:
    """``--scheduler``, and ``tls``: its certificates."""

    @wraps(function)
    def command(*, tls_ca: str, tls_cert: str, tls_key: str, insecure: bool, **others: Any) -> None:
        from perfvcs.hosts.tls import Tls

        function(tls=Tls(tls_ca, tls_cert, tls_key, insecure), **others)

    command = click.option("--insecure", is_flag=True, help=INSECURE)(command)
    for name, what in reversed(FILES.items()):
        option = click.option(f"--tls-{name}", default="", metavar="FILE", help=f"The {what} for a scheduler at tls://.")
        command = option(command)
    return click.option(
        "--scheduler",
        default="",
        metavar="ADDRESS",
        help="Measure on the hosts of a Dask scheduler: tls://HOST:8786, local:N or ssh.",
    )(command)


def present(scheduler: str, root: Path, tls: Tls) -> list[Facts]:
    """The hosts behind a scheduler as they are now; none without a scheduler."""
    if not scheduler:
        if tls:
            raise click.UsageError(NEEDS_SCHEDULER)
        return []
    from perfvcs.hosts.cluster import connected
    from perfvcs.jobs.config import Config, load
    from perfvcs.measure.progress import shown
    from perfvcs.rules import RULES_FILE

    config = load(root / RULES_FILE) if (root / RULES_FILE).is_file() else Config()
    with shown(quiet=True) as progress, connected(scheduler, config.hosts, tls, progress) as cluster:
        return [cluster.facts[host] for host in sorted(set(cluster.workers().values()))]


@contextmanager
def executing(scheduler: str, config: Config, progress: Progress, tls: Tls, repository: Repository | None) -> Iterator[Make]:
    """What runs the blocks: this machine, or the hosts of a scheduler; Dask is imported only for these.

    Hosts whose audits in a ``repository`` fail get no blocks.
    """
    from perfvcs.hosts.choice import chosen

    def distrusted() -> dict[str, str]:
        from perfvcs.reports.audit import distrusted

        return distrusted(repository) if repository is not None else {}

    if tls and not scheduler:
        raise click.UsageError(NEEDS_SCHEDULER)
    with chosen(scheduler, config, progress, tls, distrusted) as executor:
        yield executor
