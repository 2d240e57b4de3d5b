"""What the head of a definition in C or C++ certainly names: anything that may be a macro's is not
certain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from perfvcs.locate.sources.chunks import (
    AFTER,
    ATTRIBUTES,
    BRACKETS,
    DATA,
    FRAGMENTS,
    KEYWORDS,
    MEASURES,
    NAME,
    NO_TYPES,
    QUALIFIERS,
    TYPES,
    Word,
    bare,
    closing,
    round_groups,
)


class Head(NamedTuple):
    """A head that is certain: the ``name`` of the function, with what qualifies it, its
    ``parameters``, and what stands ``after`` them.
    """

    name: str
    parameters: frozenset[str] = frozenset()
    after: tuple[str, ...] = ()


def head(chunk: Sequence[Word], scope: str, *, body: bool = True) -> Head | None:
    """The function that a head defines or declares in a ``scope``; None where a macro may have made
    it, or it is something else.

    1. The first name with a lower-case letter before brackets at the outermost level is the
       function's; a constructor, a destructor and
       an operator may be written in any way.
    2. Before it stand names, ``*`` and ``&``, of which one is its type; or one macro with brackets
       does, which is the type.
    3. Each parameter begins with a name. Without a ``body``, outside of types, one has a type:
       ``Type name(argument);`` is a variable.
    4. Behind it stand qualifiers, macros in capital letters, a type behind ``->``, or a
       constructor's initialisers.
    """
    words = bare(chunk)
    groups = list(round_groups(words)) if words is not None else []
    for number, (start, end) in enumerate(groups):
        if words is None or not start or words[start - 1].kind != "name":
            return None
        first = _first_of_name(words, start - 1)
        name = "".join(word.text for word in words[first:start])
        last = words[start - 1].text
        holder = (
            words[start - 3].text if first < start - 2 else scope.rstrip(":").rpartition("::")[2]
        )
        made = last == holder or words[start - 2].text == "~"
        special = made or last.startswith("operator")
        if last in KEYWORDS or (last == last.upper() and not special):
            continue
        before = words[:first] if not number else words[: groups[number - 1][0]]
        macro_is_type = number == 1 and groups[0][1] + 1 == first
        certain = (
            (not number or macro_is_type)
            and all(word.kind == "name" or word.text in ("*", "&", "::") for word in before)
            and (special or macro_is_type or any(word.text not in NO_TYPES for word in before))
            and FRAGMENTS.isdisjoint(word.text for word in before)
        )
        parts = list(_parts(words[start + 1 : end]))
        after = words[end + 1 :]
        certain = (
            certain
            and all(map(_is_parameter, parts))
            and (body or bool(scope) or not parts or any(map(_is_typed, parts)))
        )
        if not certain or not _may_follow(after, made=made):
            return None
        return Head(
            name,
            frozenset(filter(None, map(_parameter, parts))),
            tuple(word.text for word in after),
        )
    return None


def function_name(chunk: Sequence[Word], scope: str) -> str:
    """The name of the function that a head in a ``scope`` defines, certain or not; empty where
    there is none.

    1. It is the first name before brackets at the outermost level, or in brackets before others.
    2. One in capital letters is a macro's, unless it is a constructor's, or a type stands before it
       and a type in each of its parameters.
    3. A name and its type before a macro are the function's, of which the macro has the parameters.
    4. Where only the macro knows it, it is called by that with its names: ``TEST(Box, closes)``.
    """
    words = bare(chunk, called=True) or []
    written = ""
    for start, end in round_groups(words):
        inside = words[start + 1 : end]
        is_followed = words[end + 1 : end + 2] and words[end + 1].text == "("
        if not start or words[start - 1].kind != "name":
            continue
        last = words[start - 1].text
        if is_followed and inside and inside[0].text in ("*", "&"):
            return function_name(inside, scope)
        if is_followed and len(inside) == 1 and not last.isupper():
            return inside[0].text if inside[0].kind == "name" else ""
        if last in KEYWORDS | ATTRIBUTES | MEASURES:
            continue
        first = _first_of_name(words, start - 1)
        behind = _name_behind_type(words[:first]) if last.isupper() else ""
        if behind or not _is_macro(words[:start], first, inside, scope):
            return behind or "".join(word.text for word in words[first:start])
        names = [
            part[0].text for part in _parts(inside) if len(part) == 1 and part[0].kind == "name"
        ]
        if names and not written:
            written = f"{last}({', '.join(names)})"
    return "" if DATA & {word.text for word in words} else written


def _is_macro(words: Sequence[Word], first: int, parameters: Sequence[Word], scope: str) -> bool:
    """Whether the last of some words, a name that begins at ``first``, is a macro's."""
    holder = words[-3].text if first < len(words) - 2 else scope.rstrip(":").rpartition("::")[2]
    if not words[-1].text.isupper() or words[-1].text == holder:
        return False
    typed = all(map(_is_typed, _parts(parameters)))
    return not typed or not _has_type(words[:first])


