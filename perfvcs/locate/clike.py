"""The parts of a source in C or C++, by its words: bodies of functions, and whatever else stands between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from perfvcs.locate.parts import Function, Parts, Statement, digest

_TOKEN = re.compile(
    r"""(?P<space>\s+|\\\r?\n|//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/)
    |(?P<directive>(?<![^\n])[ \t]*\#(?:[^\n\\/]|\\\r?\n|\\.|//[^\n]*|/\*.*?\*/|/)*)
    |(?P<text>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"|(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+')
    |(?P<name>[A-Za-z_$]\w*)
    |(?P<number>\.?\d(?:[\w.]|'(?=\w)|[eEpP][+-])*)
    |(?P<other>::|->|.)""",
    re.DOTALL | re.VERBOSE,
)
_INCLUDE = re.compile(r'\s*#\s*(?:include|import|include_next)\s*(?:"([^"\n]+)"|<([^>\n]+)>)?')
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\\\r?\n", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_$]\w*")
KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        """
alignas alignof asm auto bool break case catch char class const constexpr consteval constinit const_cast continue decltype default
delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace
new noexcept nullptr operator private protected public register reinterpret_cast restrict return short signed sizeof static
static_assert static_cast struct switch template this throw true try typedef typeid typename union unsigned using virtual void
volatile while define undef include ifdef ifndef endif elif pragma defined size_t NULL std
        """,
    )
)
_NO_FUNCTION = frozenset(
    {
        "if", "for", "while", "switch", "catch", "return", "sizeof", "do", "else", "__attribute__", "__declspec", "alignas", "decltype",
        "noexcept", "requires",
    }
)  # fmt: skip


class _Word(NamedTuple):
    kind: str
    text: str


def parts(source: bytes) -> Parts | None:
    """The parts of a source; None where its brackets do not match, so that nobody knows where a function ends."""
    text = source.decode("utf-8", "replace").replace("\r\n", "\n")
    return _Reader(list(_words(text))).read()


def _words(text: str) -> Iterator[_Word]:
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind == "mark":
            kind = "text"
        if kind != "space":
            yield _Word(kind, match[0])


class _Reader:
    """Cuts the words of a file into parts."""

    def __init__(self, words: list[_Word]) -> None:
        self.words = words
        self.functions: dict[str, Function] = {}
        self.statements: list[Statement] = []
        self.uses: dict[str, None] = {}
        self.conditions: list[str] = []

    def read(self) -> Parts | None:
        place, scopes = 0, [""]
        chunk: list[_Word] = []
        depth: list[int] = []  # of the scopes that are open
        while place < len(self.words):
            kind, text = self.words[place]
            if kind == "directive":
                self._directive(text)
                place += 1
            elif text == "{":
                end = self._closing(place)
                if end is None:
                    return None
                if (name := _scope(chunk)) is not None:
                    scopes.append(f"{scopes[-1]}{name}::" if name else scopes[-1])
                    depth.append(end)
                    if name:
                        self._statement(chunk, scopes[-2])
                    chunk = []
                    place += 1
                elif (function := _function(chunk)) and _ends_here(self.words, end):
                    self._function(scopes[-1] + function, [*chunk, *self.words[place : end + 1]])
                    chunk = []
                    place = end + 1
                else:
                    chunk += self.words[place : end + 1]
                    place = end + 1
            elif text == "}":
                if not depth or depth[-1] != place:
                    return None
                depth.pop()
                self._statement(chunk, scopes.pop())
                chunk = []
                place += 1
            else:
                if text == ";":
                    self._statement(chunk, scopes[-1])
                    chunk = []
                else:
                    chunk.append(self.words[place])
                place += 1
        self._statement(chunk, scopes[-1])
        return Parts("c", self.functions, tuple(self.statements), tuple(self.uses)) if not depth else None

    def _closing(self, start: int) -> int | None:
        """The brace that closes another; branches of a condition are alternatives, of which the first one counts."""
        depth = 0
        branches: list[
            tuple[int, int | None]
        ] = []  # of each open condition the depth where it begins, and that after its first branch
        for number in range(start, len(self.words)):
            kind, text = self.words[number]
            if kind == "directive":
                word = text.lstrip("# \t")
                if word.startswith("if"):
                    branches.append((depth, None))
                elif word.startswith(("else", "elif")):
                    begin, end = branches.pop() if branches else (depth, None)
                    branches.append((begin, depth if end is None else end))
                    depth = begin
                elif word.startswith("endif") and branches:
                    _, end = branches.pop()
                    depth = depth if end is None else end
            elif kind == "other" and text in "{}":
                depth += 1 if text == "{" else -1
                if not depth:
                    return number
        return None

    def _directive(self, text: str) -> None:
        if found := _INCLUDE.match(text):
            name = found[1] or found[2]
            if name:
                self.uses[name] = None
            self._add("", ["#include", name or text], [], effect=True)
            return
        plain = _COMMENT.sub(" ", text)
        words = plain.replace("#", " ", 1).split()
        if not words:
            return
        names = [name for name in _NAME.findall(plain) if name not in KEYWORDS]
        if words[0] in ("if", "ifdef", "ifndef"):
            self.conditions.append(" ".join(words))
        elif words[0] in ("else", "elif") and self.conditions:
            self.conditions[-1] += " ".join(words)
        elif words[0] == "endif" and self.conditions:
            self.conditions.pop()
        elif words[0] in ("define", "undef"):
            self._add("", words, names[:1], names[1:])
        else:
            self._add("", words, names, effect=True)

    def _function(self, name: str, words: list[_Word]) -> None:
        texts = [word.text if word.kind != "directive" else " ".join(_COMMENT.sub(" ", word.text).split()) for word in words]
        names = {found for word in words if word.kind in ("name", "directive") for found in _NAME.findall(word.text)} - KEYWORDS
        names.discard(name.rpartition("::")[2])
        found = digest([*self.conditions, *texts])
        if known := self.functions.get(name):  # overloaded, or for several platforms
            found, names = digest([known.digest, found]), names.union(known.mentions)
        self.functions[name] = Function(found, tuple(sorted(names)))
        self.statements.append(Statement("", digest(["function", name]), (name.rpartition("::")[2],), (), False, False, name))

    def _statement(self, chunk: list[_Word], scope: str) -> None:
        """A declaration: any name in it may mean something else where it changes."""
        if chunk:
            names = [word.text for word in chunk if word.kind == "name" and word.text not in KEYWORDS]
            self._add(scope, [word.text for word in chunk], names, names)

    def _add(
        self, scope: str, words: list[str], binds: list[str], mentions: list[str] | None = None, *, effect: bool = False
    ) -> None:
        found = digest([*self.conditions, scope, *words])
        self.statements.append(Statement("", found, tuple(dict.fromkeys(binds)), tuple(dict.fromkeys(mentions or ())), effect))


def _scope(chunk: list[_Word]) -> str | None:
    """The name of what a brace opens that holds functions: a namespace, class or struct; None for anything else."""
    texts = [word.text for word in chunk]
    if texts[:1] == ["extern"] and len(texts) == 2 and chunk[1].kind == "text":
        return ""
    if "namespace" in texts and "=" not in texts:
        return "::".join(word.text for word in chunk[texts.index("namespace") + 1 :] if word.kind == "name")
    for keyword in ("class", "struct", "union"):
        if keyword in texts and "(" not in texts and "=" not in texts and "enum" not in texts:
            after = texts.index(keyword) + 1
            own = texts[after : texts.index(":", after) if ":" in texts[after:] else None]
            names = [text for text in own if _NAME.fullmatch(text) and text not in KEYWORDS and text != "final"]
            return names[-1] if names else None
    return None


def _function(chunk: list[_Word]) -> str:
    """The name of the function whose body follows; empty where none does."""
    texts = [word.text for word in chunk]
    if "operator" in texts and "(" in texts[texts.index("operator") + 2 :]:
        place = texts.index("operator")
        return "operator" + "".join(texts[place + 1 : texts.index("(", place + 2)])
    depth = 0
    for number, text in enumerate(texts):
        if text == "(":
            known = number and chunk[number - 1].kind == "name" and texts[number - 1] not in _NO_FUNCTION
            if not depth and known and not (texts[number - 1].isupper() and _names_type(chunk, number)):
                return _qualified(chunk, number - 1)
            depth += 1
        elif text == ")":
            depth -= 1
        elif text == "=" and not depth:
            return ""
    return ""


def _names_type(chunk: list[_Word], start: int) -> bool:
    """Whether the brackets that open at ``start`` are a macro's about the type, as in ``EXPORT(char *) name(int a)``."""
    depth = 0
    for number in range(start, len(chunk)):
        depth += (chunk[number].text == "(") - (chunk[number].text == ")")
        if not depth:
            rest = [word for word in chunk[number + 1 :] if word.text not in ("*", "&", "::", "~")]
            names = next((place for place, word in enumerate(rest) if word.kind != "name"), len(rest))
            return bool(names) and names < len(rest) and rest[names].text == "(" and not rest[names - 1].text.isupper()
    return False


def _qualified(chunk: list[_Word], last: int) -> str:
    """A name with the classes and namespaces before it."""
    name, before = chunk[last].text, last
    while before >= 2 and chunk[before - 1].text == "::" and chunk[before - 2].kind == "name":
        name, before = f"{chunk[before - 2].text}::{name}", before - 2
    return f"~{name}" if before and chunk[before - 1].text == "~" else name


def _ends_here(words: list[_Word], end: int) -> bool:
    """Whether a brace ends a function: an initialiser is followed by a comma, a semicolon or an operator."""
    return end + 1 >= len(words) or words[end + 1].text not in (",", ")", "]", "=", ".")
