"""Options that several commands have: hosts, products and paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from pathlib import Path

    from perfvcs.environment.host import Facts
    from perfvcs.hosts.tls import Scheduler
    from perfvcs.jobs.config import Config
    from perfvcs.measure.rig import Rig
    from perfvcs.repository import Repository

T = TypeVar("T")
FILES = {"ca": "authority's certificate", "cert": "certificate", "key": "key"}
INSECURE = "Use a scheduler at tcp:// on a network: whoever reaches it can run programs as you."


def flag(*words: str) -> Callable[[Any], Any]:
    """An option without a value: its names, then its help."""
    *names, text = words
    return click.option(*names, is_flag=True, help=text)


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

    return tuple(product.spec for product in read_all(texts, Project.find()))


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


class Percent(click.FloatRange):
    """A number of percent from 0 to 1,000; a percent sign behind it changes nothing."""

    def __init__(self) -> None:
        super().__init__(0, 1000)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        number: Any = value.removesuffix("%") if isinstance(value, str) else value
        return super().convert(number, param, ctx)


def budget_option(help: str, usual: str | None = None) -> Callable[[Any], Any]:
    """``--budget`` in seconds; None where there is neither a time nor a usual one."""

    def read(ctx: click.Context, parameter: click.Parameter, text: str | None) -> float | None:  # noqa: ARG001
        from perfvcs.jobs.config import seconds

        return None if text is None else seconds(text, "--budget")

    return click.option(
        "--budget",
        metavar="TIME",
        default=usual,
        show_default=usual is not None,
        callback=read,
        help=help,
    )


def _share(ctx: click.Context, parameter: click.Parameter, percent: float | None) -> float | None:  # noqa: ARG001
    """A number of percent as a share."""
    return None if percent is None else percent / 100


def delta_option(
    help: str, usual: float | None = None, shown: str = "by metric, mostly 1"
) -> Callable[[Any], Any]:
    """``--delta`` as a share, with its usual number of percent, or what is ``shown`` of that."""
    return click.option(
        "--delta",
        metavar="PERCENT",
        type=Percent(),
        default=usual,
        show_default=shown if usual is None else True,
        callback=_share,
        help=help,
    )


def sample_option(help: str, usual: int) -> Callable[[Any], Any]:
    """``--sample``."""
    return click.option(
        "--sample", metavar="N", type=click.IntRange(0), default=usual, show_default=True, help=help
    )


within = click.option(
    "--within",
    metavar="PERCENT",
    type=Percent(),
    callback=_share,
    help="Count a comparison as settled if its interval lies within ±PERCENT.",
)
commit_url = click.option(
    "--commit-url",
    metavar="URL",
    help="Address of a commit, with {id}, or none; guessed from the remote by default.",
)
format_option = click.option(
    "--option",
    "pairs",
    multiple=True,
    metavar="KEY=VALUE",
    help="Option of the format; may be repeated.",
)


def options_as(shape: Callable[..., T]) -> Callable[[Callable[[T], None]], Callable[..., None]]:
    """A command gets its arguments and options as one ``shape``, a named tuple."""

    def decorate(function: Callable[[T], None]) -> Callable[..., None]:
        @wraps(function)
        def command(**options: Any) -> None:
            function(shape(**options))

        return command

    return decorate


def host_options(function: Callable[..., None]) -> Callable[..., None]:
    """``--scheduler`` and its certificates, as one ``scheduler``."""

    @wraps(function)
    def command(
        *, scheduler: str, tls_ca: str, tls_cert: str, tls_key: str, insecure: bool, **others: Any
    ) -> None:
        from perfvcs.hosts.tls import Scheduler, Tls

        tls = Tls(tls_ca, tls_cert, tls_key, insecure)
        function(scheduler=Scheduler(scheduler, tls), **others)

    command = flag("--insecure", INSECURE)(command)
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


def require_address(scheduler: Scheduler) -> None:
    """Refuse certificates without a scheduler."""
    if scheduler.tls and not scheduler.address:
        raise click.UsageError("--tls-ca, --tls-cert, --tls-key and --insecure go with --scheduler")


def present(scheduler: Scheduler, root: Path) -> list[Facts]:
    """The hosts behind a scheduler as they are now; none without a scheduler."""
    require_address(scheduler)
    if not scheduler.address:
        return []
    from perfvcs.hosts.connection import connected
    from perfvcs.jobs.config import Config, load
    from perfvcs.measure.progress import shown
    from perfvcs.profile.rules import RULES_FILE

    config = load(root / RULES_FILE) if (root / RULES_FILE).is_file() else Config()
    with (
        shown(quiet=True) as progress,
        connected(scheduler.address, config.hosts, scheduler.tls, progress) as cluster,
    ):
        return [cluster.facts[host] for host in sorted(set(cluster.workers().values()))]


@contextmanager
def measuring(
    repository: Repository,
    config: Config | None = None,
    scheduler: Scheduler | None = None,
    *,
    quiet: bool = False,
    doing: str = "measuring",
    trusting: bool = False,
) -> Iterator[Rig]:
    """What a command measures with: the settings of perf.toml, unless it has a ``config`` of its
    own, and what runs the blocks: this machine, or the hosts of a ``scheduler``.

    Hosts whose audits in the repository fail get no blocks, unless it is ``trusting``. ``doing``
    labels the progress that is shown unless it is ``quiet``. Dask is imported only for a scheduler.
    """
    from perfvcs.hosts.rigging import equipped
    from perfvcs.hosts.tls import Scheduler
    from perfvcs.jobs.config import load
    from perfvcs.measure.progress import shown
    from perfvcs.measure.rig import Rig
    from perfvcs.profile.rules import RULES_FILE

    def distrusted() -> dict[str, str]:
        from perfvcs.reports.audit import distrusted

        return {} if trusting else distrusted(repository)

    scheduler = scheduler or Scheduler()
    require_address(scheduler)
    config = config or load(repository.project.root / RULES_FILE)
    with (
        shown(quiet=quiet, doing=doing) as progress,
        equipped(Rig(repository, config, progress), scheduler, distrusted) as rig,
    ):
        yield rig
