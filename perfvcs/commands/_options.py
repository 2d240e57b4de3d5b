"""Options that several commands have: jobs, hosts, products and paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal

import click

from perfvcs.commands._completion import jobs, stored_jobs

if TYPE_CHECKING:
    from pathlib import Path

    from perfvcs.environment.host import Facts
    from perfvcs.hosts.tls import Tls
    from perfvcs.jobs.config import Config
    from perfvcs.measure.executor import Make
    from perfvcs.measure.progress import Progress
    from perfvcs.repository import Repository

OF = {
    "configured": ("Only this job of perf.toml; may be repeated.", jobs),
    "measured": ("Measure only this job of perf.toml; may be repeated.", jobs),
    "stored": ("Only profiles of this job; may be repeated.", stored_jobs),
}
NEEDS_SCHEDULER = "--tls-ca, --tls-cert, --tls-key and --insecure go with --scheduler"
FILES = {"ca": "authority's certificate", "cert": "certificate", "key": "key"}
INSECURE = "Use a scheduler at tcp:// on a network: whoever reaches it can run programs as you."


def products(
    ctx: click.Context,  # noqa: ARG001
    parameter: click.Parameter,  # noqa: ARG001
    texts: tuple[str, ...],
) -> tuple[str, ...]:
    """What the products are now, as texts that mean the same wherever the session is continued."""
    if not texts:
        return ()
    from perfvcs.git.project import Project
    from perfvcs.measure.product import read_all

    return tuple(one.spec for one in read_all(texts, Project.find()))


against = click.option(
    "--against",
    multiple=True,
    metavar="NAME=PRODUCT",
    callback=products,
    help="Measure this program, or the project in this folder, in turns with the revision.",
)


class FilePath(click.Path):
    """A file; what ends with a slash is refused."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**{"dir_okay": False, **more})

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        if str(value).endswith("/"):
            self.fail(f"{value} is a folder: name a file", param, ctx)
        return super().convert(value, param, ctx)


def arguments(kind: Literal["configured", "measured", "stored"], help: str = "") -> dict[str, Any]:
    """What click needs to know of the option, for jobs of perf.toml or of stored profiles."""
    text, complete = OF[kind]
    return {"multiple": True, "metavar": "NAME", "help": help or text, "shell_complete": complete}


def job_option(
    kind: Literal["configured", "measured", "stored"], name: str = "jobs", help: str = ""
) -> Callable[[Any], Any]:
    """The option as a decorator."""
    return click.option("-j", "--job", name, **arguments(kind, help))


def host_options(function: Callable[..., None]) -> Callable[..., None]:
    """``--scheduler``, and ``tls``: its certificates."""

    @wraps(function)
    def command(*, tls_ca: str, tls_cert: str, tls_key: str, insecure: bool, **others: Any) -> None:
        from perfvcs.hosts.tls import Tls

        function(tls=Tls(tls_ca, tls_cert, tls_key, insecure), **others)

    command = click.option("--insecure", is_flag=True, help=INSECURE)(command)
    for name, what in reversed(FILES.items()):
        option = click.option(
            f"--tls-{name}",
            default="",
            metavar="FILE",
            help=f"The {what} for a scheduler at tls://.",
        )
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
    from perfvcs.profile.rules import RULES_FILE

    config = load(root / RULES_FILE) if (root / RULES_FILE).is_file() else Config()
    with (
        shown(quiet=True) as progress,
        connected(scheduler, config.hosts, tls, progress) as cluster,
    ):
        return [cluster.facts[host] for host in sorted(set(cluster.workers().values()))]


@contextmanager
def executing(
    scheduler: str, config: Config, progress: Progress, tls: Tls, repository: Repository | None
) -> Iterator[Make]:
    """What runs the blocks: this machine, or the hosts of a scheduler; Dask is imported only for
    these.

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
