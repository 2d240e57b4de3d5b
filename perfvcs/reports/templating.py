"""Templates of pages: whatever they are given is escaped and made printable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from perfvcs.native.compiled import own_folder
from perfvcs.text.characters import coded, written

if TYPE_CHECKING:
    from jinja2 import Environment


def environment(texts: Mapping[str, str]) -> Environment:
    """An environment of templates by their names; one that this machine has compiled is not
    compiled again, which takes longer than a hundred pages.
    """
    from jinja2 import DictLoader, FileSystemBytecodeCache
    from jinja2 import Environment as JinjaEnvironment

    folder = own_folder()
    cache = FileSystemBytecodeCache(str(folder), "template-written-%s.cache") if folder else None
    made = JinjaEnvironment(
        loader=DictLoader(texts),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        bytecode_cache=cache,
        finalize=written,
    )
    made.filters["coded"] = coded
    return made
