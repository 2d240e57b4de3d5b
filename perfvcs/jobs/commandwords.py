"""The words of a command: those of each of its parts, and the programs that these start."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

LONGEST_COMMAND = 20_000  # characters; splitting takes a time quadratic in its words
DEEPEST_SHELL = 3  # commands that stand in a word of another
ENTERING = frozenset(
    {"cd", "pushd", "-C", "--chdir", "--cwd", "--directory", "--prefix", "--project"}
)
ENTERS = re.compile(r"(--(?:chdir|cwd|directory|prefix|project))=([\s\S]+)|(-C)([\s\S]+)")
BETWEEN = ";&|()\n"  # what parts commands
QUOTED = re.compile(r"['\"\\\t\r\n\f\v;&|()]")  # without any of these, blanks part the words
SHELL = re.compile(r"(?:ba|da|z|k)?sh")
PYTHON = re.compile(r"(?:.*/)?python[\d.]*")
ASSIGNED = re.compile(r"[A-Za-z_]\w*=[\s\S]*")
OTHERS = re.compile(r"node|ruby|perl|php|Rscript|julia|lua")  # what runs a script of the project


class Started(NamedTuple):
    """A program that a command starts, by the last part of its path, with the words behind it."""

    program: str
    given: Sequence[str]


def words(command: str) -> list[str]:
    """The words as a shell has them; of what no shell would split, those between blanks."""
    if not QUOTED.search(command):
        return [word for word in command.split(" ") if word]
    try:
        return shlex.split(command) if len(command) <= LONGEST_COMMAND else command.split()
    except ValueError:  # a quotation mark alone
        return command.split()


def parts(command: str) -> list[list[str]]:
    """The words of each command that another one consists of."""
    if not QUOTED.search(command):
        return [words(command)] if command.strip(" ") else []
    lexer = shlex.shlex(command, posix=True, punctuation_chars=BETWEEN)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    try:
        split = [*lexer] if len(command) <= LONGEST_COMMAND else command.split()
    except ValueError:  # a quotation mark alone
        split = command.split()
    separate: list[list[str]] = [[]]
    for word in split:
        if word and not word.strip(BETWEEN):
            separate.append([])
        else:
            separate[-1].append(word)
    return [part for part in separate if part]


def started(command: str, depth: int = DEEPEST_SHELL) -> Iterator[Started]:
    """The programs that a command may start, by itself or by another one (``timeout 9 make``).

    What is behind a program of the project (``./bench``), or behind a script, is only an argument.
    """
    for part in parts(command):
        for place, word in enumerate(part):
            if ASSIGNED.fullmatch(word) or (place and part[place - 1] in ENTERING):
                continue
            program, given = word.rpartition("/")[2], part[place + 1 :]
            if SHELL.fullmatch(program) and depth:
                texts = (text for text in given if " " in text or "-c" in given)
                yield from (each for text in texts for each in started(text, depth - 1))
            yield Started(program, given)
            if PYTHON.fullmatch(program):
                behind = given[given.index("-m") + 1 :] if "-m" in given else []
                yield from (Started(module, behind[1:]) for module in behind[:1])
            is_own = "/" in word and not word.startswith(("/", "-"))
            if is_own or PYTHON.fullmatch(program) or OTHERS.fullmatch(program):
                break


def entered(command: str, depth: int = DEEPEST_SHELL) -> Iterator[str]:
    """The folders that a command, or one in a word of it, enters before it runs something."""
    split = [word for part in parts(command) for word in part]
    yield from (word for before, word in pairwise(split) if before in ENTERING)
    for word in split:
        if match := ENTERS.fullmatch(word):
            yield match[2] or match[4]
        elif depth and " " in word:
            yield from entered(word, depth - 1)
