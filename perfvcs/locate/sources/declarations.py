"""What stands between functions in C or C++: what declares, opens a scope, or runs before ``main``,
as far as that is certain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from perfvcs.locate.sources.chunks import (
    CALLED_BY_LINKERS,
    DATA,
    FRAGMENTS,
    KEPT_FOR_ASSEMBLY,
    KEYWORDS,
    MEASURES,
    NAME,
    NO_OBJECTS,
    STORED,
    TYPES,
    Word,
    bare,
    closing,
    has_attribute,
    outermost,
)
from perfvcs.locate.sources.heads import head
from perfvcs.locate.sources.parts import KEPT, MACRO, OBJECT

_MACRO = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]*")


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
    outside = list(outermost(texts))
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
    if has_attribute(chunk, CALLED_BY_LINKERS):
        return "an attribute by which it runs, or replaces what runs"
    if has_attribute(chunk, KEPT_FOR_ASSEMBLY):
        return KEPT
    texts = [word.text for word in chunk]
    if (
        texts[1:2] == ["("]
        and closing(chunk, 1) == len(chunk)
        and re.fullmatch(r"[A-Z][A-Z0-9_]+", texts[0])
    ):
        return MACRO
    words = bare(chunk)
    plain = [word.text for word in words or ()]
    if not plain or not NO_OBJECTS.isdisjoint(texts):
        return ""
    outside = list(outermost(plain))
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


def opens_data(chunk: Sequence[Word]) -> bool:
    """Whether a brace behind a chunk opens what a type or a value consists of, so that a name may
    follow.
    """
    words = bare(chunk)
    outside = list(outermost([word.text for word in words])) if words is not None else []
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


def _calls(words: Sequence[Word]) -> Iterator[str]:
    """The names before round brackets that may be functions or macros: not a pointer's in a
    declaration.
    """
    for before, word, inside in zip(words, words[1:], [*words[2:], Word("", "")], strict=False):
        if word.text != "(" or inside.text in ("*", "&", "^"):
            continue
        if before.text == ">" or (before.kind == "name" and before.text not in KEYWORDS | MEASURES):
            yield before.text
