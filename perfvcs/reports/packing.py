"""Layouts as BokehJS reads them: their models as JSON, those of all figures of a page in one stream
of gzip, as text.
"""

from __future__ import annotations

import gzip
import json
import zlib
from typing import TYPE_CHECKING, Any, Literal

from perfvcs.system.numeric import np

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement

Backend = Literal["canvas", "svg"]
# The newest bokeh whose private attributes are known here: 3.3.4 and 3.9.2 were tried. A newer one
# encodes its figures itself, which takes a tenth to two fifths more of the time of a page.
NEWEST_KNOWN = (3, 9)
ZLIB_LEVEL = 6  # of zlib: beyond it the time grows and the size does not shrink
GZIP = 31  # zlib's window, with the header that browsers know
SHARED = 16  # values of a column from which on it is kept once for all figures
# RFC 1924's, a comma for <
LETTERS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;,=>?@^_`{|}~"
# bytes, and the letters that stand for them: a quarter more, where base64 takes a third
WORD_BYTES, DIGITS = 4, 5
SHARED_KEY = "$"  # the key of an object that stands for a shared column
COUNTED_KEY = "#"  # and for the pairs of its values with their numbers, as of an axis's labels


class FigureArchive:
    """The figures of a page, two lines each: the columns that no figure before it has, and the
    document with references to columns.

    Figures have their models' structure in common, and many their columns: in one stream 24
    comparisons are a fifth as large as alone.
    """

    def __init__(self, backend: Backend = "canvas") -> None:
        self._backend = backend
        self._stream = zlib.compressobj(ZLIB_LEVEL, wbits=GZIP)
        self._bytes = b""
        self._columns: dict[str, int] = {}

    def add(self, layout: UIElement, target: str, most: int | None = None) -> int:
        """Take in what BokehJS needs to draw a layout into the element ``target``; returns how many
        plots it has.

        Where all figures would then have more than ``most`` characters, it is left out, and 0 is
        returned.
        """
        import bokeh

        version = tuple(map(int, bokeh.__version__.split(".")[:2]))
        encode = _sparse if version <= NEWEST_KNOWN else _whole
        document, plots = encode(layout, self._backend)
        references, stream = _References(self._columns, target), self._stream.copy()
        item = {
            "target_id": target,
            "root_id": references.identity(layout.id),
            "doc": references.of(document),
        }
        columns = f"[{','.join(references.new)}]\n"
        line = _json(item | {"version": bokeh.__version__})
        packed = (
            self._bytes
            + stream.compress(f"{columns}{line}\n".encode())
            + stream.flush(zlib.Z_SYNC_FLUSH)
        )
        if most is not None and len(packed) * DIGITS // WORD_BYTES > most:
            return 0
        self._stream, self._bytes, self._columns = stream, packed, references.known
        return plots

    def text(self) -> str:
        """All figures, with nothing that could end the element around them; then it is closed."""
        return _text(self._bytes + self._stream.flush())


class _References:
    """Replaces long columns by references, and models' numbers by such as count from 1."""

    def __init__(self, columns: dict[str, int], target: str) -> None:
        self.new: list[str] = []
        self.known = dict(columns)
        self._target = target
        self._identities: dict[str, str] = {}

    def identity(self, number: str) -> str:
        """The model's new number; the first is the root's, which no other figure may have."""
        count = len(self._identities)
        return self._identities.setdefault(number, str(count) if count else self._target)

    def of(self, value: Any) -> Any:
        if isinstance(value, dict):
            if value.get("type") == "ndarray":
                return self._shared(value)
            if value.get("type") == "map" and _counted(value.get("entries", [])):
                column = self._shared([item for _, item in value["entries"]])
                return value | {"entries": {COUNTED_KEY: column[SHARED_KEY]}}
            return {
                key: self.identity(item) if key == "id" else self.of(item)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            if len(value) >= SHARED and _plain(value):
                return self._shared(value)
            return [self.of(item) for item in value]
        return value

    def _shared(self, column: Any) -> dict[str, int]:
        text = _json(column)
        if text not in self.known:
            self.known[text] = len(self.known)
            self.new.append(text)
        return {SHARED_KEY: self.known[text]}


def _plain(value: Any) -> bool:
    """Whether a list has only numbers and texts, or pairs of these: no numbered models."""
    pairs = (
        item if isinstance(item, list | tuple) and len(item) < SHARED else (item,) for item in value
    )
    return not any(isinstance(item, dict | list | tuple) for pair in pairs for item in pair)


def _counted(entries: list[Any]) -> bool:
    """Whether so many pairs are of the numbers from 0 on and of what can be shared."""
    if len(entries) < SHARED or not _plain([item for _, item in entries]):
        return False
    return [place for place, _ in entries] == [*range(len(entries))]


def compressed(text: str) -> str:
    """gzip as text without any character that could end an element of a page."""
    return _text(gzip.compress(text.encode(), ZLIB_LEVEL, mtime=0))


def _text(content: bytes) -> str:
    """How many bytes were added to fill the last word, and five letters for each word of four
    bytes, the highest digit first.
    """
    added = -len(content) % WORD_BYTES
    words = np.frombuffer(content + bytes(added), ">u4").astype(np.uint32)
    digits = (
        words[:, None] // np.array([85**4, 85**3, 85**2, 85, 1], dtype=np.uint32) % np.uint32(85)
    )
    return f"{added}{np.frombuffer(LETTERS, np.uint8)[digits].tobytes().decode()}"


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _whole(layout: UIElement, backend: Backend) -> tuple[Any, int]:
    """The document as bokeh makes it, by what it publishes, and how many plots it has."""
    from bokeh.document import Document
    from bokeh.models import Plot

    plots = [model for model in layout.references() if isinstance(model, Plot)]
    for plot in plots:
        plot.output_backend = backend
    document = Document(title="")
    document.add_root(layout)
    try:
        return document.to_json(deferred=False), len(plots)
    finally:
        document.remove_root(layout)


def _sparse(layout: UIElement, backend: Backend) -> tuple[Any, int]:
    """The same in an eighth of the time: bokeh reads all defaults, to leave them out."""
    import bokeh
    from bokeh.core.serialization import AnyRep, Serializer
    from bokeh.model import Model
    from bokeh.models import Plot

    class Sparse(Serializer):
        """Encodes models by what was set on them."""

        plots = 0

        def _encode(self, obj: object) -> AnyRep:
            if not isinstance(obj, Model):
                return super()._encode(obj)
            self.add_ref(obj, obj.ref)
            if isinstance(obj, Plot):
                self.plots += 1
                obj.output_backend = backend
            given = obj._property_values.keys() | obj._unstable_default_values.keys()
            values = obj.query_properties_with_values(
                lambda descriptor: descriptor.name in given and descriptor.serialized,
                include_defaults=False,
            )
            attributes = {name: self.encode(value) for name, value in values.items()}
            return {"type": "object", "name": obj.__qualified_model__, "id": obj.id} | (
                {"attributes": attributes} if attributes else {}
            )

    serializer = Sparse(deferred=False)
    document = {"version": bokeh.__version__, "title": "", "roots": [serializer.encode(layout)]}
    return document, serializer.plots
