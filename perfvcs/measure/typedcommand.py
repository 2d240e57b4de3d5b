"""Commands as they are typed: run by themselves or by a shell, with the values of parameters."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

import msgspec
from msgspec.structs import replace

from perfvcs.errors import UsageError
from perfvcs.plugins.collector import CollectError
from perfvcs.text.characters import shorten
from perfvcs.text.words import listed

SHELL = "/bin/sh"
MOST_COMMANDS = 100  # that are compared at once
QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")
# what a shell takes for its own outside of quotes; an assignment before the command, too
SYNTAX = re.compile(r"[|&;<>()$`\\*?\[\]#~!{}\n]|^\s*\w{1,200}=")
_NUMBER = r"-?\d{1,12}(?:\.\d{1,9})?"
NUMBER = re.compile(_NUMBER)
RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?:\.\.({_NUMBER}))?")
NAME = re.compile(r"\w{1,64}")


class TypedCommand(msgspec.Struct, frozen=True):
    """A command: its ``text`` for people and ``template``, which has parameters by their names;
    ``argv`` is what runs, ``shell`` says that a shell runs it.

    ``prepare``, ``setup`` and ``cleanup`` are commands of a shell; empty: none.
    """

    text: str
    template: str
    argv: tuple[str, ...]
    shell: bool
    parameters: Mapping[str, str] = {}
    prepare: str = ""
    setup: str = ""
    cleanup: str = ""

    @property
    def size(self) -> float | None:
        """The value of its only parameter where that is a number."""
        if len(self.parameters) != 1:
            return None
        (value,) = self.parameters.values()
        return float(value) if NUMBER.fullmatch(value) else None


class Around(msgspec.Struct, frozen=True):
    """What runs around the commands, untimed: none, one of each for all, or one a command."""

    prepare: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    cleanup: tuple[str, ...] = ()


def scanned(text: str) -> tuple[str, list[str]]:
    """The name and values of a parameter ``name=1..5`` or ``name=0..1..0.25``; raises UsageError.

    >>> scanned("n=1..9..4")
    ('n', ['1', '5', '9'])
    """
    name, _, values = text.partition("=")
    match = RANGE.fullmatch(values)
    if match is None:
        raise UsageError(
            f"-P {shorten(text, 60)} is not a range: write name=1..5, or with a step"
            " name=0..1..0.25"
        )
    digits = max(len(part.partition(".")[2]) for part in match.groups(default="1"))
    scale = 10**digits
    low, high, step = (round(float(part) * scale) for part in match.groups(default="1"))
    if step <= 0 or high < low:
        raise UsageError(f"-P {shorten(text, 60)} has no values: it goes up, in steps above 0")
    if (high - low) // step >= MOST_COMMANDS:
        raise UsageError(f"-P {shorten(text, 60)} has over {MOST_COMMANDS} values: take a step")
    whole = range(low, high + 1, step)
    return _named(name), [f"{value / scale:.{digits}f}" for value in whole]


def values(name: str, text: str) -> tuple[str, list[str]]:
    """The name and values of a parameter that is given as a list; raises UsageError."""
    return _named(name), list(dict.fromkeys(text.split(",")))


def _named(name: str) -> str:
    if not NAME.fullmatch(name):
        raise UsageError(f"{shorten(name, 60)!r} cannot name a parameter: take letters and digits")
    return name


def expanded(
    typed: Sequence[str | tuple[str, ...]],
    parameters: Iterable[tuple[str, Sequence[str]]],
    around: Around,
) -> list[TypedCommand]:
    """The commands, each once for every value of the parameters that it names. A text is split as
    a shell does, and run by one where it needs one; words are run as they are.

    Where one needs a shell, all run in one, so that its own time is on both sides. Raises
    UsageError, and CollectError for a command that is not there.
    """
    given = list(parameters)
    twice = [name for name, count in Counter(name for name, _ in given).items() if count > 1]
    if twice:
        raise UsageError(f"the parameter {twice[0]} has values twice: give them once")
    sides = [
        _of_each(kind, getattr(around, kind), len(typed))
        for kind in ("prepare", "setup", "cleanup")
    ]
    commands: list[TypedCommand] = []
    unused = {name for name, _ in given}
    for place, command in enumerate(typed):
        others = [side[place] for side in sides]
        words = "\0".join((command,) if isinstance(command, str) else command)
        named = [
            name for name, _ in given if any(f"{{{name}}}" in text for text in (words, *others))
        ]
        unused -= set(named)
        for chosen in product(*(values for name, values in given if name in named)):
            commands.append(_command(command, dict(zip(named, chosen, strict=True)), others))
            if len(commands) > MOST_COMMANDS:
                raise UsageError(
                    f"these are over {MOST_COMMANDS} commands: take fewer values of a parameter"
                )
    if unused:
        raise UsageError(
            f"no command has the parameter {listed(sorted(unused))}: write it in braces, {{"
            f"{min(unused)}}}"
        )
    if any(command.shell for command in commands):
        commands = [
            replace(command, argv=(SHELL, "-c", command.text), shell=True) for command in commands
        ]
    return list(_distinct(commands))


def _of_each(kind: str, given: Sequence[str], count: int) -> Sequence[str]:
    if len(given) not in (0, 1, count):
        raise UsageError(
            f"--{kind} is given {len(given)} times for {count} commands: give it once for all, or"
            " once for each"
        )
    return [*given] if len(given) == count else [*given, *[""] * (1 - len(given))] * count


def _command(
    typed: str | tuple[str, ...], chosen: Mapping[str, str], others: Sequence[str]
) -> TypedCommand:
    def bound(text: str) -> str:
        for name, value in chosen.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    prepare, setup, cleanup = map(bound, others)
    if isinstance(typed, str):
        text, template = bound(typed), typed
        argv, shell = _read(text)
    else:
        words = [*map(bound, typed)]
        text, template, shell = shlex.join(words), shlex.join(typed), False
        argv = (_program(words[0]), *words[1:])
    return TypedCommand(
        text=text,
        template=template,
        argv=argv,
        shell=shell,
        parameters=chosen,
        prepare=prepare,
        setup=setup,
        cleanup=cleanup,
    )


def _distinct(commands: Iterable[TypedCommand]) -> Iterator[TypedCommand]:
    """Commands that look alike are numbered, so that each has a name of its own."""
    seen: Counter[str] = Counter()
    for command in commands:
        seen[command.text] += 1
        if (number := seen[command.text]) == 1:
            yield command
            continue
        text = f"{command.text} ({number})"
        yield replace(command, text=text, template=text)


def _read(text: str) -> tuple[tuple[str, ...], bool]:
    """What runs a text, and whether that is a shell: one with syntax of a shell, or a builtin."""
    if not text.strip() or "\0" in text:
        raise UsageError("a command is empty, or has a NUL: write what is to be run")
    if SYNTAX.search(QUOTED.sub("''", text)):
        return (SHELL, "-c", text), True
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"`{shorten(text, 80)}`: {error}: close the quotation") from None
    program = _program(words[0], builtins=True)
    return ((program, *words[1:]), False) if program else ((SHELL, "-c", text), True)


def _program(name: str, *, builtins: bool = False) -> str:
    """The path of a program; with ``builtins`` empty for what a shell does by itself."""
    path: str | None = str(Path.cwd() / name)
    if "/" not in name:
        path = _found(name) if builtins else _on_path(name)
    if path is None or (path and not Path(path).exists()):
        known = "" if " " in name else " (`perf check` compares revisions)"
        raise CollectError(
            f"there is no command `{shorten(name, 80)}`: install it, or correct its name{known}",
            lasting=True,
        )
    return path


def _found(name: str) -> str | None:
    """Where a shell finds a command; empty for a builtin."""
    done = subprocess.run(
        [SHELL, "-c", 'command -v "$1"', "sh", name],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="surrogateescape",
        check=False,
    )
    said = done.stdout.strip()
    if done.returncode or not said:
        return None
    return said if said.startswith("/") else ""


def _on_path(name: str) -> str | None:
    import shutil

    path = shutil.which(name, path=os.environ.get("PATH", os.defpath))
    return path and str(Path(path).absolute())
