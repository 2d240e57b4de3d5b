"""The parts of a source in C or C++, by its words: bodies of functions, and whatever else stands
between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from perfvcs.locate.sources.chunks import (
    KEPT_FOR_ASSEMBLY,
    KEYWORDS,
    NAME,
    REPLACING,
    Word,
    has_attribute,
)
from perfvcs.locate.sources.declarations import declares, opens_data, scope_name, starts
from perfvcs.locate.sources.heads import Head, function_name, head
from perfvcs.locate.sources.parts import (
    ANY_FILE,
    COMPUTED,
    KEPT,
    Functions,
    Parts,
    Statement,
    digest,
    words_of,
)

_TOKEN = re.compile(
    r"""(?P<directive>(?<![^\n])[ \t]*\#(?:[^\n\\/]|\\\r?\n|\\.|//[^\n]*|/\*.*?\*/|/(?!\*))*)
    |(?P<space>\s*\n|[^\S\n]+|\\\r?\n|//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/)
    |(?P<text>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"|(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+')
    |(?P<endless>(?:/\*|(?:u8|[uUL])?R"[^()\\\s"]{0,16}\().*)
    |(?P<name>[A-Za-z_$]\w*)
    |(?P<number>\.?\d(?:[\w.]|'(?=\w)|[eEpP][+-])*)
    |(?P<other>::|->|.)""",
    re.DOTALL | re.VERBOSE,
)
_INCLUDE = re.compile(
    r'\s*#\s*(include|import|include_next|embed)\b\s*(?:"([^"\n]+)"|<([^>\n]+)>)?(.*)', re.DOTALL
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\\\r?\n", re.DOTALL)
_TEXT = re.compile(r'"([^"\n]*)"')
LONGEST_HEAD = 2000  # words
MOST_SCOPES = 100  # that are open at once
_CONDITIONAL = re.compile(r"\s*#\s*(?:if|el|endif)")


class Body(NamedTuple):
    """A function with its body, from its first character to behind its last one; also one whose
    head a macro may have written, by the name that stands there.
    """

    name: str
    start: int
    end: int
    digest: str


class Bodies(NamedTuple):
    """The functions of a source as they stand there, and a digest of all that is ``outside``."""

    functions: tuple[Body, ...]
    outside: str


def parts(source: bytes) -> Parts | None:
    """The parts of a source; None where its brackets do not match, so that nobody knows where a
    function ends.
    """
    reader = _read(source.decode("utf-8", "replace").replace("\r\n", "\n"))
    if reader is None:
        return None
    return Parts(
        "c",
        reader.functions.all,
        tuple(reader.statements),
        tuple(reader.uses),
        tuple(reader.macros),
    )


def bodies(text: str) -> Bodies | None:
    """The functions of a source with their places; None as of ``parts``."""
    reader = _read(text)
    return None if reader is None else Bodies(tuple(reader.bodies), digest(reader.outside))


def _read(text: str) -> _Reader | None:
    words = _words(text)
    reader = _Reader(words or [])
    return reader if words is not None and reader.read() else None


def _words(text: str) -> list[Word] | None:
    """All words; None where a comment or a raw string has no end."""
    words: list[Word] = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind == "endless":
            return None
        if kind != "space":
            words.append(Word("text" if kind == "mark" else kind, match[0], match.start()))
    return words


class _Reader:
    """Cuts the words of a file into parts."""

    def __init__(self, words: list[Word]) -> None:
        self.words = words
        self.functions = Functions()
        self.statements: list[Statement] = []
        self.uses: dict[str, None] = {}
        self.macros: dict[str, None] = {}
        self.bodies: list[Body] = []
        self.outside: list[str] = []  # digests
        # of the scopes that are open, and whether they are types
        self.ends: list[tuple[int, bool]] = []
        self.conditions: list[str] = []  # a digest of each that is open, and of those around it
        self._begin()

    def _begin(self, *, behind_type: bool = False) -> None:
        """Begin a chunk: the words of what has not ended yet; it is ``torn`` where a condition
        begins or ends inside of it.
        """
        self.chunk: list[Word] = []
        self.open = 0  # round brackets
        self.torn = False
        self.behind_type = behind_type  # so that a single name is a variable

    def read(self) -> bool:
        """Read all words; False where brackets do not match."""
        place, scopes = 0, [""]
        ends = self.ends
        while place < len(self.words):
            kind, text, _ = self.words[place]
            if kind == "directive":
                if all(
                    word.text == word.text.upper() and word.kind == "name" for word in self.chunk
                ):
                    self._statement(scopes[-1])  # macros that stand alone
                self.torn = self.torn or bool(self.chunk and _CONDITIONAL.match(text))
                self._directive(text)
            elif text == "{":
                end, crossed = self._closing(place)
                if end is None or len(ends) > MOST_SCOPES:
                    return False
                self.torn = self.torn or crossed
                name = None if self._in_brackets else scope_name(self.chunk)
                if name is not None:
                    scopes.append(f"{scopes[-1]}{name}::" if name else scopes[-1])
                    ends.append(
                        (end, not {"class", "struct", "union"}.isdisjoint(_texts(self.chunk)))
                    )
                    if name:
                        self._statement(scopes[-2])
                    self._begin()
                else:
                    self._block(place, end, scopes[-1])
                    place = end
            elif text == "}":
                if not ends or ends[-1][0] != place:
                    return False
                self._statement(scopes.pop())
                self._begin(behind_type=ends.pop()[1])
            elif text == ";":
                self._statement(scopes[-1])
            else:
                self.chunk.append(self.words[place])
                self.open += (text == "(") - (text == ")")
            place += 1
        self._statement(scopes[-1])
        return not ends

    @property
    def _in_brackets(self) -> bool:
        return self.open > 0 or len(self.chunk) > LONGEST_HEAD

    def _block(self, start: int, end: int, scope: str) -> None:
        """What stands in braces that are no scope: a function's body, or a part of something
        else.
        """
        following = self.words[end + 1].text if end + 1 < len(self.words) else ""
        before = self.chunk[-1] if self.chunk else Word("", "")
        function = None if self._in_brackets or self.torn else head(self.chunk, scope)
        name = "" if function or self._in_brackets else function_name(self.chunk, scope)
        initialises = (
            function is not None
            and ":" in function.after
            and (before.kind == "name" or before.text == ">")
        )
        is_data = self._in_brackets or (function is None and opens_data(self.chunk))
        self.chunk += self.words[start : end + 1]
        if is_data or following in (",", ")", "]", "=", ".") or (initialises and following == "{"):
            return
        if function is not None and not initialises:
            self._function(scope, function)
        elif function is not None or following != ";":
            if name:
                self._body(scope + name)
            self._unclear(scope, has_body=bool(name))

    def _body(self, name: str) -> str:
        """Note where the function that has just ended stands; gives its digest."""
        content = digest([*self.conditions[-1:], *_texts(self.chunk)])
        last = self.chunk[-1]
        self.bodies.append(Body(name, self.chunk[0].start, last.start + len(last.text), content))
        return content

    def _closing(self, start: int) -> tuple[int | None, bool]:
        """The brace that closes another; branches of a condition are alternatives, of which the
        first one counts.

        Second, whether a condition around the one at ``start`` goes on before the other, so that
        they may belong to several heads.
        """
        depth, crossed = 0, False
        branches: list[
            tuple[int, int | None]
        ] = []  # of each open condition the depth where it begins, and that after its first branch
        for number in range(start, len(self.words)):
            kind, text, _ = self.words[number]
            if kind == "directive":
                word = text.lstrip("# \t")
                if word.startswith("if"):
                    branches.append((depth, None))
                elif word.startswith(("else", "elif")):
                    crossed = crossed or not branches
                    begin, end = branches.pop() if branches else (depth, None)
                    branches.append((begin, depth if end is None else end))
                    depth = begin
                elif word.startswith("endif") and branches:
                    _, end = branches.pop()
                    depth = depth if end is None else end
            elif kind == "other" and text in "{}":
                depth += 1 if text == "{" else -1
                if not depth:
                    return number, crossed
        return None, crossed

    def _directive(self, text: str) -> None:
        if match := _INCLUDE.match(text):
            name = match[2] or match[3]
            self.uses[name or ANY_FILE] = None  # a macro gives the name of any file
            if name and match[1] != "embed":
                self._add("", ["#include", name], [], effect=True)
            else:
                mentions = words_of(name) if name else NAME.findall(match[4])
                self._add("", ["#include", text], [], mentions, effect=True)
            return
        plain = _COMMENT.sub(" ", text)
        words = plain.replace("#", " ", 1).split()
        if not words:
            return
        names = [name for name in NAME.findall(plain) if name not in KEYWORDS]
        if words[0] in ("if", "ifdef", "ifndef"):
            self.conditions.append(digest([*self.conditions[-1:], *words]))
        elif words[0] in ("else", "elif") and self.conditions:
            self.conditions[-1] = digest([self.conditions[-1], *words])
        elif words[0] == "endif" and self.conditions:
            self.conditions.pop()
        elif words[0] in ("define", "undef"):
            self.macros.update(dict.fromkeys(names[:1]))
            self._add(
                "",
                words,
                names[:1],
                [*names[1:], *_named(text), *([COMPUTED] if "##" in text else [])],
            )
        else:
            self._add("", words, names, effect=True)

    def _function(self, scope: str, function: Head) -> None:
        name, chunk = scope + function.name, self.chunk
        self._inner()
        content = self._body(name)
        names = set(_mentions(chunk, function.parameters)) - KEYWORDS
        names.discard(name.rpartition("::")[2])
        self.functions.add(name, content, names)
        last = name.rpartition("::")[2]
        why = f"{last} in the place of a library's" if last in REPLACING else ""
        if has_attribute(chunk, KEPT_FOR_ASSEMBLY):
            why = KEPT
        self.statements.append(
            Statement("", digest(["function", name]), (last,), (), function=name, starts=why)
        )
        self._begin()

    def _statement(self, scope: str) -> None:
        """A declaration: any name in it may mean something else where it changes."""
        declaration = [Word("name", "struct"), *self.chunk] if self.behind_type else self.chunk
        if self.chunk and (
            self.torn or (not declares(declaration, scope) and scope_name(self.chunk) is None)
        ):
            self._unclear(scope)
        elif self.chunk:
            self._inner()
            names = [
                word.text
                for word in self.chunk
                if word.kind == "name" and word.text not in KEYWORDS
            ]
            self._add(
                scope,
                _texts(self.chunk),
                names,
                set(_mentions(self.chunk)) - KEYWORDS,
                starts=self._starts,
            )
        self._begin()

    def _unclear(self, scope: str, *, has_body: bool = False) -> None:
        """A macro may have made it: nobody knows what it defines, nor who runs that."""
        self._inner()
        texts = _texts(self.chunk)
        names = [name for name in _mentions(self.chunk) if name not in KEYWORDS]
        outside = set(texts[: texts.index("{")] if "{" in texts else texts)
        self._add(
            scope,
            texts,
            [name for name in names if name in outside],
            names,
            unclear=True,
            starts=self._starts,
            has_body=has_body,
        )
        self._begin()

    @property
    def _starts(self) -> str:
        return "" if any(is_type for _, is_type in self.ends) else starts(self.chunk)

    def _inner(self) -> None:
        """What directives inside of the chunk mean for all that follows."""
        for word in self.chunk:
            if word.kind == "directive" and not _CONDITIONAL.match(word.text):
                self._directive(word.text)

    def _add(
        self,
        scope: str,
        words: list[str],
        binds: list[str],
        mentions: Iterable[str] = (),
        *,
        effect: bool = False,
        unclear: bool = False,
        starts: str = "",
        has_body: bool = False,
    ) -> None:
        content = digest([*self.conditions[-1:], scope, *words])
        if not has_body:
            self.outside.append(content)
        self.statements.append(
            Statement(
                "",
                content,
                tuple(dict.fromkeys(binds)),
                tuple(dict.fromkeys(mentions)),
                effect,
                unclear=unclear,
                starts=starts,
            )
        )


def _texts(words: Sequence[Word]) -> list[str]:
    return [
        word.text if word.kind != "directive" else " ".join(_COMMENT.sub(" ", word.text).split())
        for word in words
    ]


def _mentions(words: Sequence[Word], parameters: frozenset[str] = frozenset()) -> Iterator[str]:
    """The names in some words, also of files; a parameter is not the function of its name, unless
    it is called.
    """
    for before, word, following in zip(
        [Word("", ""), *words], words, [*words[1:], Word("", "")], strict=False
    ):
        if word.kind == "directive":
            yield from NAME.findall(word.text)
        elif word.kind == "text":
            yield from words_of(word.text.partition('"')[2].rstrip('"'))
        elif word.kind == "name" and (
            word.text not in parameters or following.text == "(" or before.text in (".", "->", "::")
        ):
            yield word.text


def _named(text: str) -> Iterator[str]:
    """The names in the strings of a directive."""
    for string in _TEXT.findall(text):
        yield from words_of(string)
