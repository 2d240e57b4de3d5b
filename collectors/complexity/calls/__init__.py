"""Calls of chosen functions with their sizes and durations: what the complexity collector asks for
and what its engines answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from perfvcs.errors import UsageError
from perfvcs.system.numeric import Floats, Integers

# module:qualified.name; C++ names have :: instead
_PYTHON = re.compile(r"[\w.]+:[^:].*", re.DOTALL)
# the = before a size is not part of ==, <=, operator= and so on
_SIZE = re.compile(r"(?<![=<>!+\-*/%&|^~])=(?!=)")


@dataclass(frozen=True)
class TracedFunction:
    """One entry of ``functions``: a function's name, and the expression of its size; None is to be
    guessed.
    """

    name: str
    size: str | None = None

    @property
    def python(self) -> bool:
        """Whether the name is one of Python's: ``module:qualified.name``."""
        return _PYTHON.fullmatch(self.name) is not None


def parse(text: str) -> TracedFunction:
    """The entry ``name`` or ``name=expression``; raises UsageError.

    >>> parse("pkg.mod:List.insert=len(self.items)")
    TracedFunction(name='pkg.mod:List.insert', size='len(self.items)')
    >>> parse("List::operator==(List const&) = this->count").size
    'this->count'
    """
    start = text.find("operator") + len("operator") + 3 if "operator" in text else 0
    match = _SIZE.search(text, start)
    name, size = (
        (text[: match.start()].strip(), text[match.end() :].strip())
        if match
        else (text.strip(), None)
    )
    if not name or size == "":
        raise UsageError(
            f"complexity: functions has {text!r}: write a function's name, or name=size such as"
            " f=len(items)"
        )
    if name.count(":") == 1 and "" in name.split(":"):
        raise UsageError(
            f"complexity: functions has {text!r}: write Python's as module:function, those of C and"
            " C++ as in the source"
        )
    return TracedFunction(name, size)


@dataclass(frozen=True)
class RecordingRequest:
    """What an engine is to record.

    ``functions`` is empty for ``auto``: the engine then finds those that take the most time and
    have a size, at most ``most`` of them. ``outermost``: of calls nested in a call of the same
    function (in the same thread) only the outermost is recorded. ``keep``: calls kept per function
    and bucket of sizes (a quarter of a doubling); of more a uniform random sample is kept, and each
    row then stands for ``rate`` calls.
    """

    functions: tuple[TracedFunction, ...]
    outermost: bool = True
    keep: int = 200
    most: int = 10


@dataclass(frozen=True)
class Calls:
    """What one execution gave: one row per kept call, as columns of equal length.

    ``names``: the functions, unique, as they are called in profiles. ``function``: index into it.
    ``size``: NaN for none. ``duration`` in seconds, net of what the recording itself takes, never
    below 0; ``cost`` is what was subtracted. ``number`` counts the recorded calls of a function
    from 0; ``rate`` is how many calls a row stands for (1 unless calls were left out). Rows of one
    function are in order of their numbers. ``pace`` is the machine's own at that moment, NaN where
    it was not read: how long a fixed piece of work took, in seconds
    (``perfvcs.launcher.execution``). ``engine`` is the way it was measured, ``warnings`` are lines
    for the user. ``left`` counts calls without a row because an exception or a long jump left them,
    or they did not end.
    """

    names: list[str]
    function: Integers
    size: Floats
    duration: Floats
    cost: Floats
    number: Integers
    rate: Floats
    pace: Floats
    engine: str
    warnings: list[str] = field(default_factory=list)
    left: int = 0
