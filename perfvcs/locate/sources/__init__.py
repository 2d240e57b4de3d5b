"""Which language a file is in, and its parts."""

from __future__ import annotations

import os
from collections.abc import Iterable

from perfvcs.locate.sources.parts import Parts

SUFFIXES = {
    "python": "py pyi pyw",
    "c": "c h cc cpp cxx c++ hh hpp hxx h++ inl ipp tcc m cu cuh",
    "fortran": "f for ftn f77 f90 f95 f03 f08",
}
LANGUAGES = {suffix: name for name, suffixes in SUFFIXES.items() for suffix in suffixes.split()}
# of other languages, of which select knows files only
OTHER_SUFFIXES = {
    "compiled": "rs go java kt scala cs fs swift zig nim d hs ml erl ex ts tsx mts cts",
    "interpreted": "js mjs cjs jsx rb rake pl pm t lua sh bash zsh awk tcl php jl r exs dart ps1",
}
OTHERS = {end: how for how, ends in OTHER_SUFFIXES.items() for end in ends.split()}
LARGEST_SOURCE = 4 << 20  # bytes of a source that is read


def language(path: str) -> str:
    """``python``, ``c`` (C++ too) or ``fortran`` by a file's suffix; empty for any other file."""
    return LANGUAGES.get(suffix(path), "")


def suffix(path: str) -> str:
    """The suffix of a file in small letters, without its dot; empty without one.

    >>> suffix("lib/A.RB"), suffix("Makefile"), suffix("a.d/rb")
    ('rb', '', '')
    """
    _, dot, end = path.rpartition("/")[2].rpartition(".")
    return end.lower() if dot else ""


def is_compiled(path: str) -> bool:
    """Whether a file is a program in another language that a build compiles, by its suffix."""
    return OTHERS.get(suffix(path)) == "compiled"


def is_program(path: str) -> bool:
    """Whether a file is a program in another language, by its suffix.

    >>> is_program("lib/a.rb"), is_program("a.py"), is_program("rb")
    (True, False, False)
    """
    return suffix(path) in OTHERS


def is_within(path: str, overlay: Iterable[str]) -> bool:
    """Whether a file is one of ``overlay``, or in a folder of it."""
    places = map(os.path.normpath, overlay)
    return any(path == place or path.startswith(f"{place}/") for place in places)


def read(kind: str, source: bytes) -> Parts | None:
    """The parts of a source in a language; None where it cannot be read."""
    if len(source) > LARGEST_SOURCE:
        return None
    if kind == "python":
        from perfvcs.locate.sources.pyparts import parts
    elif kind == "c":
        from perfvcs.locate.sources.clike import parts
    else:
        from perfvcs.locate.sources.fortran import parts
    return parts(source)
