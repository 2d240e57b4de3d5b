"""Which language a file is in, and its parts."""

from __future__ import annotations

from perfvcs.locate.sources.parts import Parts

SUFFIXES = {
    "python": "py pyi pyw",
    "c": "c h cc cpp cxx c++ hh hpp hxx h++ inl ipp tcc m cu cuh",
    "fortran": "f for ftn f77 f90 f95 f03 f08",
}
LANGUAGES = {suffix: name for name, suffixes in SUFFIXES.items() for suffix in suffixes.split()}
LARGEST_SOURCE = 4 << 20  # bytes of a source that is read


def language(path: str) -> str:
    """``python``, ``c`` (C++ too) or ``fortran`` by a file's suffix; empty for any other file."""
    _, dot, suffix = path.rpartition("/")[2].rpartition(".")
    return LANGUAGES.get(suffix.lower(), "") if dot else ""


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
