"""The words of C or C++ between two ends of statements: without templates, attributes and labels,
and by their brackets.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

NAME = re.compile(r"[A-Za-z_$]\w*")
BRACKETS = {"(": ")", "[": "]", "{": "}"}


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
CALLED_BY_LINKERS = _words("constructor destructor ifunc alias weakref section")
KEPT_FOR_ASSEMBLY = _words("used retain")  # that is, without any caller that the compiler sees
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
            end = closing(chunk, place + (word.text != "["))
            words += [word] if word.text in ("decltype", "typeof") else []
            calling = CALLED_BY_LINKERS.intersection(
                part.text.strip("_") for part in chunk[place:end]
            )
            if calling and not called:
                return None
        elif word.kind == "name" and following == "<" and not value:
            end = closing_angle(chunk, place + 1)
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


def has_attribute(chunk: Sequence[Word], names: Collection[str]) -> bool:
    """Whether what a chunk defines has one of some attributes."""
    for place, word in enumerate(chunk[:-1]):
        following = chunk[place + 1].text
        if (word.text in ATTRIBUTES and following == "(") or (
            word.text == "[" and following == "["
        ):
            end = closing(chunk, place + (word.text != "[")) or len(chunk)
            if any(part.text.strip("_") in names for part in chunk[place:end]):
                return True
    return False


def _operator(words: Sequence[Word], start: int) -> int:
    """The place behind the name of an operator."""
    place = start + (
        3 if [word.text for word in words[start + 1 : start + 3]] in (["(", ")"], ["[", "]"]) else 2
    )
    while place < len(words) and words[place].text != "(":
        place += 1
    return place


def closing(words: Sequence[Word], start: int) -> int | None:
    """The place behind the bracket that closes the one at ``start``."""
    depth = 0
    for place in range(start, len(words)):
        if words[place].kind == "other":
            depth += (words[place].text in BRACKETS) - (words[place].text in BRACKETS.values())
            if not depth:
                return place + 1
    return None


def closing_angle(words: Sequence[Word], start: int) -> int | None:
    """The place behind the ``>`` that closes the ``<`` at ``start``, round brackets apart."""
    depth, place = 0, start
    while place < len(words):
        text = words[place].text
        if text in BRACKETS:
            end = closing(words, place)
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


def round_groups(words: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """The places of the round brackets at the outermost level; those that have no end go to the
    end.
    """
    place = 0
    while place < len(words):
        if words[place].text not in BRACKETS:
            place += 1
            continue
        end = closing(words, place) or len(words) + 1
        if words[place].text == "(":
            yield place, end - 1
        place = end


def outermost(texts: Sequence[str]) -> Iterator[str]:
    """The words at the outermost level, with the brackets around the others."""
    depth = 0
    for text in texts:
        depth -= text in BRACKETS.values()
        if not depth:
            yield text
        depth += text in BRACKETS
