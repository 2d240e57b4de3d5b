"""The candidate: the files of a change, laid out with the base's own benchmarks and rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from perfvcs.errors import UsageError, system_reason
from perfvcs.git.blobs import (
    DEEPEST,
    ChangedFile,
    Links,
    TooManyLinks,
    changed_files,
    committed_links,
)
from perfvcs.git.changes import WorkingChanges
from perfvcs.git.command import GitError, git
from perfvcs.git.project import Project
from perfvcs.git.submodules import LINK as SUBMODULE
from perfvcs.git.submodules import Wanted
from perfvcs.git.worktree import QUIET_CHECKOUT, CheckoutError, clone, refill
from perfvcs.jobs.benchmark_files import by_kind, measures
from perfvcs.jobs.configchanges import Table, texts
from perfvcs.jobs.shadows import shadows
from perfvcs.judge.deciding import ChangedPaths, deciding, needed
from perfvcs.measure.product import Product
from perfvcs.measure.product import read as read_product
from perfvcs.profile.rules import REGISTER_FILE, RULES_FILE
from perfvcs.repository.state import State
from perfvcs.system.disk import remove
from perfvcs.text.characters import shorten

NAMES = ("judged", "candidate", "judged-change")  # of the product: the first that is no revision
RULES = (RULES_FILE, REGISTER_FILE)
ONLY_MEASURE = ("overlay", "workload", "test")  # kinds of files that build nothing
RUNNER = re.compile(r"(?:.*/)?\.?pytest\.(?:ini|toml)|(?:.*/)?tox\.ini")
# written by us below a name of ours, so that git asks nobody who it is
AUTHOR = (
    "-c",
    "user.name=perfvcs",
    "-c",
    "user.email=perfvcs@localhost",
    "-c",
    "commit.gpgSign=false",
)
LARGEST_PATCH = 64_000_000  # bytes


class Target(NamedTuple):
    """What is judged: a ``revision`` with the ``name`` that was given to it, a ``patch`` of the
    base, or neither: the working tree with its ``changes``.
    """

    revision: str = ""
    name: str = ""
    patch: Path | None = None
    changes: WorkingChanges | None = None


class Candidate(NamedTuple):
    """A change that is laid out.

    ``product`` is what is measured. ``changed`` are the paths that differ from the base, as the
    change has them; ``restored`` those of them that measure or judge, and are the base's again,
    the ``absent`` ones of which the base does not have;
    ``kept`` those that may measure, but also build the program, and stay as the change has them;
    ``deciding`` are such by which the command of a job, not the build, decides what it runs;
    ``leaving`` are links to what is no part of the project. ``listed`` are all of its paths,
    ``measuring`` those that measure or judge, or may, by the ``table`` of the commit ``base``.
    """

    base: str
    table: Table
    product: Product
    folder: Path
    changed: list[str]
    restored: list[str]
    absent: list[str]
    kept: list[str]
    deciding: list[str]
    leaving: list[str]
    listed: set[str]
    measuring: list[str]

    @property
    def is_base(self) -> bool:
        """Whether nothing of the change is measured."""
        return {*self.changed} <= {*self.restored}

    @property
    def state(self) -> State:
        """What its profiles are stored as, beside the base."""
        return State(self.base, self.product.digest, product=self.product.name)


@contextmanager
def laid_out(
    project: Project,
    base: str,
    target: Target,
    table: Table,
    place: Path,
    names: Sequence[str] = NAMES,
) -> Iterator[Candidate]:
    """The candidate in the folder ``place``, which is removed on the way out.

    ``base`` is a commit and ``table`` its perf.toml. The product gets the first of ``names`` that
    is no revision.
    Raises UsageError for a patch that does not apply and for a change without a difference.
    """
    try:
        revision = target.revision or base
        wanted = _wanted(table)
        lacks = clone(project, revision, place, changes=target.changes, wanted=wanted)
        if target.patch is not None:
            _apply(place, target.patch)
            _commit(place, "Patch", staged=True)
            lacks = refill(project, place, wanted=wanted)
        repository = Project.find(place)
        own = _commit(place, "Candidate")
        changed = changed_files(repository, base, own)
        _require_submodules(place, changed, lacks)
        if not changed:
            raise UsageError(
                f"nothing differs from {base[:10]}: change something, or name another base"
            )
        restored, kept = _own(table, changed)
        shadowing = shadows(repository, base, changed, table)
        standing = [path for path in shadowing if path not in restored]
        paths, new = [file.path for file in changed], {file.path for file in changed if file.added}
        rest = [path for path in paths if path not in {*restored, *standing}]
        change = ChangedPaths(base, own, changed, rest, table)
        needs = needed(repository, change, standing)
        restored += [path for path in standing if path not in needs]
        decisive = [*deciding(repository, change), *needs]
        _restore(place, base, changed, restored)
        commit = _commit(place, "Candidate with the base's benchmarks")
        product = _product(project, place, commit, *names)
        kept = [path for path in kept if path not in decisive]
        leaving = leading_out(repository, base, own)
        listed = {*filter(None, git(place, "ls-files", "-z").split("\0"))}
        of_all = _own(table, [ChangedFile(path, "M", "") for path in sorted(listed)])
        yield Candidate(
            base=base,
            table=table,
            product=product,
            folder=place,
            changed=paths,
            restored=restored,
            absent=[path for path in restored if path in new],
            kept=kept,
            deciding=decisive,
            leaving=leaving,
            listed=listed,
            measuring=[path for several in of_all for path in several],
        )
    finally:
        remove(place)


def _wanted(table: Table) -> Wanted:
    """The submodules that checkouts have by a perf.toml."""
    wanted = table.get("submodules", True)
    return wanted if isinstance(wanted, bool) else texts(wanted)


def _require_submodules(folder: Path, changed: Iterable[ChangedFile], lacks: Sequence[str]) -> None:
    """Raises CheckoutError where a submodule that a change moves cannot be had: without it, the
    program may do less.
    """
    moved = [file.path for file in changed if file.mode == SUBMODULE]
    for path in moved:
        said = next((text for text in lacks if f"`{path}`" in text), "")
        if said and not (folder / path / ".git").exists():
            raise CheckoutError(f"the change moves the submodule `{path}`: {said}")


@contextmanager
def apart(project: Project, commit: str, name: str, table: Table, place: Path) -> Iterator[Product]:
    """A commit as a product in the folder ``place``, by its perf.toml, the ``table``."""
    try:
        clone(project, commit, place, wanted=_wanted(table))
        yield _product(project, place, commit, name)
    finally:
        remove(place)


def leading_out(project: Project, base: str, commit: str) -> list[str]:
    """The links of a commit that lead out of the project, by themselves or through others; not
    those that are the base's, and lead out there, too.
    """
    old = dict(committed_links(project, base, ()))
    new = dict(committed_links(project, commit, ()))
    kept = {path for path, text in new.items() if old.get(path) == text}
    # so many are followed: first those that are new
    leaving = _leaving(new, sorted(new.keys() - kept)) | _leaving(new, sorted(kept))
    return sorted(leaving - _leaving(old, sorted(leaving & kept)))


def _leaving(links: Mapping[str, str], paths: Iterable[str]) -> set[str]:
    """Those of some paths of links that do not lead to a place in the project; one that leads
    through more than is followed is among them.
    """
    ways = Links(links.items())

    def is_leaving(path: str) -> bool:
        if max(path.count("/"), links[path].count("/")) >= DEEPEST:
            return True
        try:
            return ways.places([path]) <= links.keys()
        except TooManyLinks:
            return True

    return {path for path in paths if is_leaving(path)}


def _apply(folder: Path, patch: Path) -> None:
    """Apply a patch; git refuses what would leave the folder."""
    try:
        size = patch.stat().st_size
    except OSError as error:
        raise UsageError(f"--patch {patch}: {system_reason(error)}") from None
    if size > LARGEST_PATCH:
        raise UsageError(f"--patch {patch}: it has more than {LARGEST_PATCH:,} bytes")
    try:
        git(folder, "apply", "--index", "--whitespace=nowarn", str(patch.resolve()))
    except GitError as error:
        first = str(error).strip().splitlines() or ["git gave no reason"]
        raise UsageError(
            f"--patch {patch} does not apply to the base: {shorten(first[0], 200)}"
        ) from None


def _commit(folder: Path, subject: str, *, staged: bool = False) -> str:
    """Commit all that is in the candidate's own repository, or what is ``staged``; what git ignores
    stays out.
    """
    if not staged:
        git(folder, "add", "--all")
    git(folder, *QUIET_CHECKOUT, *AUTHOR, "commit", "--quiet", "--allow-empty", "-m", subject)
    return git(folder, "rev-parse", "HEAD").strip()


def _own(table: Table, changed: Sequence[ChangedFile]) -> tuple[list[str], list[str]]:
    """The paths that measure or judge, and those that may but also build the program."""
    restored = [file.path for file in changed if file.path in RULES]
    kept: list[str] = []
    for kind, files in by_kind(table, table, changed, Links()).items():
        for path in (file.path for file in files):
            only = kind in ONLY_MEASURE or measures(path) or RUNNER.fullmatch(path)
            (restored if only else kept).append(path)
    return list(dict.fromkeys(restored)), list(dict.fromkeys(kept))


def _restore(
    folder: Path, base: str, changed: Sequence[ChangedFile], restored: Sequence[str]
) -> None:
    added = {file.path for file in changed if file.added}
    new = [path for path in restored if path in added]
    old = [path for path in restored if path not in added]
    if new:
        _of_paths(folder, new, "rm", "-r", "--quiet", "--force")
    if old:
        _of_paths(folder, old, *QUIET_CHECKOUT, "checkout", "--quiet", base)


def _of_paths(folder: Path, paths: Sequence[str], *words: str) -> None:
    """A command of git for paths, of which there may be more than a command can have words."""
    listed = ("--pathspec-from-file=-", "--pathspec-file-nul")
    git(folder, "--literal-pathspecs", *words, *listed, text="".join(f"{path}\0" for path in paths))


def _product(project: Project, folder: Path, commit: str, *names: str) -> Product:
    for name in names:
        try:
            return read_product(f"{name}={folder}@{commit}", project)
        except UsageError:
            if name == names[-1]:
                raise
    raise AssertionError("a product has a name")
