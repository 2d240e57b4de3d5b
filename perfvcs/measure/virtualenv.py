"""Virtual environments: one per interpreter, requirements and revision, made once, kept until they
are pruned.

Revisions that install the same share one. None of them sees what another adds to it or changes in
it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from perfvcs.measure import pythons
from perfvcs.measure.held import Held, take
from perfvcs.measure.interpreter import Interpreter
from perfvcs.measure.pythons import InstallError
from perfvcs.measure.recipe import Recipe
from perfvcs.plugins.collector import CollectError

# what installers note of where and how they installed
VOLATILE = {"direct_url.json", "RECORD", "INSTALLER", "REQUESTED"}
VOLATILE |= {"uv_cache.json", "uv_build.json"}


class VirtualEnvironment:
    """The environment of one site, which others may share; it is held as long as the site lives.

    ``notes`` say what was written into it, and by which job on which revision.
    """

    def __init__(self, home: Path, recipe: Recipe) -> None:
        self.home, self.recipe, self.who = home, recipe, ""
        self.notes: dict[str, None] = {}
        self._held = self._open()

    @property
    def interpreter(self) -> Interpreter:
        """The interpreter that it was made with."""
        return self.recipe.interpreter

    @property
    def folder(self) -> Path:
        """Where it is."""
        return self._held.folder

    @property
    def python(self) -> Path:
        """Its own interpreter."""
        return self._held.python

    @property
    def installed(self) -> list[str]:
        """Its distributions as ``name==version``."""
        return self._noted("installed") or []

    @property
    def dependencies(self) -> list[str] | None:
        """Its distributions from outside the revision, but the installer; None if not noted."""
        own = self._noted("own")
        if own is None:
            return None
        return [
            entry
            for entry in self.installed
            if entry not in own and entry.partition("==")[0].lower() != "pip"
        ]

    def _noted(self, key: str) -> list[str] | None:
        names = self._held.about.get(key)
        return list(map(str, names)) if isinstance(names, list) else None

    def activate(self, env: Mapping[str, str]) -> dict[str, str]:
        """The variables of a process in this environment, as its activate script sets them."""
        variables = {
            name: value
            for name, value in env.items()
            if name not in ("PYTHONHOME", "VIRTUAL_ENV_PROMPT")
        }
        path = f"{self.python.parent}{os.pathsep}{env.get('PATH', os.defpath)}"
        return variables | {"VIRTUAL_ENV": str(self.folder), "PATH": path}

    def enter(self, who: str) -> None:
        """Make it ready for an execution: nothing of what other sites wrote into it is there.

        Where they have changed what was installed, this site gets another environment. Raises
        CollectError, InstallError.
        """
        self.who = who
        if not self._held.enter(self):
            lost, before = self._held, self.installed
            self._held = self._open(measured=True)
            self.notes[lost.spoilt] = None
            lost.release(self)
            if self.installed != before:
                raise InstallError(
                    f"{lost.spoilt}, in which {_differing(before, self.installed)} differs: pin"
                    " versions in [python]"
                )
            self._held.enter(self)
        self.require()

    def bring(self, entries: Sequence[str], folder: Path) -> None:
        """Install distributions, as ``name==version``, into a folder; raises InstallError."""
        self.recipe.bring(self._held, entries, folder)

    def require(self) -> None:
        """Raises CollectError where it is gone: a command would take another Python of PATH."""
        if not self.python.exists():
            raise CollectError(
                f"the virtual environment {self.folder} was removed while it was in use: measure"
                " again",
                lasting=True,
            )

    def examine(self) -> list[str]:
        """The notes, with those on what the site has written into it just now."""
        self._held.examine(self)
        return list(self.notes)

    def close(self) -> None:
        """Ends the site's use of it."""
        self._held.release(self)

    def _open(self, *, measured: bool = False) -> Held:
        """The environment that the recipe, or the same content, leads to, or a new one.

        What is installed from a folder of unknown content, such as one that was ``measured`` in,
        is for nobody else.
        """
        home, recipe = self.home, self.recipe
        try:
            home.mkdir(parents=True, exist_ok=True)
            with pythons.locked(home, recipe.timeout):
                reads = recipe.reads()
                alone = reads.checkout and (measured or recipe.content is None)
                name = recipe.name(home, reads)
                if not alone and (held := pythons.made_from(home, name, self)):
                    return held
                with pythons.making(home, recipe.prefix, self) as new:
                    note: dict[str, Any] = dict(recipe.make(new)._asdict())
                    # what changed meanwhile, elsewhere, is not what the name says
                    if alone or recipe.reads().elsewhere != reads.elsewhere:
                        new.seal(note, keep=False)
                        return new
                    held = self._shared(new, note | {"content": _content(new.folder)})
                    pythons.remember(held, name)
                    return held
        except OSError as error:
            raise InstallError(
                f"no virtual environment can be made in {home}: {error.strerror}: make room, or"
                " make it writable"
            ) from None

    def _shared(self, new: Held, note: dict[str, Any]) -> Held:
        """The environment with the content of this new one, which then goes; else the new one."""
        others = sorted(self.home.glob(f"{self.recipe.prefix}-*/")) if note["content"] else []
        for other in others:
            alike = pythons.note(other).get("content") == note["content"]
            if alike and (taken := take(other, self)):
                new.release(self)
                return taken
        new.seal(note)
        return new


@contextmanager
def environment(folder: Path, recipe: Recipe) -> Iterator[VirtualEnvironment]:
    """The virtual environment below ``folder`` that a recipe makes.

    Nobody removes it as long as the context lasts. Raises InstallError, UsageError.
    """
    virtual = VirtualEnvironment(folder.absolute(), recipe)
    try:
        yield virtual
    finally:
        virtual.close()


def _content(folder: Path) -> str:
    """A digest of what is installed, wherever and however; empty where nothing is."""
    digest = hashlib.sha256()
    files = sorted(
        path for path in folder.glob("lib*/**/*") if path.is_file() and not path.is_symlink()
    )
    installed = [
        path for path in files if "__pycache__" not in path.parts and path.name not in VOLATILE
    ]
    for path in installed:
        digest.update(
            f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode(
                "utf-8", "surrogateescape"
            )
        )
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    for path in sorted((folder / "bin").glob("*")):  # they name the environment's own interpreter
        digest.update(os.fsencode(path.name) + b"\0")
    return digest.hexdigest() if installed else ""


def _differing(before: Sequence[str], after: Sequence[str]) -> str:
    return ", ".join(sorted({*before} ^ {*after})[:3])
