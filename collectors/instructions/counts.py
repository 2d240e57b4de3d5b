"""Instructions that a program executed: by function and along calls, as the engines count them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.collectors._shared import frames
from perfvcs.collectors._shared.commandrun import is_python
from perfvcs.collectors._shared.functions import PROCESSES, reached
from perfvcs.profile.validity import MAX_NAME
from perfvcs.system.numeric import Floats, Integers, np

if TYPE_CHECKING:
    from perfvcs.collectors._shared.symbols import CodePlace
    from perfvcs.plugins.collector import Run
    from perfvcs.profile import Reached

# what stands at addresses of an image, innermost first
Resolve = Callable[[str, Iterable[int]], dict[int, list["CodePlace"]]]
UNKNOWN_NAMES = ("???", "")  # what valgrind calls an image or function that it does not know
SYMBOL = "(compiled):"  # before the name of a function whose file is not known
LINKED = ".lto_priv"  # in names of programs that were optimised when they were linked


class Context(NamedTuple):
    """A function as an engine identifies it: ``level`` is 1 for its outermost activations, 2 for
    those inside one of itself.

    ``within`` names the functions that the compiler put it into, outermost first.
    """

    name: str
    image: str
    level: int = 1
    within: tuple[str, ...] = ()


@dataclass(frozen=True)
class Counts:
    """What one execution gave.

    ``exclusive`` (contexts,): the instructions of each context itself. An edge is all calls of one
    context by another: ``caller``, ``callee``, how many ``calls``, and the instructions until they
    returned, ``inclusive``. Calls inside a call of the same edge count in it again, so that edges
    between contexts of level 2 are too large. ``engine`` names the tool, ``warnings`` are lines for
    the user.
    """

    contexts: list[Context]
    exclusive: Floats
    caller: Integers
    callee: Integers
    calls: Floats
    inclusive: Floats
    warnings: list[str] = field(default_factory=list)

    @property
    def total(self) -> float:
        """All instructions."""
        return float(self.exclusive.sum())

    def divided(self, runs: int) -> Counts:
        """The mean of so many runs, of which these are the sums."""
        if runs <= 1:
            return self
        columns = {name: getattr(self, name) / runs for name in ("exclusive", "calls", "inclusive")}
        return replace(self, **columns)


def combine(parts: Iterable[Counts]) -> Counts:
    """The counts of all processes as one: the same function of the same program is one context."""
    numbers: dict[Context, int] = {}
    exclusive, edges, warnings = [], [], []
    for part in parts:
        place = np.array(
            [numbers.setdefault(context, len(numbers)) for context in part.contexts], np.int64
        )
        exclusive.append((place, part.exclusive))
        edges.append((place[part.caller], place[part.callee], part.calls, part.inclusive))
        warnings += part.warnings
    places, values = (np.concatenate(column) for column in zip(*exclusive, strict=True))
    sums_of_contexts = sums(places, values, len(numbers))
    caller, callee, calls, inclusive = (
        np.concatenate(column) for column in zip(*edges, strict=True)
    )
    return Counts(
        list(numbers),
        sums_of_contexts,
        *joined(CallEdges(caller, callee, calls, inclusive), len(numbers)),
        warnings,
    )


class CallEdges(NamedTuple):
    """Calls between two contexts each, as columns of shape (edges,): who called whom, how often,
    and what that cost with all callees.
    """

    caller: Integers
    callee: Integers
    calls: Floats
    inclusive: Floats


def joined(edges: CallEdges, contexts: int) -> CallEdges:
    """One edge for all between the same two contexts."""
    pairs, which = np.unique(edges.caller * contexts + edges.callee, return_inverse=True)
    which, width = which.ravel(), max(1, contexts)
    calls, inclusive = (
        sums(which, column, len(pairs)) for column in (edges.calls, edges.inclusive)
    )
    return CallEdges(pairs // width, pairs % width, calls, inclusive)


def sums(index: Integers, values: Floats, places: int) -> Floats:
    """The sum of the values at each of so many places."""
    return np.bincount(index, values, places).astype(np.float64)


@dataclass
class InlinedContexts:
    """All contexts with those that were found inside them; ``parents`` has the context that each of
    these is a part of.
    """

    contexts: list[Context]
    parents: dict[int, int] = field(default_factory=dict)

    def place(self, contexts: Integers, addresses: Floats, resolve: Resolve) -> Integers:
        """The innermost context at each address inside a context, of those known or a new one."""
        pairs, which = np.unique(
            np.stack([contexts, addresses.astype(np.int64)], axis=1), axis=0, return_inverse=True
        )
        resolved = self._resolved(pairs.tolist(), resolve)
        numbers = {context: number for number, context in enumerate(self.contexts)}
        innermost = [
            self._inner(context, resolved[self.contexts[context].image][address], numbers)
            for context, address in pairs.tolist()
        ]
        return np.array(innermost, np.int64)[which.ravel()] if innermost else contexts

    def _resolved(
        self, pairs: Iterable[tuple[int, int]], resolve: Resolve
    ) -> dict[str, dict[int, list[CodePlace]]]:
        wanted: defaultdict[str, set[int]] = defaultdict(set)
        for context, address in pairs:
            wanted[self.contexts[context].image].add(address)
        return {image: resolve(image, addresses) for image, addresses in wanted.items()}

    def _inner(self, number: int, places: list[CodePlace], numbers: dict[Context, int]) -> int:
        for name, _, _ in places[-2::-1]:  # the last one is the function itself
            outer = self.contexts[number]
            context = Context(name, outer.image, outer.level, (*outer.within, outer.name))
            inner = numbers.setdefault(context, len(numbers))
            if inner == len(self.contexts):
                self.contexts.append(context)
                self.parents[inner] = number
            number = inner
        return number

    def edges(self, exclusive: Floats, edges: CallEdges) -> CallEdges:
        """The given edges and one into each part of a context, which is entered whenever that
        context is.
        """
        caller, callee, calls, inclusive = edges
        count = len(self.contexts)
        whole = exclusive + sums(caller, inclusive, count)
        visits = np.maximum(1.0, sums(callee, calls, count))
        inner = np.array(sorted(self.parents), np.int64)
        for part in inner[::-1].tolist():  # parts come behind what they are a part of
            whole[self.parents[part]] += whole[part]
        for part in inner.tolist():
            visits[part] = visits[self.parents[part]]
        outer = np.array([self.parents[part] for part in inner.tolist()], np.int64)
        columns = (
            (caller, outer),
            (callee, inner),
            (calls, visits[inner]),
            (inclusive, whole[inner]),
        )
        return CallEdges(*(np.concatenate(pair) for pair in columns))


@dataclass(frozen=True)
class FunctionCounts:
    """One entry per function of the program and its libraries, as columns of equal length.

    ``uid`` is its name, with the image behind where that name means something else, too. ``frame``
    is the name with the image. ``of`` (contexts,) is the function of each context. ``inclusive``
    counts what happened while it was active, once however often it calls itself. ``calls`` is NaN
    for one that is only a part of others.
    """

    uid: list[str]
    name: list[str]
    frame: list[str]
    of: Integers
    exclusive: Floats
    inclusive: Floats
    calls: Floats


def functions(counts: Counts, cwd: Path, taken: str = "") -> FunctionCounts:
    """The functions, in order of their first context.

    ``cwd`` is the folder that images of the project are named from, ``taken`` a uid that no
    function may have.
    """
    numbers: dict[str, int] = {}
    names: list[str] = []
    of = np.empty(len(counts.contexts), np.int64)
    for place, context in enumerate(counts.contexts):
        name = frames.UNKNOWN_FRAME if context.name in UNKNOWN_NAMES else context.name
        image = frames.UNKNOWN_FRAME if context.image in UNKNOWN_NAMES else context.image
        frame = frames.native(name, image, str(cwd))
        of[place] = number = numbers.setdefault(frame, len(numbers))
        if number == len(names):
            names.append(frames.function(name))
    count = len(numbers)
    often = Counter([*names, taken])
    uid = [name if often[name] == 1 else frame for name, frame in zip(names, numbers, strict=True)]
    exclusive = sums(of, counts.exclusive, count)
    whole = np.array([not context.within for context in counts.contexts], bool)
    real = whole[counts.callee]
    calls = sums(of[counts.callee[real]], counts.calls[real], count)
    calls[sums(of[whole], np.ones(int(whole.sum())), count) == 0] = np.nan
    return FunctionCounts(
        uid, names, list(numbers), of, exclusive, _inclusive(counts, of, exclusive), calls
    )


def _inclusive(counts: Counts, of: Integers, exclusive: Floats) -> Floats:
    """The cost of each function's outermost activations (contexts of level 1), and of what they
    called.

    Calls from one such context to another of the same function (a part that the compiler split off)
    are inside already.
    """
    outer = np.array([context.level == 1 for context in counts.contexts], bool)
    within = outer[counts.caller] & outer[counts.callee] & (of[counts.caller] == of[counts.callee])
    leaving = outer[counts.caller] & ~within
    costs = sums(of[outer], counts.exclusive[outer], len(exclusive))
    costs += sums(of[counts.caller[leaving]], counts.inclusive[leaving], len(exclusive))
    bounded: Floats = np.clip(costs, exclusive, counts.total)
    return bounded


def symbols(run: Run, counts: Counts) -> Reached | None:
    """The functions in the project's own programs and libraries; None where their names do not show
    that, as in a stripped program.

    A program of others that ran, too, such as a shell, may have run any file of the project.
    """
    if is_python(run.argv[0]):
        return None
    names, others = set[str](), False
    for context in counts.contexts:
        if context.image in UNKNOWN_NAMES or context.name in UNKNOWN_NAMES:
            continue
        if Path(context.image).is_relative_to(run.cwd):
            names.add(context.name)
        elif ".so" not in Path(context.image).name:
            others = True
    if "main" not in names or any(LINKED in name for name in names):
        return None
    own_functions = {
        f"{SYMBOL}{frames.function(name)}"[:MAX_NAME]
        for name in names
        if not frames.ADDRESS_NAME.fullmatch(name)
    }
    return reached({run.uid: own_functions | ({PROCESSES} if others else set())})
