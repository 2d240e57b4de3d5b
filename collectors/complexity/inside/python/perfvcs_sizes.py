"""Sizes of calls: expressions over a function's parameters, and what is guessed where none is
given.
"""

from __future__ import annotations

import sys
from math import inf, isnan, nan
from time import perf_counter_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

INTEGERS = (
    "n",
    "size",
    "count",
    "length",
    "len",
    "num",
    "number",
    "total",
    "limit",
    "width",
    "height",
    "depth",
)
BEGINNINGS = ("n_", "num_", "size_", "len_", "count_", "max_")
SIZE_ENDINGS = ("_n", "_size", "_count", "_length", "_len", "_num")
ERROR_CHARACTERS = 200  # characters of an error's text


class SizeSource:
    """How the size of a call is taken: the plan, the argument's number, and the name of its
    attribute.
    """

    __slots__ = ("attribute", "index", "plan")

    def __init__(self, plan: str, index: int, attribute: str = "") -> None:
        self.plan, self.index, self.attribute = plan, index, attribute


def number(size: Any) -> float:
    """A size as a float; raises what the conversion raises, ValueError for what is not finite."""
    if isinstance(size, (str, bytes, bytearray)):
        raise TypeError(f"{type(size).__name__} is not a number")
    value = float(size)
    if value - value != 0:
        raise ValueError(f"{value} is not a finite number")
    return value


def exact(size: Any) -> Any:
    """A size as a number whose hash and comparison are not the program's; raises what the
    conversion raises, ValueError for infinity.
    """
    if type(size) is int:
        return size
    if isinstance(size, (str, bytes, bytearray)):
        raise TypeError(f"{type(size).__name__} is not a number")
    value = float(size)
    if value in (inf, -inf):
        raise ValueError(f"{value} is not a finite number")
    return nan if isnan(value) else value  # always the same one, so that it is found again


def describe(error: BaseException) -> str:
    """An error in one line, without asking a program's own class to show itself twice."""
    try:
        text = str(error)
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text}"[:ERROR_CHARACTERS] if text else type(error).__name__


def of_program(error: BaseException) -> bool:
    """Whether an error at a function's start is none of its size's: an interruption, or raised by a
    handler of signals.
    """
    if not isinstance(error, Exception):
        return True
    import _signal  # type: ignore[import-not-found]

    handlers = [
        _code(handler)
        for handler in map(_signal.getsignal, range(1, _signal.NSIG))
        if callable(handler)
    ]
    place = error.__traceback__
    while place is not None and place.tb_frame.f_code not in handlers:
        place = place.tb_next
    return place is not None


def _code(handler: Any) -> Any:
    """The code that runs first when something is called; None for what has none."""
    for name in ("func", "__func__"):  # a partial function, a method
        handler = getattr(handler, name, handler)
    return getattr(handler, "__code__", None) or getattr(type(handler).__call__, "__code__", None)


def compiled(text: str, names: list[str], enclosing: str) -> Any:
    """The code of ``text`` as the body of a function with these parameters, in a class so that
    names with __ mean the same.
    """
    function = f"def size({', '.join(names)}):\n return ({text}\n)\n"
    source = "".join(f" {line}\n" for line in function.splitlines())
    module = compile(f"class {enclosing or '_'}:\n{source}", "<size>", "exec", dont_inherit=True)
    outer = next(value for value in module.co_consts if hasattr(value, "co_code"))
    return next(value for value in outer.co_consts if hasattr(value, "co_code"))


def measured(
    text: str,
    names: list[str],
    enclosing: str,
    failed: Callable[[BaseException], None],
    recorder: Any,
) -> Any:
    """A function of all parameters that gives the size; NaN where the expression fails.

    What it takes is charged.

    Functions that the expression calls may be recorded ones: their sizes are not asked for, so that
    none waits for itself.
    """
    code, function, busy = compiled(text, names, enclosing), None, False
    make: Any = type(describe)

    def size(*values: Any) -> float:
        nonlocal function, busy
        if busy:
            return nan
        start = perf_counter_ns()
        held = None
        try:  # the handler of a signal may end this at any call
            busy = True
            held = recorder.hold(True)
            if function is None:
                function = make(code, sys._getframe(1).f_globals)
            return number(function(*values))
        except Exception as error:
            if of_program(error):
                raise
            failed(error)
            return nan
        finally:
            busy = False
            recorder.hold(held is True)
            recorder.charge(perf_counter_ns() - start)

    return size


