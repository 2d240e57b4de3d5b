"""A product: a program that is measured in turns with a revision, instead of another revision."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from perfvcs import profile
from perfvcs.errors import UsageError, system_reason
from perfvcs.gate import PERF_FOLDER
from perfvcs.git.changes import WorkingChanges
from perfvcs.git.project import NoRepository, Project, UnknownRevision
from perfvcs.git.worktree import CheckoutError, clone
from perfvcs.profile.validity import PRODUCT_NAME
from perfvcs.system.disk import remove

if TYPE_CHECKING:
    from perfvcs.git.submodules import Wanted
    from perfvcs.jobs.cell import Cell

OPTION = "--against"  # of commands
# products beside the revision; more would stretch a block until its pairs see different weather
MOST_PRODUCTS = 7
UNCOPIED = shutil.ignore_patterns("__pycache__", ".git", PERF_FOLDER)


class Product(msgspec.Struct, frozen=True):
    """What ``NAME=PATH[@REVISION]`` or ``NAME=COMMAND`` stands for now; ``digest`` is a SHA-256 of
    the name and of what would be measured.

    ``folder`` holds other sources of the same benchmarks, at ``commit`` where a revision was named.
    Without a folder, ``words`` take the place of the program in each job's command.
    """

    name: str
    digest: str
    words: tuple[str, ...] = ()
    folder: Path | None = None
    commit: str | None = None

    @property
    def spec(self) -> str:
        """The product as an option names it, in words that mean the same in any folder."""
        revision = f"@{self.commit}" if self.commit else ""
        if self.folder:
            return f"{self.name}={self.folder}{revision}"
        return f"{self.name}={shlex.join(self.words)}"

    @property
    def recorded(self) -> profile.Product:
        """The product as its profiles record it."""
        return profile.Product(
            self.name,
            command=shlex.join(self.words),
            folder=self.folder.name if self.folder else "",
        )

    def cell(self, cell: Cell) -> Cell:
        """A cell whose command starts this product's program."""
        if not self.words:
            return cell
        rest = cell.cmd.lstrip()[len(_first_word(cell.cmd)) :]
        return replace(cell, cmd=shlex.join(self.words) + rest)

    @contextmanager
    def laid_out(
        self, copy: Path, *, wanted: Wanted = True, notes: list[str] | None = None
    ) -> Iterator[Path]:
        """A copy of its folder at ``copy``, with the ``wanted`` submodules, which is removed on the
        way out; what it lacks is added to ``notes``, in sentences.

        Raises CheckoutError.
        """
        assert self.folder is not None
        try:
            lacks = _copy(self.folder, self.commit, copy, wanted)
            if notes is not None:
                notes += lacks
            if _of_folder(self.name, self.folder, self.commit or "").digest != self.digest:
                raise CheckoutError(f"{self.folder} changed while it was copied: measure again")
            yield copy
        finally:
            remove(copy)


def read(text: str, project: Project) -> Product:
    """The product that an option names; raises UsageError with the cure."""
    name, separator, meant = text.partition("=")
    meant = meant.strip()
    if not separator or not meant or not PRODUCT_NAME.fullmatch(name):
        raise UsageError(
            f"{OPTION} takes NAME=FOLDER or NAME=COMMAND, with a name of letters, digits and ._+-,"
            " such as new=./build/sort"
        )
    try:
        project.resolve(name)
    except UnknownRevision:
        pass
    else:
        raise UsageError(f"{OPTION} {name}=...: `{name}` is a revision here: choose another name")
    path, at, revision = meant.rpartition("@")
    if Path(meant).is_dir():
        return _of_folder(name, Path(meant).resolve())
    if at and path and Path(path).is_dir():
        return _of_folder(name, Path(path).resolve(), revision)
    return _of_command(name, meant)


def read_all(texts: Iterable[str], project: Project) -> list[Product]:
    """The products of all options, no two of one name; raises UsageError."""
    products = [read(text, project) for text in texts]
    names = [product.name for product in products]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"{OPTION}: two products are called `{twice}`: give each its own name")
    if len(products) > MOST_PRODUCTS:
        raise UsageError(
            f"{OPTION}: {len(products)} products are more than the {MOST_PRODUCTS} that can be"
            " measured in turns: measure fewer at a time"
        )
    return products


