"""Patterns whose time grows faster than the text.

Every regular expression in the sources is tried in the way in which it is used (``match``,
``search``, ``finditer``, ``sub``, ...), with texts that repeat what it is made of: blanks, digits,
letters, brackets, the literals in it, and what each part of its syntax tree matches, behind nothing
and behind what the pattern has before each repetition, with an end that fits and one that does not.
A text that takes over 30 times as long where it is ten times as long is tried with 10,000 and 20,000
characters; more than 2.8 times as long is too long. Each pattern is tried in a process with a limit of
CPU time.
"""

from __future__ import annotations

import ast
import importlib
import multiprocessing
import re
import resource
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from .figures import Row
from .registry import Wrong, benchmark

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("perfvcs", "collectors", "postprocessors", "views")
METHODS = ("match", "search", "fullmatch", "findall", "finditer", "split", "sub", "subn")
ALPHABET = (*" \t\n", "\r\n", *"0aAé/()[]{<>\"'\\.-:,_", "x ")
ENDS = ("", "\0", "\n!")
SMALL, LARGE = 10_000, 20_000  # characters
RATIO = 2.8
# the longest text of patterns that are given no longer one, which takes them less than a second
BOUNDED = {"perfvcs/locate/sources/outline.py": 10_000, "perfvcs/formats/_table.py": 400}
SECONDS = 120  # of CPU time for a pattern


class Use(NamedTuple):
    """A pattern, where it stands, and how it is used."""

    place: str
    pattern: re.Pattern[Any]
    methods: tuple[str, ...]


class Slow(NamedTuple):
    """A use whose time grows too fast, with the repeated ``unit``, and the seconds for both
    lengths.
    """

    place: str
    pattern: str
    method: str
    prefix: str
    unit: str
    seconds: tuple[float, float]


# -- which patterns there are ----------------------------------------------------------------------


def uses(words: Iterable[str] = ()) -> tuple[list[Use], list[str]]:
    """All patterns in the sources, and the places of those that are made where they are used, of
    other patterns.
    """
    trees = {
        path: ast.parse(path.read_text())
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if not any(parent.is_symlink() for parent in path.parents)
    }
    # by name of the pattern, in its own file and in any
    methods: dict[str, set[str]] = defaultdict(set)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                methods[f"{path}:{_last(node.value)}"].add(node.attr)
                methods[_last(node.value)].add(node.attr)
    found: list[Use] = []
    unknown: list[str] = []
    wanted = list(words)
    for path, tree in trees.items():
        name = str(path.relative_to(ROOT))
        if not wanted or any(word in name for word in wanted):
            _of_file(path, name, tree, methods, found, unknown)
    return found, unknown


