"""Pages out of templates: HTML that escapes whatever it is given, with its data as JSON inside and beside it."""

from __future__ import annotations

from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec

from perfvcs import __version__
from perfvcs.native.compiled import own_folder
from perfvcs.site import model
from perfvcs.site.forge import Forge
from perfvcs.site.output import PAGES_VERSION, Output, digest, packed
from perfvcs.text.characters import written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jinja2 import Environment

GENERATOR = f"perfvcs {__version__}"


class Templates:
    """The site's templates for a project's ``title``; pages are made anew where that, the ``names`` in use or the forge have changed.

    ``branches``: there are pages of branches.
    """

    def __init__(self, title: str, names: Iterable[object] = (), forge: Forge | None = None, *, branches: bool = False) -> None:
        self.title = title
        self._names = sorted(names, key=repr)
        self._forge = forge or Forge()
        self._branches = branches

    @cached_property
    def assets(self) -> dict[str, bytes]:
        """Scripts and styles by name."""
        return _read("assets")

    @cached_property
    def mark(self) -> str:
        """A digest of all that pages have in common: with it every page changes."""
        return digest(
            packed(PAGES_VERSION, GENERATOR, self.title, self._names, self._forge.commit, self._branches),
            *(text for _, text in sorted(_read("templates").items())),
        )

    @cached_property
    def _environment(self) -> Environment:
        from jinja2 import DictLoader, Environment, FileSystemBytecodeCache

        texts = {name: text.decode() for name, text in _read("templates").items()}
        folder = own_folder()  # compiling takes longer than a hundred pages
        kept = FileSystemBytecodeCache(str(folder), "template-written-%s.cache") if folder else None
        made = Environment(
            loader=DictLoader(texts), autoescape=True, trim_blocks=True, lstrip_blocks=True, auto_reload=False, bytecode_cache=kept,
            finalize=written,
        )  # fmt: skip
        made.globals["forge"] = self._forge.of_commit
        return made

    def output(self, path: str, template: str, key: str, make: Callable[[], msgspec.Struct], *, last: bool = False) -> Output:
        """A page at ``path`` with its JSON beside it, made from what ``key`` is a digest of; ``last``: put in place after all others."""
        beside = _beside(path)

        def files() -> tuple[bytes, bytes]:
            page = make()
            text = msgspec.json.encode(page)
            return self._html(path, template, page, text), b'{"format":"%b","page":%b}\n' % (model.SITE_FORMAT.encode(), text)

        return Output((path, beside), digest(self.mark.encode(), key.encode()), files, shared=True, last=last)

    def _html(self, path: str, template: str, page: msgspec.Struct, text: bytes) -> bytes:
        from markupsafe import Markup

        site = model.SiteData(self.title, GENERATOR, "../" * path.count("/"), self._branches)
        beside = _beside(path).rpartition("/")[2]
        # No name has a NUL. The data, most of a page, comes in as bytes: as text it would be copied five times.
        made = self._environment.get_template(template).render(site=site, page=page, data=Markup("\0"), json=beside).encode()
        before, mark, after = made.partition(b"\0")
        # in the data no name can end the element around it, or begin a comment
        return b"".join([before, text.replace(b"<", b"\\u003c"), after]) if mark else made


def _beside(path: str) -> str:
    """The path of a page's JSON."""
    return f"{path.removesuffix('.html')}.json"


def _read(folder: str) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in files("perfvcs.site").joinpath(folder).iterdir() if entry.is_file()}
