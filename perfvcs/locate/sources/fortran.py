"""The parts of a source in Fortran, line by line: procedures, modules, and what they use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from perfvcs.locate.sources.parts import COMPUTED, Functions, Parts, Statement, digest
from perfvcs.text.characters import source_lines

_NAME = re.compile(r"[a-z]\w*")
KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        """
allocatable allocate assignment block call case character class close common complex contains
continue contiguous cycle data deallocate deferred dimension do double elemental else elseif
elsewhere end endif enddo entry enum equivalence exit extends external final forall format function
generic go goto if implicit import impure in inout inquire integer intent interface intrinsic kind
len logical module namelist none nopass not null nullify only open operator optional or and out
parameter pass pointer precision print private procedure program protected public pure read real
recursive result return rewind save select sequence stop submodule subroutine target then to type
use value volatile where while write true false eq ne lt le gt ge
        """,
    )
)
_STRING = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
_PROCEDURE = re.compile(
    r"(?:(?:(?:pure|impure|elemental|recursive|non_recursive|module|integer|real|double\s*precision|complex|logical|character|type|class)"
    r"\b\s*+(?:\*\s*+\d+|\([^()]*(?:\([^()]*\)[^()]*)*\))?\s*+)*)(subroutine|function)\s+([a-z]\w*)"
)
_PROGRAM = re.compile(r"(program|module|submodule\s*\([^)]*\)|block\s*data)\s*([a-z]\w*)?$")
_USE = re.compile(r"use\b\s*+(?:,\s*+(?:non_)?intrinsic\s*+)?(?:::)?\s*+([a-z]\w*)")
_END = re.compile(
    r"end\s*(?:(subroutine|function|program|module|submodule|procedure|block\s*data)\b\s*(?:[a-z]\w*)?)?$"
)
_ENTRY = re.compile(r"entry\s+([a-z]\w*)")
_DECLARATION = re.compile(
    r"(?:use|implicit|parameter|private|public|save|contains|data|common|dimension|external|intrinsic|equivalence|namelist|include|import"
    r"|format|type|class|integer|real|double|complex|logical|character|allocatable|pointer|target|protected|volatile|enum|enumerator"
    r"|procedure|generic|sequence|abstract|end\s*(?:type|enum))\b"
)
# what is called without its name
_IMPLICIT = re.compile(r"\b(?:operator|assignment)\s*\(|\bfinal\b")
# what an `end` closes
_OPENED = dict.fromkeys(("subroutine", "function", "procedure"), "procedure")
_INTERFACE = re.compile(r"(abstract\s+)?interface\b")
_INCLUDE = re.compile(r"\s*+#?\s*+include\s*+['\"<]([^'\"<>]+)['\">]", re.IGNORECASE)


def parts(source: bytes) -> Parts | None:
    """The parts of a source; None where a procedure has no end."""
    return _Reader().read(source.decode("utf-8", "replace"))


class _Reader:
    def __init__(self) -> None:
        self.functions = Functions()
        self.statements: list[Statement] = []
        self.uses: dict[str, None] = {}
        self.provides: list[str] = []

    def read(self, text: str) -> Parts | None:
        # kind, name and lines of the procedures and modules that are open
        units: list[tuple[str, str, list[str]]] = []
        interface: list[str] = []
        for line in _lines(text):
            if match := _INCLUDE.match(line):
                self.uses[match[1]] = None
                self._add(["include", match[1]], [], effect=True)
                continue
            plain = line.lower()
            bare = _STRING.sub("''", plain).strip()
            if bare.startswith("#"):
                names = _NAME.findall(bare)
                self._add(
                    bare.split(),
                    names,
                    [*names, *([COMPUTED] if "##" in bare else [])],
                    effect=True,
                )
                continue
            if match := _USE.match(bare):
                self.uses[match[1]] = None
            if interface or _INTERFACE.match(bare):
                interface.append(bare)
                if re.match(r"end\s*interface", bare):
                    self._declaration(" ".join(interface))
                    interface = []
            elif match := _PROCEDURE.match(bare):
                units.append(("procedure", match[2], [plain]))
            elif (match := _PROGRAM.match(bare)) and not bare.startswith("module procedure"):
                name = match[2] or match[1]
                units.append((match[1].split("(")[0].split()[0], name, []))
                if match[1] == "module":
                    self.provides.append(name)
                self._add([match[1], name], [name])
            elif match := _END.match(bare):
                if not units or (
                    match[1] and _OPENED.get(match[1], match[1].split()[0]) != units[-1][0]
                ):
                    return None  # a macro began it, or nothing that is known here
                self._close(units)
            elif units and units[-1][0] in ("procedure", "program"):
                units[-1][2].append(plain)
                if match := _ENTRY.match(bare):
                    self._add([bare], [match[1]], [units[-1][1]])
            elif bare not in ("contains", "implicit none"):
                self._declaration(plain)
        if interface or (units and units[-1][0] == "procedure"):
            return None
        while units:
            self._close(units)
        return Parts(
            "fortran",
            self.functions.all,
            tuple(self.statements),
            tuple(self.uses),
            tuple(self.provides),
        )

    def _declaration(self, plain: str) -> None:
        """What stands outside of procedures; a macro may have made what does not declare
        anything.
        """
        bare = _STRING.sub("''", plain)
        names = [name for name in _NAME.findall(bare) if name not in KEYWORDS]
        declares = "::" in bare or _DECLARATION.match(bare) or _INTERFACE.match(bare)
        self._add([plain], names, names, unclear=not declares or bool(_IMPLICIT.search(bare)))

    def _close(self, units: list[tuple[str, str, list[str]]]) -> None:
        kind, name, lines = units.pop()
        if kind not in ("procedure", "program"):
            return
        words = [" ".join(line.split()) for line in lines]
        names = (
            {word for line in lines for word in _NAME.findall(_STRING.sub("''", line))}
            - {name}
            - KEYWORDS
        )
        # an inner procedure belongs to the one around it
        if units and units[-1][0] in ("procedure", "program"):
            units[-1][2].extend(lines)
            return
        self.functions.add(name, digest(words), names)
        self.statements.append(
            Statement(
                scope="",
                digest=digest([kind, name]),
                binds=(name,),
                mentions=(),
                effect=False,
                main=False,
                function=name,
            )
        )

    def _add(
        self,
        words: list[str],
        binds: list[str],
        mentions: Iterable[str] = (),
        *,
        effect: bool = False,
        unclear: bool = False,
    ) -> None:
        names = tuple(dict.fromkeys(binds)), tuple(dict.fromkeys(mentions))
        self.statements.append(Statement("", digest(words), *names, effect, unclear=unclear))


def _lines(text: str) -> Iterator[str]:
    """Whole statements, in lines without comments; of fixed and of free form, which are told apart
    line by line.
    """
    fixed = not re.search(r"^ {0,5}[A-Za-z]", text, re.MULTILINE) or bool(
        re.search(r"^[cC*][ \t]", text, re.MULTILINE)
    )
    waiting = ""
    for line in source_lines(text):
        if fixed and line[:1] in ("c", "C", "*", "!"):
            continue
        plain = _without_comment(line)
        if not plain.strip():
            continue
        if fixed and len(plain) > 5 and plain[5] not in " 0" and not plain[:5].strip() and waiting:
            waiting += plain[6:]
            continue
        if waiting.endswith("&"):
            waiting = waiting[:-1] + plain.strip().removeprefix("&")
        else:
            if waiting:
                yield from (part.strip() for part in _split(waiting) if part.strip())
            waiting = plain.strip()
    if waiting:
        yield from (part.strip() for part in _split(waiting) if part.strip())


def _without_comment(line: str) -> str:
    quote = ""
    for place, character in enumerate(line):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "!":
            return line[:place].rstrip()
    return line.rstrip()


def _split(line: str) -> list[str]:
    """The statements of a line, which semicolons separate outside of strings."""
    if ";" not in line:
        return [line]
    masked = _STRING.sub(lambda match: match[0].replace(";", "\0"), line)
    return [part.replace("\0", ";") for part in masked.split(";")]
