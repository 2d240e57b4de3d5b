"""Documents: structs that are written as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from perfvcs import __version__
from perfvcs.text.characters import escaped

Document = TypeVar("Document", bound=msgspec.Struct)


def json_text(document: object, *, indent: int = 2) -> str:
    """A struct, or rows of them, as JSON that is safe on a terminal; ``indent`` 0: in one line."""
    text = msgspec.json.encode(document)
    return escaped((msgspec.json.format(text, indent=indent) if indent else text).decode())


def sarif_log(run: Mapping[str, object], rule: Mapping[str, object]) -> str:
    """A SARIF 2.1.0 log with the results of a run by one rule."""
    driver = {"name": "perfvcs", "version": __version__, "rules": [rule]}
    return json_text(
        {
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{"tool": {"driver": driver}, **run}],
        }
    )


def filled(kind: type[Document], *sources: object, **given: object) -> Document:
    """The document of a kind whose fields are ``given``, or attributes of the first of the
    ``sources`` that has them.

    Raises TypeError for a field that is nowhere and has no default.

    >>> class Named(msgspec.Struct):
    ...     real: float
    ...     name: str
    >>> json_text(filled(Named, 1.5, name="half"), indent=0)
    '{"real":1.5,"name":"half"}'
    """
    values = dict(given)
    for name in kind.__struct_fields__:
        source = next((source for source in sources if hasattr(source, name)), None)
        if name not in values and source is not None:
            values[name] = getattr(source, name)
    return kind(**values)
