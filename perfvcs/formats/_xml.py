"""XML that strangers wrote: elements with those around them, within bounds, and without entities."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple
from xml.parsers import expat

from perfvcs.foreign import MAX_DEPTH
from perfvcs.formats._foreign import bounded
from perfvcs.validity import Malformed


class Element(NamedTuple):
    """The name and the attributes of an element, and the elements around it, the outermost first."""

    name: str
    attributes: dict[str, str]
    around: tuple[Element, ...]


def elements(document: bytes, wanted: Container[str]) -> list[Element]:
    """The elements of some names, in their order; texts are left out.

    A document type, which is where entities are declared, is refused. Raises Malformed with line and column.
    """
    found: list[Element] = []
    stack: list[Element] = []
    parser = expat.ParserCreate("utf-8")  # whatever encoding it names, which may be any word

    def refuse(*_: object) -> None:
        raise Malformed(f"line {parser.CurrentLineNumber}: it has a document type, whose entities are not read: take it out")

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(stack) >= MAX_DEPTH:
            raise Malformed(f"line {parser.CurrentLineNumber}: it is nested deeper than {MAX_DEPTH} levels")
        stack.append(Element(name, attributes, tuple(stack)))
        if name in wanted:
            found.append(stack[-1])

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: stack.pop()
    try:
        parser.Parse(bounded(document), True)
    except expat.ExpatError as error:
        raise Malformed(f"line {error.lineno}, column {error.offset}: {expat.ErrorString(error.code)}") from None
    return found
