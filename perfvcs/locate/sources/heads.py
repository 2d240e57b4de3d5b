"""What the head of a definition in C or C++ certainly names: anything that may be a macro's is not
certain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from perfvcs.locate.sources.parts import MACRO, OBJECT

NAME = re.compile(r"[A-Za-z_$]\w*")
_MACRO = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]*")
_BRACKETS = {"(": ")", "[": "]", "{": "}"}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


KEYWORDS = _words("""
alignas alignof asm auto bool break case catch char class const constexpr consteval constinit
const_cast continue decltype default delete do double dynamic_cast else enum explicit export
extern false float for friend goto if inline int long mutable namespace new noexcept nullptr
operator private protected public register reinterpret_cast restrict return short signed sizeof
static static_assert static_cast struct switch template this throw true try typedef typeid
typename union unsigned using virtual void volatile while define undef include ifdef ifndef endif
elif pragma defined size_t NULL std
    """)
ATTRIBUTES = _words(
    "__attribute__ __attribute __declspec alignas _Alignas noexcept throw decltype explicit typeof"
)
CALLED_BY_LINKERS = _words("constructor destructor ifunc alias weakref section used retain")
NO_TYPES = _words(
    "static inline virtual explicit constexpr consteval extern friend const volatile struct union"
    " enum"
)
LABELS = _words("public private protected signals slots")
TYPES = _words("void bool char short int long float double signed unsigned auto size_t")
QUALIFIERS = _words("const volatile register restrict struct union class enum typename")
AFTER = _words("const volatile override final mutable noexcept") | {"&"}
FRAGMENTS = _words(
    "return if for while do switch goto break continue case else throw try asm __asm__"
)
MEASURES = _words("sizeof alignof _Alignof offsetof requires defined operator")
DATA = _words("typedef enum struct union class")
STORED = QUALIFIERS | _words("static inline thread_local")
NO_OBJECTS = _words(
    "namespace template typedef using enum extern friend constexpr consteval constinit"
    " static_assert _Static_assert asm __asm__"
)
# what others call without naming it: compilers, and the libraries themselves
REPLACING = frozenset(
    {"operatornew", "operatornew[]", "operatordelete", "operatordelete[]"}
) | _words(
    "malloc calloc realloc free memalign aligned_alloc posix_memalign memcpy memmove memset memcmp"
    " strlen bcmp"
)


class Word(NamedTuple):
    """A word of a source: a name, a number, a text, a directive, or another character; ``start`` is
    the place of its first character.
    """

    kind: str
    text: str
    start: int = 0


class Head(NamedTuple):
    """A head that is certain: the ``name`` of the function, with what qualifies it, its
    ``parameters``, and what stands ``after`` them.
    """

    name: str
    parameters: frozenset[str] = frozenset()
    after: tuple[str, ...] = ()


def bare(chunk: Sequence[Word], *, called: bool = False) -> list[Word] | None:
    """A chunk without templates, attributes and labels such as ``public:``; None where one of them
    has no end, or calls it, unless it may be ``called``.
    """
    words: list[Word] = []
    place, value = 0, False  # whether the words are those of a value
    while place < len(chunk):
        word, following = chunk[place], chunk[place + 1].text if place + 1 < len(chunk) else ""
        end: int | None = place + 1
        value = value or word.text in ("=", "{")
        if word.text == "operator":
            end = _operator(chunk, place)
            words.append(Word("name", "".join(part.text for part in chunk[place:end])))
        elif (word.text in ATTRIBUTES and following == "(") or (
            word.text == "[" and following == "["
        ):
            end = _end(chunk, place + (word.text != "["))
            words += [word] if word.text in ("decltype", "typeof") else []
            calling = CALLED_BY_LINKERS.intersection(
                part.text.strip("_") for part in chunk[place:end]
            )
            if calling and not called:
                return None
        elif word.kind == "name" and following == "<" and not value:
            end = _angle(chunk, place + 1)
            words += [word] if word.text != "template" else []
        elif word.text == "extern" and following.endswith('"'):
            end = place + 2
        elif word.text == ":" and len(words) < 10 and any(part.text in LABELS for part in words):
            words = []
        else:
            words.append(word)
        if end is None:
            return None
        place = end
    return words


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
    groups = list(_groups(words)) if words is not None else []
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


def function_name(chunk: Sequence[Word]) -> str:
    """The name that stands in a head before brackets, certain or not; empty where there is none.

    One in capital letters is a macro's, where another one follows.
    """
    words = bare(chunk, called=True) or []
    names = [
        place
        for place, (word, following) in enumerate(pairwise(words))
        if word.kind == "name" and following.text == "(" and word.text not in KEYWORDS | ATTRIBUTES
    ]
    plain = [place for place in names if not words[place].text.isupper()]
    for place in plain or names:
        first = _first_of_name(words, place)
        return "".join(word.text for word in words[first : place + 1])
    return ""


def declares(chunk: Sequence[Word], scope: str) -> bool:
    """Whether a chunk that ends with a semicolon certainly declares what it names, and calls
    nothing when it is loaded.
    """
    if chunk[0].text in ("static_assert", "_Static_assert"):
        return True
    words = bare(chunk)
    if words is None:
        return False
    texts = [word.text for word in words]
    if not texts or texts[0] in ("typedef", "using", "enum") or "template" in texts[:2]:
        return True
    outside = list(_outside(texts))
    if not FRAGMENTS.isdisjoint(outside):
        return False
    if head(words[:-2] if texts[-2:-1] == ["="] else words, scope, body=False) is not None:
        return True
    if {"constexpr", "consteval", "constinit"}.isdisjoint(texts) and any(_calls(words)):
        return False
    if "{" in outside and not {"struct", "union", "class", "="} & set(outside) and ";" in texts:
        return False
    declared = outside[: outside.index("=")] if "=" in outside else outside
    pointer = any(pair in (("(", "*"), ("(", "&"), ("(", "^")) for pair in pairwise(texts))
    return sum(NAME.fullmatch(text) is not None for text in declared) > 1 - pointer


def starts(chunk: Sequence[Word]) -> str:
    """Why a definition outside of functions and types may run before ``main``; empty where it does
    not.
    """
    if calls_linker(chunk):
        return "an attribute by which it runs, or replaces what runs"
    texts = [word.text for word in chunk]
    if (
        texts[1:2] == ["("]
        and _end(chunk, 1) == len(chunk)
        and re.fullmatch(r"[A-Z][A-Z0-9_]+", texts[0])
    ):
        return MACRO
    words = bare(chunk)
    plain = [word.text for word in words or ()]
    if not plain or not NO_OBJECTS.isdisjoint(texts):
        return ""
    outside = list(_outside(plain))
    declared = outside[
        : min(
            (outside.index(mark) for mark in ("=", "{", "(") if mark in outside),
            default=len(outside),
        )
    ]
    names = [
        text
        for text in declared
        if NAME.fullmatch(text) and text not in STORED and not _MACRO.fullmatch(text)
    ]
    if "*" in declared or "operator" in "".join(declared) or len(names) < 2:
        return ""
    if "(" in outside and head(words or (), "", body=False) is not None:  # of a function, declared
        return ""
    return OBJECT if names[0] not in TYPES or any(_calls(words or ())) else ""


def calls_linker(chunk: Sequence[Word]) -> bool:
    """Whether an attribute has what it stands before run by itself, or in the place of something
    else.
    """
    for place, word in enumerate(chunk[:-1]):
        following = chunk[place + 1].text
        if (word.text in ATTRIBUTES and following == "(") or (
            word.text == "[" and following == "["
        ):
            end = _end(chunk, place + (word.text != "[")) or len(chunk)
            if not CALLED_BY_LINKERS.isdisjoint(part.text.strip("_") for part in chunk[place:end]):
                return True
    return False


def opens_data(chunk: Sequence[Word]) -> bool:
    """Whether a brace behind a chunk opens what a type or a value consists of, so that a name may
    follow.
    """
    words = bare(chunk)
    outside = list(_outside([word.text for word in words])) if words is not None else []
    return "=" in outside or ("(" not in outside and not DATA.isdisjoint(outside))


def scope_name(chunk: Sequence[Word]) -> str | None:
    """The name of what a brace opens that holds functions: a namespace, class or struct; None for
    anything else.
    """
    if (
        [word.text for word in chunk[:1]] == ["extern"]
        and len(chunk) == 2
        and chunk[1].kind == "text"
    ):
        return ""
    words = bare(chunk)
    texts = [word.text for word in words] if words is not None else []
    if "=" in texts or "(" in texts or "enum" in texts:
        return None
    if "namespace" in texts:
        return "::".join(
            text for text in texts[texts.index("namespace") + 1 :] if NAME.fullmatch(text)
        )
    for keyword in ("class", "struct", "union"):
        if keyword in texts:
            after = texts.index(keyword) + 1
            named = texts[after : texts.index(":", after) if ":" in texts[after:] else None]
            names = [
                text
                for text in named
                if NAME.fullmatch(text) and text not in KEYWORDS and text != "final"
            ]
            return names[-1] if names else None
    return None


def _operator(words: Sequence[Word], start: int) -> int:
    """The place behind the name of an operator."""
    place = start + (
        3 if [word.text for word in words[start + 1 : start + 3]] in (["(", ")"], ["[", "]"]) else 2
    )
    while place < len(words) and words[place].text != "(":
        place += 1
    return place


def _end(words: Sequence[Word], start: int) -> int | None:
    """The place behind the bracket that closes the one at ``start``."""
    depth = 0
    for place in range(start, len(words)):
        if words[place].kind == "other":
            depth += (words[place].text in _BRACKETS) - (words[place].text in _BRACKETS.values())
            if not depth:
                return place + 1
    return None


def _angle(words: Sequence[Word], start: int) -> int | None:
    """The place behind the ``>`` that closes the ``<`` at ``start``, round brackets apart."""
    depth, place = 0, start
    while place < len(words):
        text = words[place].text
        if text in _BRACKETS:
            end = _end(words, place)
            if end is None:
                return None
            place = end
            continue
        compares = text == "<" and place + 1 < len(words) and words[place + 1].text == "="
        depth += (text == "<" and not compares) - (text == ">")
        place += 1
        if not depth:
            return place
    return None


def _groups(words: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """The places of the round brackets at the outermost level; those that have no end go to the
    end.
    """
    place = 0
    while place < len(words):
        if words[place].text not in _BRACKETS:
            place += 1
            continue
        end = _end(words, place) or len(words) + 1
        if words[place].text == "(":
            yield place, end - 1
        place = end


def _outside(texts: Sequence[str]) -> Iterator[str]:
    """The words at the outermost level, with the brackets around the others."""
    depth = 0
    for text in texts:
        depth -= text in _BRACKETS.values()
        if not depth:
            yield text
        depth += text in _BRACKETS


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
        depth += (word.text in _BRACKETS) - (word.text in _BRACKETS.values())
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
            end = _end(words, place)
            if end is None:
                return False
            place = end
            continue
        if text not in AFTER and not (words[place].kind == "name" and text == text.upper()):
            return False
        place += 1
    return True


def _calls(words: Sequence[Word]) -> Iterator[str]:
    """The names before round brackets that may be functions or macros: not a pointer's in a
    declaration.
    """
    for before, word, inside in zip(words, words[1:], [*words[2:], Word("", "")], strict=False):
        if word.text != "(" or inside.text in ("*", "&", "^"):
            continue
        if before.text == ">" or (before.kind == "name" and before.text not in KEYWORDS | MEASURES):
            yield before.text
