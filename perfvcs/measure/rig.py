"""The rig of a measurement: the repository, its settings, who sees the progress, and what runs the
blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress

from msgspec import Struct, structs

from perfvcs.errors import UsageError
from perfvcs.git.worktree import CheckoutError
from perfvcs.jobs import knobs
from perfvcs.jobs.cell import Cell
from perfvcs.jobs.config import Config
from perfvcs.measure.builds import BuildError
from perfvcs.measure.executor import LocalExecutor, Make
from perfvcs.measure.product import Product, read_all
from perfvcs.measure.progress import Progress
from perfvcs.measure.request import Request
from perfvcs.measure.site import Version
from perfvcs.measure.sites import SiteKind, Sites
from perfvcs.repository import Repository
from perfvcs.repository.leftovers import Artefacts
from perfvcs.repository.state import State
from perfvcs.text.words import listed


class Rig(Struct, frozen=True):
    """What a command measures with.

    ``config`` is perf.toml, or what a command line stands for. ``executor`` runs the blocks: by
    default this machine does.
    """

    repository: Repository
    config: Config
    progress: Progress
    executor: Make = LocalExecutor

    def asked(self, request: Request) -> tuple[list[Cell], Rig]:
        """The cells that a request leaves to be measured, and the rig with the knobs asked for."""
        cells, config = request.apply(self.config)
        return cells, structs.replace(self, config=config)

    def watched(self, progress: Progress) -> Rig:
        """The same, with another view of the progress."""
        return structs.replace(self, progress=progress)

    def sites(self, cells: Sequence[Cell], versions: Sequence[Version]) -> Sites:
        """Where the cells run on versions; [dirty] of perf.toml also holds without perf.toml."""
        repository, config = self.repository, self.config
        return Sites(
            project=repository.project,
            home=repository.home,
            config=config,
            cells=cells,
            versions=versions,
            knobs=knobs(config),
            changes=repository.changes,
        )

    def unexplained(self, *, beside: bool = False) -> list[str]:
        """The untracked files of which nobody knows yet whether the build of HEAD makes them.

        None where tracked files are changed, too, since then HEAD itself is not measured; with
        ``beside``, these untracked files are listed all the same.
        """
        repository, build = self.repository, self.config.build
        head = repository.project.head
        if (
            not build
            or repository.project.bare
            or head is None
            or Artefacts(repository.home).is_known(head, build)
        ):
            return []
        # what other commits made
        changes = structs.replace(repository.changes, artefacts=frozenset())
        new = changes.new()
        return new if beside or len(new) == len(changes.files()) else []

    def learn(self, new: Sequence[str]) -> None:
        """Build HEAD to see whether that makes some ``new`` files; the build is kept, so that
        measuring HEAD does not repeat it.

        A build that fails teaches nothing; whoever measures it says so.
        """
        repository, head = self.repository, self.repository.project.head
        if not new or head is None:
            return
        self.progress.say(f"building {head[:10]} to see whether that makes {listed(new)}")
        with suppress(BuildError, CheckoutError), ExitStack() as stack:
            only = structs.replace(self.config, python=None)
            sites = Sites(
                repository.project, repository.home, only, [], [Version(head)], knobs(only)
            )
            sites.prepare(0, SiteKind(0, (), [], 1), stack)


def versions(
    repository: Repository, states: Sequence[State], request: Request, *, typed: bool = False
) -> list[Version]:
    """The versions of states.

    What the working tree holds just now is ``here`` for a command that was ``typed`` in it.
    """
    in_place = typed and not request.committed and not repository.project.bare
    head = repository.project.head if in_place else None
    here = repository.current(head) if head else None
    products = {
        product.digest: product for product in read_all(request.against, repository.project)
    }
    if changed := next(
        (state for state in states if state.product and state.dirty not in products), None
    ):
        raise UsageError(f"{changed.product} changed since the measurement began: measure again")
    return [
        Version(state.commit, state.dirty, state == here, products.get(state.dirty or ""))
        for state in states
    ]


def product_states(commit: str, products: Sequence[Product]) -> list[State]:
    """What the products are measured as: each stands beside a commit."""
    return [State(commit, product.digest, product=product.name) for product in products]