def _of_folder(name: str, folder: Path, revision: str = "") -> Product:
    repository = _repository(folder)
    if repository is None:
        if revision:
            raise UsageError(
                f"{OPTION} {name}=...: {folder} is not the top of a git repository, so that it has"
                f" no `{revision}`"
            )
        return Product(name, _digest(name, "folder", _content(folder)), folder=folder)
    if revision:
        try:
            commit = repository.resolve(revision)
        except UnknownRevision:
            raise UsageError(
                f"{OPTION} {name}=...: `{revision}` is not a revision of {folder}: see `git branch"
                " -a` and `git tag` there"
            ) from None
        return Product(
            name, _digest(name, "folder", repository.tree(commit)), folder=folder, commit=commit
        )
    head = repository.head
    if head is None:
        raise UsageError(
            f"{OPTION} {name}=...: {folder} has no commits yet: make the first one with `git"
            " commit`"
        )
    return Product(
        name,
        _digest(name, "folder", repository.tree(head), WorkingChanges(repository).hash()),
        folder=folder,
    )


def _of_command(name: str, text: str) -> Product:
    try:
        program, *options = shlex.split(text)
    except ValueError as error:
        raise UsageError(
            f"{OPTION} {name}={text}: {error}: quote the command as a shell wants it"
        ) from None
    located = shutil.which(program)
    if located is None:
        kind = "program or folder" if "/" in program else "program on PATH, and not a folder"
        raise UsageError(
            f"{OPTION} {name}=...: `{program}` is not a {kind}: build or install it, or correct its"
            " path"
        )
    path = Path(located).absolute() if "/" in program else Path(program)
    content = hashlib.sha256(Path(located).read_bytes()).hexdigest()
    return Product(
        name, _digest(name, "command", program, *options, content), words=(str(path), *options)
    )


def _repository(folder: Path) -> Project | None:
    """The git repository whose top is this folder; None if it is not the top of one."""
    try:
        project = Project.find(folder)
    except NoRepository:
        return None
    return project if project.root == folder and not project.bare else None


def _copy(folder: Path, commit: str | None, target: Path, wanted: Wanted) -> list[str]:
    """The content of the folder, now or at a commit, less ignored files; returns its lacks."""
    repository = _repository(folder)
    if repository is not None:
        changes = None if commit else WorkingChanges(repository)
        return clone(repository, commit, target, changes=changes, wanted=wanted)
    try:
        shutil.copytree(folder, target, symlinks=True, ignore=UNCOPIED)
    except OSError as error:
        raise CheckoutError(f"{folder} cannot be copied: {system_reason(error)}") from None
    return []


def _first_word(command: str) -> str:
    """The first word of a command as written, with its quotes."""
    reader = shlex.shlex(command, posix=False, punctuation_chars="")
    reader.whitespace_split = True
    return next(reader, "")


def _content(folder: Path) -> str:
    """SHA-256 over names and contents of all that would be copied; raises UsageError."""
    digest = hashlib.sha256()
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - set(UNCOPIED(parent, folders)))
        for name in sorted(files):
            path = Path(parent, name)
            if not path.is_symlink() and not path.is_file():  # reading a pipe would wait for ever
                raise UsageError(
                    f"{OPTION}: {path} is neither a file nor a link, and is not copied: name"
                    " another folder"
                )
            try:
                is_link = path.is_symlink()
                content = os.fsencode(path.readlink()) if is_link else path.read_bytes()
            except OSError as error:
                raise UsageError(
                    f"{OPTION}: {path} cannot be read ({error.strerror}): name another folder"
                ) from None
            digest.update(
                f"{path.relative_to(folder)}\0{len(content)}\0".encode("utf-8", "surrogateescape")
                + content
            )
    return digest.hexdigest()


def _digest(*parts: str | None) -> str:
    return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogateescape")).hexdigest()
