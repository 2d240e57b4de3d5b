"""What kind of change a function went through, by the syntax trees of both sides: an explanation, never a filter.

The classes are those that Reichelt and Kühne (PeASS, 2018) found by hand (functionality, condition checks, optimisation, test, exception
handling, synchronisation, library), divided further where a syntax tree tells more.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from perfvcs.locate.finding import ChangeKind
from perfvcs.locate.hunks import FileChange, Hunk
from perfvcs.locate.outline import MODULE

LOOPS = (ast.For, ast.AsyncFor, ast.While)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
CONTAINERS = {
    "list": "list", "set": "set", "frozenset": "set", "dict": "dict", "tuple": "tuple", "deque": "deque", "defaultdict": "dict",
    "OrderedDict": "dict", "Counter": "dict", "array": "array", "heapq": "heap", "bytearray": "bytearray",
}  # fmt: skip
DISPLAYS = {
    ast.List: "list", ast.ListComp: "list", ast.Set: "set", ast.SetComp: "set", ast.Dict: "dict", ast.DictComp: "dict",
}  # fmt: skip
COPIES = frozenset({"copy", "deepcopy", "list", "tuple", "dict", "set", "sorted", "reversed"})
ALGORITHMS = frozenset({
    "sorted", "sort", "bisect", "bisect_left", "bisect_right", "insort", "heappush", "heappop", "heapify", "nsmallest", "nlargest",
    "min", "max", "index", "count", "search", "match", "compile", "findall", "finditer", "join", "any", "all", "sum", "qsort", "bsearch",
    "memcpy", "memmove", "strlen", "strcmp", "binary_search", "lower_bound",
})  # fmt: skip
CACHES = frozenset({"lru_cache", "cache", "cached_property", "memoize", "memoized", "cached"})
LOCKS = re.compile(
    r"(?i)^(?:r?lock|semaphore|mutex|acquire|release|condition|barrier|synchroni[sz]ed|lock_guard|unique_lock|pthread_mutex_\w+)$"
)
TEST = re.compile(r"(?:^|/)(?:tests?|testing)/|(?:^|/)test_[^/]*$|_test\.\w+$|(?:^|/)conftest\.py$")
# of C and C++, read by their words
WORDS = re.compile(r"[A-Za-z_]\w*|[{}();]|&&|\|\||[^\s\w]")
STANDARD = frozenset({"vector", "list", "map", "set", "unordered_map", "unordered_set", "deque", "array"})
FLOW = frozenset({"if", "for", "while", "switch", "do", "return", "sizeof", "else", "case", "goto", "break", "continue"})


@dataclass
class Features:
    """What counts of one side of a function, each with the lines that it is in."""

    loops: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))  # by their depth
    calls: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))  # by name: depth and line
    conditions: list[int] = field(default_factory=list)
    exceptions: list[int] = field(default_factory=list)
    locks: list[int] = field(default_factory=list)
    containers: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    caches: list[int] = field(default_factory=list)
    imports: dict[str, int] = field(default_factory=dict)
    slices: list[int] = field(default_factory=list)


def kinds(change: FileChange, name: str, hunks: Sequence[Hunk]) -> list[ChangeKind]:
    """The kinds of change of a function (or of ``<module>``), what is most telling first; never empty."""
    if TEST.search(change.path):
        return [ChangeKind("test", [hunk.lines[0] for hunk in hunks], "a test changed")]
    sides = [_features(change, name, new=new) for new in (False, True)]
    touched = {line for hunk in hunks for line in range(hunk.lines[0], hunk.lines[1] + 1)}
    found = list(_compared(sides[0] or Features(), sides[1] or Features(), touched))
    return found or [ChangeKind("functionality", sorted(touched)[:1], "it does something else")]


def _compared(a: Features, b: Features, touched: set[int]) -> Iterable[ChangeKind]:
    """The differences of both sides, one after the other."""
    deepest = max(b.loops, default=0), max(a.loops, default=0)
    if deepest[0] > deepest[1] > 0:
        yield ChangeKind("deeper loop", b.loops[deepest[0]], "a loop inside a loop")
    elif _many(b.loops) > _many(a.loops):
        lines = [line for depth in b.loops for line in b.loops[depth]]
        yield ChangeKind("loop added", _near(lines, touched), "a loop was added")
    elif _many(b.loops) < _many(a.loops):
        yield ChangeKind("loop removed", [], "a loop was removed")
    moved = [
        (call, line)
        for call, places in b.calls.items()
        for depth, line in places
        if a.calls.get(call) and depth > max(d for d, _ in a.calls[call])
    ]
    if moved:
        yield ChangeKind("call moved into a loop", [line for _, line in moved], f"{moved[0][0]} is called inside a loop now")
    out = [
        call
        for call, places in b.calls.items()
        if a.calls.get(call) and max(d for d, _ in places) < min(d for d, _ in a.calls[call])
    ]
    if out:
        yield ChangeKind("call moved out of a loop", [b.calls[out[0]][0][1]], f"{out[0]} is called outside of the loop now")
    if len(b.caches) != len(a.caches):
        dropped = len(b.caches) < len(a.caches)
        yield ChangeKind(
            "cache dropped" if dropped else "cache added", b.caches, "a cache was dropped" if dropped else "a cache was added"
        )
    yield from _replaced(a, b, touched)
    for kind, noun, before, after in (
        ("synchronisation", "a lock", a.locks, b.locks),
        ("exception handling", "handling of exceptions", a.exceptions, b.exceptions),
        ("condition", "a condition", a.conditions, b.conditions),
    ):
        if len(before) != len(after):
            more = len(after) > len(before)
            yield ChangeKind(
                f"{kind} {'added' if more else 'removed'}",
                _near(after, touched) if more else [],
                f"{noun} was {'added' if more else 'removed'}",
            )
    if set(a.imports) != set(b.imports):
        new = [name for name in b.imports if name not in a.imports]
        yield ChangeKind("library", [b.imports[name] for name in new], f"imports {new[0]}" if new else "an import was removed")
    added = [call for call in b.calls if call not in a.calls and call not in COPIES | ALGORITHMS]
    if added:
        yield ChangeKind("functionality", [b.calls[added[0]][0][1]], f"calls {added[0]} in addition")


def _replaced(a: Features, b: Features, touched: set[int]) -> Iterable[ChangeKind]:
    """Containers, copies and algorithms."""
    lost = [name for name in a.containers if len(b.containers.get(name, ())) < len(a.containers[name])]
    made = [name for name in b.containers if len(a.containers.get(name, ())) < len(b.containers[name])]
    if lost and made:
        yield ChangeKind("container replaced", _near(b.containers[made[0]], touched), f"{made[0]} for {lost[0]}")
    before, after = (
        sum(len(places) for call, places in side.calls.items() if call in COPIES) + len(side.slices) for side in (a, b)
    )
    if after > before and not lost:
        lines = [line for call, places in b.calls.items() if call in COPIES for _, line in places] + b.slices
        yield ChangeKind("copy added", _near(lines, touched), "a copy was added")
    elif after < before and not made:
        yield ChangeKind("copy removed", [], "a copy was removed")
    gone = [call for call in a.calls if call in ALGORITHMS and call not in b.calls]
    come = [call for call in b.calls if call in ALGORITHMS and call not in a.calls]
    if gone and come:
        yield ChangeKind("algorithm replaced", [b.calls[come[0]][0][1]], f"{come[0]} for {gone[0]}")


def _many(loops: dict[int, list[int]]) -> int:
    return sum(map(len, loops.values()))


def _near(lines: Sequence[int], touched: set[int]) -> list[int]:
    """Those of some lines that changed; all where none did."""
    return sorted(line for line in lines if line in touched) or sorted(lines)[:1]


def _features(change: FileChange, name: str, *, new: bool) -> Features | None:
    """The features of one side; None where it does not have the function."""
    outline, text = change.outlines[new], change.new if new else change.old
    if outline is None:
        return None
    if outline.language == "python":
        return _python(text, name)
    lines = text.splitlines(keepends=True)
    parts = outline.named(name)
    if name == MODULE:
        inside = {line for one in outline.definitions for line in range(one.first, one.last + 1)}
        return _words([(number, line) for number, line in enumerate(lines, 1) if number not in inside])
    return _words([(number, lines[number - 1]) for one in parts for number in range(one.first, one.last + 1)]) if parts else None


def _python(text: str, name: str) -> Features | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    found, nodes = Features(), _named(tree.body, name.split(".")) if name != MODULE else [tree]
    for node in nodes:
        _walk(node, 0, found, whole=name == MODULE)
    return found if nodes else None


def _named(body: Sequence[ast.AST], parts: Sequence[str]) -> list[ast.AST]:
    found: list[ast.AST] = []
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if node.name == parts[0]:
                found += _named(node.body, parts[1:]) if len(parts) > 1 else [node]
        else:
            found += _named([one for one in ast.iter_child_nodes(node) if isinstance(one, (ast.stmt, ast.excepthandler))], parts)
    return found


def _walk(node: ast.AST, depth: int, found: Features, *, whole: bool) -> None:
    line = getattr(node, "lineno", 0)
    if whole and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return  # what stands outside of functions
    inner = depth
    if isinstance(node, (*LOOPS, *COMPREHENSIONS)):
        inner += len(node.generators) if isinstance(node, COMPREHENSIONS) else 1
        found.loops[inner].append(line)
    elif isinstance(node, ast.Call):
        _call(node, depth, found)
    elif isinstance(node, (ast.If, ast.IfExp, ast.Match)):
        found.conditions.append(line)
    elif isinstance(node, (ast.Try, ast.Raise, ast.Assert)):
        found.exceptions.append(line)
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        found.locks += [
            line for item in node.items if LOCKS.match(_last(item.context_expr)) or "lock" in _last(item.context_expr).lower()
        ]
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        found.imports.update({alias.name: line for alias in node.names})
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and node.slice.lower is node.slice.upper is None:
        found.slices.append(line)
    if kind := DISPLAYS.get(type(node)):
        found.containers[kind].append(line)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        found.caches += [
            one.lineno for one in node.decorator_list if _last(one.func if isinstance(one, ast.Call) else one) in CACHES
        ]
    first = (
        [node.iter]
        if isinstance(node, (ast.For, ast.AsyncFor))
        else [node.generators[0].iter]
        if isinstance(node, COMPREHENSIONS)
        else []
    )
    for child in ast.iter_child_nodes(node):
        _walk(child, depth if child in first else inner, found, whole=whole)


def _call(node: ast.Call, depth: int, found: Features) -> None:
    name = _last(node.func)
    if not name:
        return
    if name == "range" and depth == 0:
        return  # a loop's own
    found.calls[name].append((depth, node.lineno))
    if kind := CONTAINERS.get(name):
        found.containers[kind].append(node.lineno)
    if LOCKS.match(name):
        found.locks.append(node.lineno)


def _last(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return _last(node.func)
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _words(lines: Sequence[tuple[int, str]]) -> Features:
    """The features of C and C++ by words and braces: a loop's depth ends with its block or its statement."""
    found = Features()
    open_loops: list[int] = []  # the braces that were open where each began
    braces = parentheses = 0
    before = ""
    waiting: list[int] = []  # loops whose block or statement has not begun
    for number, line in lines:
        text = re.sub(r'"(?:[^"\\]|\\.)*"|//.*|/\*.*?\*/', " ", line)
        if included := re.match(r"\s*#\s*include\s*[<\"]([^>\"]+)", line):
            found.imports[included[1]] = number
            continue
        words = WORDS.findall(text)
        for place, word in enumerate(words):
            following = words[place + 1] if place + 1 < len(words) else ""
            if word in ("for", "while"):
                waiting.append(parentheses)
                open_loops.append(braces)
                found.loops[len(open_loops)].append(number)
            elif word in ("if", "switch", "?"):
                found.conditions.append(number)
            elif word in ("try", "throw", "catch", "goto", "assert"):
                found.exceptions.append(number)
            elif following == "(" and word not in FLOW and (word[0].isalpha() or word[0] == "_"):
                found.calls[word].append((len(open_loops), number))
            if LOCKS.match(word):
                found.locks.append(number)
            if word in STANDARD and before == ":":
                found.containers[word].append(number)
            parentheses += (word == "(") - (word == ")")
            if word == "{":
                if waiting and parentheses == waiting[-1]:
                    waiting.pop()
                braces += 1
            elif word == "}":
                braces -= 1
                while open_loops and open_loops[-1] >= braces and not waiting:
                    open_loops.pop()
            elif word == ";" and waiting and parentheses == waiting[-1]:
                waiting.pop()
                open_loops.pop()
            before = word
    return found
