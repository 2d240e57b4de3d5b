"""perf-accepted.toml: the accepted changes of a project, versioned with it, written by ``perf
accept`` and edited by people.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from perfvcs.check.acceptance import Acceptance
from perfvcs.errors import UsageError, nearest
from perfvcs.profile.rules import REGISTER_FILE, LoweredLimit
from perfvcs.system import disk
from perfvcs.system.foreign import content, toml
from perfvcs.text.characters import hidden

LIMITS = "limit"  # the table of lowered limits, which is no id
SHORTEST_ID = 4  # digits that may stand for an id
LARGEST_REGISTER = 2_000_000  # bytes; thousands of acceptances
TOP = """\
# Degradations that this project has accepted: `perf check` lists them apart, and does not fail \
for them.
# Written by `perf accept`; edit it as you like, and commit it with the code.
"""
_CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})(?: |\r?$)", re.MULTILINE)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")  # str.splitlines knows other ends
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_TYPES = {
    "str": "a string",
    "float": "a number",
    "int": "a whole number",
    "date": "a date such as 2027-01-31",
    "datetime": "a time",
    "null": "nothing",
    "object": "a table",
    "array": "a list",
    "bool": "true or false",
}
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class BadRegister(UsageError):
    """perf-accepted.toml cannot be used; the message names the place and the cure."""


def load(path: Path) -> list[Acceptance]:
    """The acceptances in a file, none if there is no file; raises BadRegister."""
    text = read(path)
    return parse(text, path.name) if text else []


def read(path: Path) -> str:
    """The text of the file, empty where there is none; raises BadRegister."""
    try:
        data = content(path, LARGEST_REGISTER + 1)
        if len(data) > LARGEST_REGISTER:
            raise BadRegister(
                f"{path.name} has more than {LARGEST_REGISTER:,} bytes: restore it with `git"
                f" checkout {path.name}`"
            )
        return data.decode("utf-8-sig")  # some editors begin with a mark
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise BadRegister(
            f"{path.name} is not UTF-8 ({error.reason} at byte {error.start}): save it as UTF-8"
        ) from None
    except OSError as error:
        raise BadRegister(f"{path.name} cannot be read ({error.strerror}): move it away") from None


def parse(text: str, name: str = REGISTER_FILE) -> list[Acceptance]:
    """The acceptances in a text, in its order; raises BadRegister with the place of the first thing
    wrong.
    """
    tables = _tables(text, name)
    _limits(tables, name)  # a damaged one is said at once, too
    return [_acceptance(key, value, name) for key, value in tables.items() if key != LIMITS]


def lowered(text: str, name: str = REGISTER_FILE) -> list[LoweredLimit]:
    """The limits in a text that a ratchet has lowered, in its order; raises BadRegister."""
    return _limits(_tables(text, name), name)


def _limits(tables: Mapping[str, Any], name: str) -> list[LoweredLimit]:
    own = tables.get(LIMITS, {})
    if not isinstance(own, dict):
        raise BadRegister(f"{name}: {LIMITS} is not a table of limits: remove that line")
    return [_limit(key, value, name) for key, value in own.items()]


def _limit(key: str, value: Any, name: str) -> LoweredLimit:
    from perfvcs.check.limits import amount

    where = f"{name}: {LIMITS}.{key}"
    if not isinstance(value, dict) or "id" in value:
        raise BadRegister(f"{where} is not a limit: write `{LIMITS}.ID.limit = ...`")
    try:
        limit = msgspec.convert(value | {"id": key}, LoweredLimit)
        amount(limit.limit)
    except msgspec.ValidationError as error:
        raise BadRegister(f"{where}: {_explain(str(error), LoweredLimit)}") from None
    except UsageError as error:
        raise BadRegister(f"{where}: {error}") from None
    return limit


def _tables(text: str, name: str) -> dict[str, Any]:
    if mark := _CONFLICT.search(text):
        line = text.count("\n", 0, mark.start()) + 1
        raise BadRegister(
            f"{name} has the marks of a merge conflict (line {line}): remove these lines, and keep"
            " those of both sides"
        )

    def refuse(why: str) -> BadRegister:
        cure = (
            "; two branches wrote the same id, keep one of the entries"
            if "overwrite" in why
            else ""
        )
        return BadRegister(f"{name} is not TOML: {why}{cure}")

    return toml(text, refuse)


class _Shortened(NamedTuple):
    """The text of a file without some entries, the acceptances that are left in it, and those that
    were taken out.
    """

    text: str
    left: list[Acceptance]
    taken: list[Acceptance]


def add(path: Path, acceptances: Iterable[Acceptance]) -> None:
    """Write to the file, which is made where there is none, in place of those with the same ids;
    whole or not at all.

    Raises BadRegister for a file that is damaged, and UnicodeEncodeError for a text that no file in
    UTF-8 can have.
    """
    text, new = read(path), list(acceptances)
    present = parse(text, path.name)
    renewed = [
        acceptance.id for acceptance in present if any(acceptance.id == other.id for other in new)
    ]
    if renewed:
        shorter = _without(text, renewed, path.name)
        text, present = shorter.text, shorter.left
    text = text.rstrip("\r\n") + "\n" if text.strip() else TOP
    # below a heading of somebody's own the usual form would belong to it
    for form in (table, _headed):
        whole = "\n".join([text, *map(form, new)])
        try:
            fits = parse(whole, path.name) == [*present, *new]
        except BadRegister:
            fits = False
        if fits:
            _replace(path, whole)
            return
    raise BadRegister(
        f"{path.name} was edited so that nothing can be added: put the tables of its ids in order"
        " by hand"
    )


def lower(path: Path, limits: Sequence[LoweredLimit]) -> None:
    """Write limits to the file in place of those of the same benchmarks; raises BadRegister."""
    text = read(path)
    before, ids = lowered(text, path.name), {limit.id for limit in limits}
    starts = tuple(f"{LIMITS}.{_key(name)}." for name in ids)
    left = "".join(line for line in _LINE.findall(text) if not line.startswith(starts))
    left = left.rstrip("\r\n") + "\n" if left.strip() else TOP
    whole = "\n".join([left, *map(limit_table, limits)])
    expected = [*(limit for limit in before if limit.id not in ids), *limits]
    if parse(whole, path.name) != parse(text, path.name) or lowered(whole) != expected:
        raise BadRegister(
            f"{path.name} was edited so that no limit can be written: put the tables of its ids in"
            " order by hand"
        )
    _replace(path, whole)


def remove(path: Path, ids: Sequence[str]) -> list[Acceptance]:
    """Remove the acceptances with these ids, or whose ids begin so, and return them; everything
    else in the file stays unchanged.

    Raises UsageError unless there is one such id.
    """
    text = read(path)
    present = list(dict.fromkeys(acceptance.id for acceptance in parse(text, path.name)))
    shorter = _without(text, [_whole_id(name, present, path.name) for name in ids], path.name)
    _replace(path, shorter.text)
    return shorter.taken


def _whole_id(name: str, present: Sequence[str], file: str) -> str:
    """The id of which a name is the beginning; raises UsageError unless there is one."""
    meant = [own for own in present if own.startswith(name)] if len(name) >= SHORTEST_ID else []
    if name in present or len(meant) == 1:
        return name if name in present else meant[0]
    hint = nearest(name, present) if present else f"; {file} has none"
    raise UsageError(f"nothing is accepted as `{name}`{hint}")


def table(acceptance: Acceptance) -> str:
    """One acceptance as TOML, its id before every key: no line is like one of another entry, so
    that any merge by lines keeps both.
    """
    return "".join(f"{_key(acceptance.id)}.{line}\n" for line in _lines(acceptance))


def limit_table(limit: LoweredLimit) -> str:
    """One limit as TOML, in the same form."""
    return "".join(f"{LIMITS}.{_key(limit.id)}.{line}\n" for line in _lines(limit))


def _headed(acceptance: Acceptance) -> str:
    return "".join([f"[{_key(acceptance.id)}]\n", *(f"{line}\n" for line in _lines(acceptance))])


def _lines(acceptance: Acceptance | LoweredLimit) -> list[str]:
    fields = [
        (field, getattr(acceptance, field.name))
        for field in msgspec.structs.fields(acceptance)
        if field.name != "id"
    ]
    return [
        f"{field.name} = {_value(value)}"
        for field, value in fields
        if field.required or value != field.default
    ]


def _key(text: str) -> str:
    return text if _BARE.fullmatch(text) else _value(text)


def _value(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds").replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, str):
        return repr(value)  # a float of Python is one of TOML
    value.encode()  # TOML has no halves of characters
    # JSON's strings are TOML's, but for DEL; of what nobody sees the number is written
    text = msgspec.json.encode(value).decode()
    return "".join(
        f"\\U{ord(character):08x}" if hidden(character) else character for character in text
    )


def _without(text: str, ids: Sequence[str], name: str) -> _Shortened:
    """The text without the entries of these ids and the comments right above them.

    Raises BadRegister if their lines cannot be separated from the others.
    """
    starts = tuple(f"{_key(acceptance_id)}." for acceptance_id in ids)
    lines: list[str] = []
    above: list[str] = []  # comments that may belong to what follows
    cut = False
    for line in _LINE.findall(text):
        if line.startswith(starts):
            # a comment at the top that no empty line parts from the first entry is the file's own
            lines, above, cut = lines if lines else above, [], True
        elif line.startswith("#"):
            above.append(line)
        elif line.strip() or above or not cut or (lines and lines[-1].strip()):
            lines += [*above, line]
            above, cut = [], False
    left = "".join([*lines, *above])
    before = parse(text, name)
    expected = [acceptance for acceptance in before if acceptance.id not in ids]
    with suppress(BadRegister):
        if parse(left, name) == expected:
            return _Shortened(
                left, expected, [acceptance for acceptance in before if acceptance.id in ids]
            )
    raise BadRegister(
        f"{name} was edited so that its entries cannot be separated: remove it by hand"
    )


def _replace(path: Path, text: str) -> None:
    # a symbolic link stays one, as long as it stays in the project: it may have come with a clone
    goal = path.resolve()
    home = path.parent.resolve()
    if not goal.is_relative_to(home) or {".git", ".perf"}.intersection(
        goal.relative_to(home).parts
    ):
        raise BadRegister(
            f"{path.name} is a link to {goal}, outside the project, and is not written to: put a"
            " file in its place"
        )
    try:
        disk.write(goal, text.encode(), goal.stat().st_mode & 0o777 if goal.exists() else None)
    except FileNotFoundError:
        raise BadRegister(
            f"{path.name} is a link into a folder that does not exist: remove it, or make"
            f" {goal.parent}"
        ) from None


def _acceptance(key: str, value: Any, name: str) -> Acceptance:
    where = f"{name}: {key}"
    if not isinstance(value, dict):
        raise BadRegister(
            f"{where} is not an acceptance: every line begins with the id of one, such as"
            " `3f9c2a1.reason = ...`"
        )
    try:
        if "id" in value:
            raise BadRegister(f"{where}: there is no key `id`: every key begins with the id")
        acceptance = msgspec.convert(value | {"id": key}, Acceptance)
    except msgspec.ValidationError as error:
        raise BadRegister(f"{where}: {_explain(str(error))}") from None
    if problem := _problem(acceptance):
        raise BadRegister(f"{where}: {problem}")
    return acceptance


def _problem(acceptance: Acceptance) -> str:
    """What the types cannot say; empty where all is well."""
    for name in ("baseline", "target"):
        if not _COMMIT.fullmatch(getattr(acceptance, name)):
            return f"{name}: {getattr(acceptance, name)[:80]!r} is not a full commit id"
    for name in ("effect", "shift", "size"):
        value = getattr(acceptance, name)
        if value is not None and not math.isfinite(value):
            return f"{name}: {value} is not a finite number"
    if acceptance.effect is not None and acceptance.effect <= -1:
        return f"effect: {acceptance.effect:g} is not above -1; write 0.1 for +10 %"
    return "" if acceptance.reason.strip() else "reason: say why it is accepted"


def _explain(message: str, kind: type[Acceptance | LoweredLimit] = Acceptance) -> str:
    """msgspec's message as a TOML writer would say it, with the nearest right key."""
    text, _, place = message.partition(" - at ")
    where = f"{place.strip('`').removeprefix('$.')}: " if place else ""
    if unknown := re.search(r"unknown field `(.*)`", text):
        keys = [name for name in kind.__struct_fields__ if name != "id"]
        return f"there is no key `{unknown[1]}`{nearest(unknown[1], keys)}"
    if missing := re.search(r"missing required field `(.*)`", text):
        return f"`{missing[1]}` is missing"
    text = re.sub(
        r"`([a-z |]+)`",
        lambda types: " or ".join(_TYPES.get(name, name) for name in types[1].split(" | ")),
        text,
    )
    return where + text[:1].lower() + text[1:]