def _has_type(words: Sequence[Word]) -> bool:
    """Whether a type is among what stands before a function's name."""
    return any(
        word.kind == "name" and not word.text.isupper() and word.text not in NO_TYPES
        for word in words
    )


def _name_behind_type(words: Sequence[Word]) -> str:
    """The name with which some words end, if it is not a macro's and a type stands before it."""
    if not words or words[-1].kind != "name" or words[-1].text.isupper():
        return ""
    first = _first_of_name(words, len(words) - 1)
    is_name = words[-1].text not in KEYWORDS and _has_type(words[:first])
    return "".join(word.text for word in words[first:]) if is_name else ""


def _first_of_name(words: Sequence[Word], last: int) -> int:
    """Where a name begins with the classes and namespaces before it."""
    first = last
    if first and words[first - 1].text == "~":
        first -= 1
    while first >= 2 and words[first - 1].text == "::" and words[first - 2].kind == "name":
        first -= 2
    return first


def _parts(words: Sequence[Word]) -> Iterator[list[Word]]:
    """What commas separate."""
    part: list[Word] = []
    depth = 0
    for word in words:
        depth += (word.text in BRACKETS) - (word.text in BRACKETS.values())
        if word.text == "," and not depth:
            yield part
            part = []
        else:
            part.append(word)
    if part:
        yield part


def _is_parameter(part: Sequence[Word]) -> bool:
    """Whether what stands between commas may be a parameter."""
    return bool(part) and (part[0].kind == "name" or part[0].text == ".")


def _is_typed(part: Sequence[Word]) -> bool:
    """Whether what stands between commas has a type, so that it is no argument."""
    texts = [word.text for word in part]
    declared = texts[: texts.index("=")] if "=" in texts else texts
    names = [
        place
        for place, text in enumerate(declared)
        if NAME.fullmatch(text) and (not place or declared[place - 1] != "::")
    ]
    return (
        not TYPES.isdisjoint(declared) or len(names) > 1 or declared[-1:] in (["*"], ["&"], ["."])
    )


def _parameter(part: Sequence[Word]) -> str:
    """The name of a parameter; empty where it has none, or is written in another way."""
    texts = [word.text for word in part]
    declared = texts[: texts.index("=")] if "=" in texts else texts
    declared = declared[: declared.index("[")] if "[" in declared else declared
    if (
        "(" in declared
        or len(declared) < 2
        or declared[-2] in QUALIFIERS
        or declared[-2] == "::"
        or declared[-1] in KEYWORDS
    ):
        return ""
    return (
        declared[-1]
        if NAME.fullmatch(declared[-1]) and not QUALIFIERS.issuperset(declared[:-1])
        else ""
    )


def _may_follow(words: Sequence[Word], *, made: bool) -> bool:
    """Whether what stands between the parameters and the body belongs to the head."""
    place = 0
    while place < len(words):
        text = words[place].text
        if text == "->" or (text == ":" and made):
            return True
        if text == "(" and place and words[place - 1].kind == "name":
            end = closing(words, place)
            if end is None:
                return False
            place = end
            continue
        if text not in AFTER and not (words[place].kind == "name" and text == text.upper()):
            return False
        place += 1
    return True