def _of_file(
    path: Path,
    name: str,
    tree: ast.Module,
    methods: dict[str, set[str]],
    found: list[Use],
    unknown: list[str],
) -> None:
    names: dict[int, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            own = _last(node.targets[0] if isinstance(node, ast.Assign) else node.target)
            names[id(node.value)] = own
            names.update((id(one), own) for one in getattr(node.value, "elts", ()))
        elif isinstance(
            node, ast.For | ast.comprehension
        ):  # the loop's variable is used as the table's patterns
            methods[f"{path}:{_last(node.iter)}"] |= methods[f"{path}:{_last(node.target)}"]
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not _is_of_re(node.func) or not node.args:
            continue
        function = node.func.attr  # type: ignore[attr-defined]
        own = names.get(id(node), "")
        pattern = _pattern(path, node, own)
        used = (function,) if function in METHODS else _methods(path, own, methods)
        if pattern is None:
            listed = list(_listed(path, tree, node))
            found += [Use(f"{name}:{node.lineno}", one, used) for one in listed]
            unknown += [] if listed else [f"{name}:{node.lineno} {ast.unparse(node)[:80]}"]
            continue
        found.append(Use(f"{name}:{node.lineno}", pattern, used))


def _methods(path: Path, name: str, methods: dict[str, set[str]]) -> tuple[str, ...]:
    """How a pattern is used: in its own file, or wherever one of its name is."""
    known = methods.get(f"{path}:{name}") or methods.get(name) if name else None
    return tuple(sorted(known or ("fullmatch", "search")))


def _is_of_re(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == "re"
        and function.attr in (*METHODS, "compile")
    )


def _pattern(path: Path, call: ast.Call, name: str) -> re.Pattern[Any] | None:
    """The pattern of a call: as the module has it, or by its constant or the constant's name."""
    made = getattr(_module(path), name, None) if name else None
    if isinstance(made, re.Pattern):
        return made
    named = getattr(_module(path), _last(call.args[0]), None)
    try:
        text = named if isinstance(named, str | bytes) else ast.literal_eval(call.args[0])
        return re.compile(text, _flags(call))
    except ValueError:
        return None


def _flags(call: ast.Call) -> int:
    """The flags that a call gives its pattern."""
    function = call.func.attr  # type: ignore[attr-defined]
    flags = [word.value for word in call.keywords if word.arg == "flags"]
    if function not in ("sub", "subn", "split"):
        place = 1 if function == "compile" else 2
        flags += call.args[place : place + 1]
    value: int = eval(ast.unparse(flags[0]), {"re": re}) if flags else 0
    return value


def _listed(path: Path, tree: ast.Module, call: ast.Call) -> Iterator[re.Pattern[Any]]:
    """The patterns of a table of the module, where a call takes them from it by a key or in a
    loop.
    """
    argument, module = call.args[0], _module(path)
    table = getattr(module, _last(argument), None) if isinstance(argument, ast.Subscript) else None
    if isinstance(table, dict):
        yield from (re.compile(text, _flags(call)) for text in table.values())
    used = {node.id for node in ast.walk(argument) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.For | ast.comprehension) or not isinstance(
            node.target, ast.Tuple
        ):
            continue
        names = [_last(one) for one in node.target.elts]
        for row in _rows(module, node.iter) if used.intersection(names) else ():
            known = {**vars(module), **dict(zip(names, row, strict=True))}
            yield re.compile(eval(ast.unparse(argument), known), _flags(call))


def _rows(module: Any, table: ast.expr) -> Iterable[Any]:
    """The rows of a table of a module, or the items of a mapping; none of anything else."""
    if isinstance(table, ast.Call):
        mapping = getattr(module, _last(getattr(table.func, "value", table)), None)
        return mapping.items() if isinstance(mapping, dict) else ()
    rows = getattr(module, _last(table), ())
    return rows if isinstance(rows, list | tuple) else ()


def _module(path: Path) -> Any:
    """The module of a file; None where it cannot be imported, as what runs inside of a measured
    program.
    """
    name = str(path.relative_to(ROOT).with_suffix("")).replace("/", ".").removesuffix(".__init__")
    try:
        return importlib.import_module(name if name.startswith("perfvcs") else f"perfvcs.{name}")
    except ImportError:
        return None


def _last(node: ast.AST) -> str:
    if isinstance(node, ast.Subscript):
        return _last(node.value)
    return (
        node.id
        if isinstance(node, ast.Name)
        else node.attr
        if isinstance(node, ast.Attribute)
        else ""
    )


# -- which texts are tried -------------------------------------------------------------------------


def attacks(pattern: re.Pattern[Any]) -> tuple[list[str], list[str]]:
    """What comes before the repeated text, and what is repeated."""
    source = (
        pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = parser.parse(
            source,
            pattern.flags & ~(re.DEBUG | (re.UNICODE if isinstance(pattern.pattern, bytes) else 0)),
        )
    prefixes, units = {"": None}, dict.fromkeys(ALPHABET)
    _collect(tree, "", prefixes, units)
    units.pop("", None)
    return list(prefixes), list(units)


def _collect(
    tree: Iterable[Any], before: str, prefixes: dict[str, None], units: dict[str, None]
) -> str:
    """Add what a part of a pattern is made of; returns a text that it matches, behind another."""
    own = before
    for kind, value in tree:
        name = str(kind)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            prefixes[own] = None
            body = _collect(value[2], "", {}, units)
            units[body] = None
            _collect(value[2], own, prefixes, units)
            own += body * max(1, min(value[0], 40))
        elif name == "BRANCH":
            samples = [_collect(branch, own, prefixes, units) for branch in value[1]]
            units.update(dict.fromkeys(sample[len(own) :] for sample in samples))
            own = samples[0]
        elif name == "SUBPATTERN":
            own = _collect(value[3], own, prefixes, units)
        elif name == "ATOMIC_GROUP":
            own = _collect(value, own, prefixes, units)
        elif name in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            own += _character(name, value)
    units[own[len(before) :]] = None
    return own


def _character(name: str, value: Any) -> str:
    if name == "LITERAL":
        return chr(value)
    if name != "IN":
        return "b" if value == ord("a") else "a"
    excluded = any(str(kind) == "NEGATE" for kind, _ in value)
    for character in (
        *(one for one in ALPHABET if len(one) == 1),
        *(chr(code) for code in range(33, 127)),
    ):
        if any(_is_in(str(kind), inner, character) for kind, inner in value) != excluded:
            return character
    return chr(value[0][1]) if str(value[0][0]) == "LITERAL" else chr(value[0][1][0])


def _is_in(kind: str, inner: Any, character: str) -> bool:
    if kind == "CATEGORY":
        word = str(inner).rpartition("_")[2].lower()
        means = {
            "digit": character.isdigit(),
            "space": character.isspace(),
            "word": character.isalnum() or character == "_",
        }
        return means[word] != ("_NOT_" in str(inner))
    if kind == "RANGE":
        return bool(inner[0] <= ord(character) <= inner[1])
    return kind == "LITERAL" and bool(inner == ord(character))


# -- how long they take ----------------------------------------------------------------------------


def slow(use: Use) -> Iterator[Slow]:
    """The ways in which a pattern takes too long, one for each method."""
    prefixes, units = attacks(use.pattern)
    most = BOUNDED.get(use.place.partition(":")[0])
    for method in use.methods:
        for prefix, unit, end in (
            (prefix, unit, end) for prefix in prefixes for unit in units for end in ENDS
        ):
            if most is not None:
                if (taken := _seconds(use, method, prefix, unit, end, most)) > 1.0:
                    yield Slow(
                        use.place,
                        str(use.pattern.pattern)[:80],
                        method,
                        prefix[:40],
                        unit[:40],
                        (taken, taken),
                    )
                    break
                continue
            if _seconds(use, method, prefix, unit, end, 2000) < max(
                30 * _seconds(use, method, prefix, unit, end, 200), 4e-4
            ):
                continue
            pair = (
                _seconds(use, method, prefix, unit, end, SMALL),
                _seconds(use, method, prefix, unit, end, LARGE),
            )
            if pair[0] > 5e-3 and pair[1] > RATIO * pair[0]:
                again = (
                    min(_seconds(use, method, prefix, unit, end, size) for _ in range(2))
                    for size in (SMALL, LARGE)
                )
                pair = next(again), next(again)
            if pair[0] > 5e-3 and pair[1] > RATIO * pair[0]:
                yield Slow(
                    use.place, str(use.pattern.pattern)[:80], method, prefix[:40], unit[:40], pair
                )
                break


def _seconds(use: Use, method: str, prefix: str, unit: str, end: str, size: int) -> float:
    text: Any = prefix + unit * (size // len(unit)) + end
    if isinstance(use.pattern.pattern, bytes):
        text = text.encode("utf-8")
    began = time.process_time()
    if method in ("sub", "subn"):
        getattr(use.pattern, method)(text[:0], text)
    elif method == "finditer":
        for _ in use.pattern.finditer(text):
            pass
    else:
        getattr(use.pattern, method)(text)
    return time.process_time() - began


def _try(use: Use, answer: Any, seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    answer.send(list(slow(use)))


def tried(use: Use, seconds: int = SECONDS) -> list[Slow]:
    """The same in a process of its own, which ends when its CPU time is over."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_try, args=(use, there, seconds))
    process.start()
    there.close()
    try:
        return list(here.recv())
    except EOFError:
        over = (float(seconds), float(seconds))
        return [
            Slow(use.place, str(use.pattern.pattern)[:80], "any", "", "its CPU time is over", over)
        ]
    finally:
        process.join()


@benchmark("trust", quick={"only": ("memory/heap",)})
def patterns(*, only: tuple[str, ...] = ()) -> Iterator[Row]:
    """Which regular expressions take longer than their texts grow, in files with these words in their
    paths?
    """
    found, unknown = uses(only)
    count = texts = 0
    for use in found:
        prefixes, units = attacks(use.pattern)
        texts += len(prefixes) * len(units) * len(ENDS) * len(use.methods)
        for one in tried(use):
            count += 1
            text = f"{one.prefix!r} {one.unit!r} * n"
            small, large = one.seconds
            yield {
                "where": one.place,
                "method": one.method,
                "text": text,
                "s": small,
                "s, 2 n": large,
            }
    counts = {"patterns": len(found), "texts": texts, "made where they are used": len(unknown)}
    yield {**counts, "too slow": count}
    if count:
        raise Wrong(f"{count} patterns are too slow")
