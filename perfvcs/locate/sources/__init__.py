"""Which language a file is in, and its parts."""

from __future__ import annotations

from perfvcs.locate.sources.parts import Parts

SUFFIXES = {
    **dict.fromkeys(("py", "pyi", "pyw"), "python"),
    **dict.fromkeys(
        (
            "c",
            "h",
            "cc",
            "cpp",
            "cxx",
            "c++",
            "C",
            "hh",
            "hpp",
            "hxx",
            "h++",
            "inl",
            "ipp",
            "tcc",
            "m",
            "cu",
            "cuh",
        ),
        "c",
    ),
    **dict.fromkeys(
        (
            "f",
            "for",
            "ftn",
            "f77",
            "f90",
            "f95",
            "f03",
            "f08",
            "F",
            "FOR",
            "F77",
            "F90",
            "F95",
            "F03",
            "F08",
        ),
        "fortran",
    ),
}
LARGEST_SOURCE = 4 << 20  # bytes of a source that is read


def language(path: str) -> str:
    """``python``, ``c`` (C++ too) or ``fortran`` by a file's suffix; empty for any other file."""
    return SUFFIXES.get(path.rpartition("/")[2].rpartition(".")[2], "") if "." in path else ""


def read(kind: str, source: bytes) -> Parts | None:
    """The parts of a source in a language; None where it cannot be read."""
    if len(source) > LARGEST_SOURCE:
        return None
    if kind == "python":
        from perfvcs.locate.sources.python import parts
    elif kind == "c":
        from perfvcs.locate.sources.clike import parts
    else:
        from perfvcs.locate.sources.fortran import parts
    return parts(source)
