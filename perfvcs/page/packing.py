"""Layouts as BokehJS reads them: their models as JSON, gzip, base64."""

from __future__ import annotations

import base64
import gzip
import json
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement

Backend = Literal["canvas", "svg"]
PRIVATE = ("_property_values", "_unstable_default_values")  # of bokeh's models; tried with 3.9.2


class Packed(NamedTuple):
    """A layout as text without any character that could end the script element around it, and how many plots it has."""

    text: str
    plots: int


def pack(layout: UIElement, target: str, backend: Backend = "canvas") -> Packed:
    """What BokehJS needs to draw a layout into the element ``target``, with ``backend``; gzip keeps a page of many figures small."""
    import bokeh
    from bokeh.core.serialization import Serializer

    known = all(hasattr(layout, name) for name in PRIVATE) and hasattr(Serializer, "_encode")
    document, plots = _sparse(layout, backend) if known else _whole(layout, backend)
    item = {"target_id": target, "root_id": layout.id, "doc": document, "version": bokeh.__version__}
    text = json.dumps(item, separators=(",", ":"), allow_nan=False)
    return Packed(base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode(), plots)


def _whole(layout: UIElement, backend: Backend) -> tuple[Any, int]:
    """The document as bokeh makes it, by nothing but what it publishes, and how many plots it has."""
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
    """The same in an eighth of the time: bokeh reads the defaults of every property of every model, only to leave them out."""
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
            values = obj.query_properties_with_values(lambda one: one.name in given and one.serialized, include_defaults=False)
            attributes = {name: self.encode(value) for name, value in values.items()}
            return {"type": "object", "name": obj.__qualified_model__, "id": obj.id} | (
                {"attributes": attributes} if attributes else {}
            )

    serializer = Sparse(deferred=False)
    document = {"version": bokeh.__version__, "title": "", "roots": [serializer.encode(layout)]}
    return document, serializer.plots
