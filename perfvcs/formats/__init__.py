"""Formats: each file is one, named like it; ``perfvcs.plugins.format`` is their contract.

Names that begin with ``_`` are parts that formats share.
"""

from __future__ import annotations

import dataclasses
import os
import re
import stat
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator, Mapping
from csv import reader  # the name `csv` is a member's
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, cast, get_origin, get_type_hints

from msgspec.structs import replace

from perfvcs.errors import UsageError, nearest
from perfvcs.formats._foreign import UNKNOWN, NoResults, NoStacks, expanded
from perfvcs.formats._unread import instead
from perfvcs.plugins import build, find, names
from perfvcs.plugins.format import Format, Several, Writable, WritableFolder, WritableTogether
from perfvcs.profile import Profile
from perfvcs.profile.validity import MAX_PROFILE, Malformed
from perfvcs.system.foreign import at_most

__all__ = [
    "UNKNOWN",
    "NoResults",
    "NoStacks",
    "UnreadableFile",
    "content",
    "decode",
    "decode_all",
    "encode",
    "encode_all",
    "members",
    "parse_options",
    "read",
    "read_all",
    "recognised",
    "recognising",
    "stem",
    "suffixes",
    "together",
]

HEAD_BYTES = 1 << 14  # bytes by which a format is recognised
# where these do not show it: logs come before results, and keys of JSON in any order
FURTHER_BYTES = 1 << 24
EMPTY_LINES = re.compile(rb"\s+(?=<)")  # before XML, which does not allow them


class UnreadableFile(UsageError):
    """A file cannot be read, or is of no known format."""


def read(
    path: Path | str,
    format_name: str | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    name: str = "",
) -> Profile:
    """The profile in a file, of a named format or of the one that it looks like; compressed by gzip
    or zlib, or not.

    ``options`` are the fields of the format's class, ``name`` is the job's, whatever the file says.
    Raises UnreadableFile, UsageError for a wrong option, and Malformed naming the file and the
    place in it; no more than the format's limit is ever read.
    """
    path = Path(path)
    return decode(content(path), str(path), format_name, options, name=name)


def read_all(
    path: Path | str,
    format_name: str | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    name: str = "",
) -> Iterator[Profile]:
    """The profiles in a file, as ``read`` does it, also in one of many commits."""
    path = Path(path)
    return decode_all(content(path), str(path), format_name, options, name=name)


def decode(
    document: bytes,
    path: str,
    format_name: str | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    name: str = "",
) -> Profile:
    """The profile in the bytes of a file of that path, as ``read`` does it."""
    profile, *more = decode_all(document, path, format_name, options, name=name)
    if more:
        raise UnreadableFile(
            f"{path} has {len(more) + 1:,} profiles: `perf import` stores all of them"
        )
    return profile


def decode_all(
    document: bytes,
    path: str,
    format_name: str | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    name: str = "",
) -> Iterator[Profile]:
    """The profiles in the bytes of a file of that path, as ``read_all`` does it."""
    try:
        document = _begun(expanded(document, MAX_PROFILE))
        member = (
            _readable(format_name, options)
            if format_name
            else _member(recognised(path, document), options)
        )
        for profile in _profiles(member, document, name or stem(Path(path).name)):
            yield _renamed(profile, name) if name else profile
    except Malformed as error:
        raise type(error)(f"{path}: {error}") from None
    except MemoryError:
        raise Malformed(
            f"{path}: there is not enough memory for all that is in it: split it"
        ) from None


def _renamed(profile: Profile, name: str) -> Profile:
    """The profile with another name of its job, and of the unit that is the whole of it."""
    rows = profile.resources
    units = [name if unit == profile.job.name else unit for unit in rows.names]
    if len({*units}) < len(units):
        units = rows.names
    return replace(
        profile,
        job=replace(profile.job, name=name),
        resources=dataclasses.replace(rows, names=units),
    )


def _profiles(member: Format, document: bytes, stem: str) -> Iterable[Profile]:
    return (
        cast(Several, member).decode_all(document, stem)
        if hasattr(member, "decode_all")
        else [member.decode(document, stem)]
    )


def content(path: Path, most: int | None = None) -> bytes:
    """The file's bytes, or the first ``most``; raises UnreadableFile unless it is a regular file of
    a bounded size.
    """
    try:
        # O_NONBLOCK: a named pipe must not keep us waiting before we can see that it is one
        with open(
            path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)
        ) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise UnreadableFile(f"{path} is not a regular file: save the profile into one")
            if most is None and status.st_size > MAX_PROFILE:
                raise UnreadableFile(
                    f"{path} has {status.st_size:,} bytes, over the limit of {MAX_PROFILE:,}:"
                    " split it"
                )
            return at_most(file, MAX_PROFILE + 1 if most is None else most)
    except OSError as error:
        raise UnreadableFile(f"cannot read {path}: {error.strerror or error}") from None


def encode(profile: Profile, format_name: str, options: Mapping[str, Any] | None = None) -> bytes:
    """The document of a profile in a named format; raises UsageError where that format is only
    read.
    """
    member = _member(format_name, options)
    if not hasattr(member, "encode"):
        raise UsageError(
            f"the format `{format_name}` can only be read: choose one of"
            f" {', '.join(members('encode'))}"
        )
    return cast(Writable, member).encode(profile)


