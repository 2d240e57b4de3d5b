"""The resources of a Perun profile, whatever its layout, as blocks of columns that know where in
the document they stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from perfvcs.profile.validity import MAX_NAME, MAX_ROWS, Malformed

MAX_KEYS = 1000  # different fields of resources


class ResourceBlock(msgspec.Struct, frozen=True):
    """Resources that stand together: ``shared`` fields are the same for all, ``columns`` have a
    value each (or None).
    """

    path: str
    count: int
    shared: Mapping[str, Any]
    columns: Mapping[str, list[Any]] = {}

    def where(self, row: int, key: str) -> str:
        """The JSON path of a field of a row."""
        return (
            f"{self.path}[{row}].{key}"
            if isinstance(self, RowwiseBlock)
            else f"{self.path}.{key}[{row}]"
        )

    def column(self, key: str) -> list[Any]:
        """A field of all rows; None where one has none."""
        values = self.columns.get(key)
        return values if values is not None else [self.shared.get(key)] * self.count


class RowwiseBlock(ResourceBlock, frozen=True):
    """A block that stands in the document row by row."""


def blocks(document: Mapping[str, Any]) -> list[ResourceBlock]:
    """The blocks of a document; raises Malformed with the place, also where there are none."""
    read: list[ResourceBlock] = []
    for key in ("global", "resources", "snapshots"):
        value = document.get(key)
        if key == "snapshots":
            for number, snapshot in enumerate(listed(value, "$.snapshots")):
                place = f"$.snapshots[{number}]"
                holder = mapping(snapshot, place)
                read.append(
                    _rows(
                        holder.get("resources"),
                        f"{place}.resources",
                        {"snapshot": number, "time": holder.get("time")},
                    )
                )
        elif isinstance(value, dict) and key == "global":
            read.append(_rows(value.get("resources"), "$.global.resources", {}))
        elif isinstance(value, dict):
            types = mapping(document.get("resource_type_map"), "$.resource_type_map")
            read += [_columns(name, columns, types) for name, columns in value.items()]
        else:
            read.append(_rows(value, f"$.{key}", {}))
    count = sum(block.count for block in read)
    if count > MAX_ROWS:
        raise Malformed(f"it has {count:,} resources, over the limit of {MAX_ROWS:,}")
    if not count:
        raise Malformed("it has no resources with amounts")
    return read


def _rows(value: Any, path: str, shared: Mapping[str, Any]) -> ResourceBlock:
    rows = listed(value, path)
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise Malformed(f"{path}[{number}] is not an object")
    keys = dict.fromkeys(key for row in rows for key in row)
    if len(keys) > MAX_KEYS:
        raise Malformed(
            f"{path} has {len(keys):,} different fields, over the limit of {MAX_KEYS:,}"
        )
    return RowwiseBlock(
        path, len(rows), shared, {key: [row.get(key) for row in rows] for key in keys}
    )


def _columns(name: str, value: Any, types: Mapping[str, Any]) -> ResourceBlock:
    label = msgspec.json.encode(name[:MAX_NAME]).decode()
    place = f"$.resources[{label}]"
    if name not in types:
        raise Malformed(f"{place} is not in $.resource_type_map")
    columns = {
        key: listed(column, f"{place}.{key}") for key, column in mapping(value, place).items()
    }
    count = len(next(iter(columns.values()), []))
    for key, column in columns.items():
        if len(column) != count:
            raise Malformed(f"{place}.{key} has {len(column)} values, others have {count}")
    return ResourceBlock(
        place, count, mapping(types[name], f"$.resource_type_map[{label}]"), columns
    )


def mapping(value: Any, path: str) -> Mapping[str, Any]:
    """An object; an empty one for what is not there, or an empty text. Raises Malformed."""
    if value is None or value == "":
        return {}
    if not isinstance(value, dict):
        raise Malformed(f"{path} is not an object")
    return value


def listed(value: Any, path: str) -> list[Any]:
    """A list; an empty one for what is not there, or an empty text. Raises Malformed."""
    if value is None or value == "":
        return []
    if not isinstance(value, list):
        raise Malformed(f"{path} is not a list")
    return value


def text(value: Any, path: str) -> str:
    """A text of bounded length; numbers are written out, lists of words joined, and what is not
    there is empty. Raises Malformed.
    """
    if value is None or value == {} or isinstance(value, bool):
        return ""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = " ".join(value)
    if isinstance(value, int | float):
        value = str(value) if abs(value) < 1e300 else "?"
    if not isinstance(value, str) or len(value) > MAX_NAME:
        raise Malformed(f"{path} is not a text of at most {MAX_NAME:,} characters")
    return value
