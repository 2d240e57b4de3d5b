"""A profile's JSON document, read and checked."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from perfvcs.profile import (
    FORMAT,
    Collected,
    Design,
    Environment,
    Job,
    Metric,
    Processed,
    Profile,
    Reached,
    Resources,
    Results,
    Stacks,
    Turns,
)
from perfvcs.profile.validity import (
    INTEGER_COLUMNS,
    MAX_HEADER,
    MAX_PROFILE,
    MAX_ROWS,
    Malformed,
    check,
    check_sizes,
    require,
)
from perfvcs.system.foreign import UNDECODABLE

_integers = msgspec.json.Decoder(list[int])
_numbers = msgspec.json.Decoder(list[float | None])


class _Header(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The document with its columns still undecoded."""

    format: str
    commit: str
    job: Job
    collected: Collected
    metrics: dict[str, Metric]
    resources: dict[str, msgspec.Raw]
    environment: Environment = Environment()
    design: Design = Design()
    dirty: str | None = None
    stacks: Stacks | None = None
    reached: Reached | None = None
    turns: Turns | None = None
    results: Results | None = None
    models: list[dict[str, Any]] = []
    postprocessors: list[Processed] = []
    origin: str | None = None


class _Uid(msgspec.Struct, forbid_unknown_fields=True):
    names: list[str]
    codes: list[int]


_header = msgspec.json.Decoder(_Header)
_uid = msgspec.json.Decoder(_Uid)


def decode(document: bytes) -> Profile:
    """The profile in a JSON document; raises Malformed with the place of the first thing wrong."""
    if len(document) > MAX_PROFILE:
        raise Malformed(
            f"a profile of {len(document):,} bytes is over the limit of {MAX_PROFILE:,}"
        )
    try:
        if len(document) > MAX_HEADER:
            check_sizes(document)
        header = _header.decode(document)
    except UNDECODABLE as error:
        raise Malformed(_reason(error, document)) from None
    if header.format != FORMAT:
        raise Malformed(_other_format(header.format))
    resources = Resources()
    for name, raw in header.resources.items():
        if name == "uid":
            uid = _column(_uid, name, raw)
            resources.names, resources.uid = uid.names, uid.codes
        elif name in INTEGER_COLUMNS:
            setattr(resources, name, _column(_integers, name, raw))
        elif name == "size":
            resources.size = _column(_numbers, name, raw)
        else:
            resources.metrics[name] = _column(_numbers, name, raw)
    fields = {
        name: getattr(header, name)
        for name in _Header.__struct_fields__
        if name not in ("format", "resources")
    }
    if header.models:
        from perfvcs.profile.fittedmodels import read

        fields["models"] = read(header.models)
    profile = Profile(resources=resources, **fields)
    check(profile)
    return profile


def _column(decoder: msgspec.json.Decoder[Any], name: str, raw: msgspec.Raw) -> Any:
    if len(memoryview(raw)) > 2 * MAX_ROWS:  # a value and its comma have two bytes
        require(
            bytes(raw).count(b",") <= 2 * MAX_ROWS,
            f"$.resources.{name} has more than {MAX_ROWS:,} rows",
        )
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Malformed(str(error).replace("$", f"$.resources.{name}", 1)) from None
    except UnicodeDecodeError as error:
        raise Malformed(f"{error} - at `$.resources.{name}`") from None


def _reason(error: Exception, document: bytes) -> str:
    """msgspec's message; the format's own when the document is of another version and fails for
    that reason.
    """
    with_format = re.match(rb'\s*\{\s*"format"\s*:\s*"([^"\\]{1,80})"', document)
    if with_format and with_format[1].decode(errors="replace") != FORMAT:
        return _other_format(with_format[1].decode(errors="replace"))
    return str(error) or type(error).__name__


def _other_format(name: str) -> str:
    if re.fullmatch(r"perfvcs-profile/\d+", name):
        return f"the profile is of format {name}; this version reads {FORMAT}: update perfvcs"
    return f"$.format is {name[:80]!r}, not {FORMAT}"