def encode_all(
    profiles: Iterable[Profile], format_name: str, options: Mapping[str, Any] | None = None
) -> Iterator[tuple[str, bytes]]:
    """The files that hold several profiles together, by their paths, in a format that has such
    files (``together``).
    """
    member = _member(format_name, options)
    if hasattr(member, "folder"):
        yield from cast(WritableFolder, member).folder(profiles)
    else:
        writer = cast(WritableTogether, member)
        yield writer.file, writer.encode_all(profiles)


def together(format_name: str) -> Literal["file", "folder", ""]:
    """Whether several profiles are written as one file or as a folder of files; else each has a
    file of its own.
    """
    member = find("formats", format_name)
    if hasattr(member, "folder"):
        return "folder"
    return "file" if hasattr(member, "encode_all") else ""


def members(method: str) -> list[str]:
    """The names of the formats that have a method, ``decode`` or ``encode``."""
    return [
        name.replace("_", "-")
        for name in names("formats")
        if hasattr(find("formats", name), method)
    ]


def suffixes(format_name: str | None = None) -> tuple[str, ...]:
    """The suffixes of a format's files, without those of a compression; of all formats where none
    is named.
    """
    chosen = [_member(format_name)] if format_name else _known().values()
    return tuple(dict.fromkeys(suffix for member in chosen for suffix in member.suffixes))


def stem(name: str) -> str:
    """A file's name without its suffix, and without that of a compression."""
    base, suffix = os.path.splitext(name)  # noqa: PTH122 - a name, not a path
    return os.path.splitext(base)[0] if suffix in (".gz", ".z") else base  # noqa: PTH122


def parse_options(format_name: str, pairs: Iterable[str]) -> dict[str, Any]:
    """Options of a format from texts ``KEY=VALUE``, as the command line takes them.

    A list is separated by commas (a value with a comma stands in quotes); ``KEY.NAME=VALUE`` is one
    entry of a mapping. Raises UsageError for another form and an unknown key.
    """
    member = find("formats", format_name)
    kinds = get_type_hints(member)
    allowed = [name for name in kinds if get_origin(kinds[name]) is not ClassVar]
    options: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        name, _, entry = key.partition(".")
        if not equals:
            raise UsageError(f"--option {pair[:80]}: write KEY=VALUE, such as name=sort")
        if name not in allowed:
            raise UsageError(
                f"the format `{format_name}` has no option `{name[:80]}`{nearest(name, allowed)}"
            )
        if get_origin(kinds[name]) is tuple:
            options[name] = [*options.get(name, ()), *next(reader([value]), [])]
        elif get_origin(kinds[name]) is Mapping:
            if not entry:
                raise UsageError(f"--option {pair[:80]}: write {name}.COLUMN=VALUE")
            options.setdefault(name, {})[entry] = value
        else:
            options[key] = value
    return options


def _begun(document: bytes) -> bytes:
    """The text without a mark of UTF-8, which PowerShell and .NET write before it, and XML without
    the empty lines that tools print before it.
    """
    document = document.removeprefix(BOM_UTF8)
    empty = EMPTY_LINES.match(document)
    return document[empty.end() :] if empty else document


@cache
def _known() -> dict[str, Format]:
    """All formats that can be read, without options; looking for foreign ones takes longer than
    reading a small file.
    """
    return {name: _member(name) for name in members("decode")}


def recognised(path: str, document: bytes) -> str:
    """The one format that recognises the bytes of a file, unpacked, else the first one that
    recognises its name; raises UnreadableFile.
    """
    if document.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise UnreadableFile(f"{path} is text in UTF-16: convert it to UTF-8")
    base, head = Path(path).name, document[:HEAD_BYTES]
    formats = recognising(head)
    named = [] if formats else recognising(head, base)
    if not formats and not named and len(document) > HEAD_BYTES:
        formats = recognising(
            document[:FURTHER_BYTES] + b"\n" + document[FURTHER_BYTES:][-(1 << 16) :]
        )
    if len(formats) > 1:
        raise UnreadableFile(
            f"{path} could be {' or '.join(formats)}: name its format with --format"
        )
    formats = formats or named
    if not formats:
        if known := instead(base, head):
            raise UnreadableFile(f"{path} {known}")
        raise UnreadableFile(
            f"{path} has none of the formats known here (docs/exchange.md lists them): convert it,"
            " name its format with --format, or say with --regex what its lines hold"
        )
    return formats[0]


def recognising(head: bytes, name: str = "") -> list[str]:
    """The names of the formats that recognise the beginning of a document by itself, or a file of
    that name by it.
    """
    return [
        format_name for format_name, member in _known().items() if member.recognises(name, head)
    ]


def _readable(name: str, options: Mapping[str, Any] | None) -> Format:
    member = _member(name, options)
    if not hasattr(member, "decode"):
        raise UsageError(
            f"the format `{name}` can only be written: choose one of {', '.join(members('decode'))}"
        )
    return member


def _member(name: str, options: Mapping[str, Any] | None = None) -> Format:
    return cast(Format, build("formats", name, options or {}, "format"))