class Guess:
    """Finds out at the first call what the size of a function is, and again when an argument of
    another type comes.
    """

    def __init__(
        self,
        names: list[str],
        last: list[str],
        *,
        method: bool,
        len_method: bool,
        report: Callable[..., None],
    ) -> None:
        self.names = names
        self.last = last  # names of parameters that take all the rest
        self.own = method
        self.len_method = len_method  # len(self) would call the function itself
        self.report = report
        self.kind: Any = None
        self.plan = self.expression = ""
        self.index = 0
        self.attribute = ""
        self.chosen: Callable[[Any, int], None] | None = None
        self.seen: dict[tuple[type, ...], SizeSource] = {}

    def __call__(self, *values: Any) -> float:
        """The size of a call with these values of all parameters; NaN where there is none."""
        if not values:
            return nan
        if type(values[self.index]) is not self.kind:
            self.decide(values)
        try:
            if self.plan == "len":
                return len(values[self.index])
            if self.plan == "value":
                return float(values[self.index])
            if self.plan == "attribute":
                return float(values[self.index].__dict__[self.attribute])
            if self.plan == "attribute len":
                return len(values[self.index].__dict__[self.attribute])
        except Exception as error:
            if of_program(error):
                raise
            return nan  # an argument that has no size after all
        return nan

    def decide(self, values: tuple[Any, ...]) -> None:
        """Choose what to take as the size for arguments of these types."""
        kinds = tuple(map(type, values))
        if kinds not in self.seen:
            sources = self.candidates(values)
            self.seen[kinds] = choice = sources[0] if sources else SizeSource("none", 0)
            if sources and len(self.seen) < 100:
                rivals = [other for other in sources[1:] if other.plan == choice.plan]
                self.report(self.describe(choice), ambiguous=bool(rivals))
        choice = self.seen[kinds]
        self.plan, self.index, self.attribute = choice.plan, choice.index, choice.attribute
        self.kind = kinds[self.index]
        if self.chosen is not None:
            self.chosen(self.kind if self.plan == "len" else None, self.index)

    def describe(self, choice: SizeSource) -> str:
        """A choice as an expression that can be given as the size."""
        name = self.names[choice.index] + (f".{choice.attribute}" if choice.attribute else "")
        return f"len({name})" if "len" in choice.plan else name

    def candidates(self, values: tuple[Any, ...]) -> list[SizeSource]:
        """All that could be the size, likeliest first: containers, the object itself, integers by
        name, its members, texts.
        """
        given = list(enumerate(values))[1 if self.own else 0 :]
        given.sort(key=lambda pair: self.names[pair[0]] in self.last)
        sources = [
            SizeSource("len", index)
            for index, value in given
            if sized(value) and not isinstance(value, (str, bytes))
        ]
        if (
            self.own
            and not self.len_method
            and sized(values[0])
            and not isinstance(values[0], type)
        ):
            sources.append(SizeSource("len", 0))
        sources += [
            SizeSource("value", index)
            for index, value in given
            if whole(value) and counts(self.names[index])
        ]
        if self.own:
            members = getattr(values[0], "__dict__", {}) if not isinstance(values[0], type) else {}
            attributes = list(members.items())
            sources += [
                SizeSource("attribute", 0, name)
                for name, value in attributes
                if whole(value) and counts(name)
            ]
            sources += [
                SizeSource("attribute len", 0, name)
                for name, value in attributes
                if isinstance(value, CONTAINERS)
            ]
        sources += [
            SizeSource("len", index) for index, value in given if isinstance(value, (str, bytes))
        ]
        return sources


CONTAINERS = (list, dict, set, frozenset, bytearray)


def sized(value: object) -> bool:
    """Whether ``len`` is defined for it; asks the type, and then the value once, since some types
    have a length only at times.
    """
    if not hasattr(type(value), "__len__"):
        return False
    try:
        len(value)  # type: ignore[arg-type]
    except Exception as error:
        if of_program(error):
            raise
        return False
    return True


def whole(value: object) -> bool:
    """Whether it is an integer and no truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def counts(name: str) -> bool:
    """Whether a name says that it counts something.

    >>> counts("n"), counts("_size"), counts("num_rows"), counts("index")
    (True, True, True, False)
    """
    name = name.strip("_").lower()
    return name in INTEGERS or name.startswith(BEGINNINGS) or name.endswith(SIZE_ENDINGS)
