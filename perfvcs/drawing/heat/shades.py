"""The colours of a heat map and their meaning."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from perfvcs.drawing.heat.sheet import Sheet, limits
from perfvcs.text.quantity import percent, quantity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Scheme:
    """The range of the colours: values (with ``log`` their logarithms) from ``low`` to ``high``, both of shape (rows, 1)."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    log: bool

    def shades(self, mean: NDArray[np.float64]) -> NDArray[np.float64]:
        """From 0 to 1, of shape (rows, columns); NaN if there is no value, or no logarithm."""
        import numpy as np

        values = _logarithms(mean) if self.log else mean
        largest = np.maximum(np.abs(self.low), np.abs(self.high))
        largest = np.where(largest > 0, largest, 1.0)  # the difference of numbers near the largest float is none
        span = self.high / largest - self.low / largest
        return (values / largest - self.low / largest) / np.where(span > 0, span, 1.0)

    def value(self, shade: float) -> float:
        """The value of a shade in the first row."""
        low, high = float(self.low[0, 0]), float(self.high[0, 0])
        found = low * (1 - shade) + high * shade
        return float(10**found) if self.log else found


def _logarithms(values: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    return np.log10(np.where(values > 0, values, np.nan))


def scheme(sheet: Sheet, *, log: bool) -> Scheme:
    """Each row by its own range, else all by one, which begins at zero for what was recorded over time."""
    import numpy as np

    if log:
        panels = [panel._replace(cells=replace(panel.cells, mean=_logarithms(panel.cells.mean))) for panel in sheet.panels]
        sheet = replace(sheet, panels=panels)
    low, high = limits(sheet)
    if not sheet.own:
        least, most = np.fmin.reduce(low), np.fmax.reduce(high)
        least = min(0.0, least) if not log and not sheet.y else least
        low, high = np.full(len(low), least), np.full(len(high), most)
    return Scheme(low[:, None], high[:, None], log)


def words(sheet: Sheet, scheme: Scheme) -> list[str]:
    """The range of the colours, in words."""
    if sheet.own:
        return ["colours: each row by its own range" + (", by logarithms" if scheme.log else "")]
    low, high = scheme.value(0), scheme.value(1)
    if not low < high:
        return ["all values are equal" if low == high else "no value has a logarithm"]
    if low <= 0:
        return []
    unit = sheet.units[0]
    return [f"colours from {quantity(low, unit)} to {quantity(high, unit)}, {percent(high / low - 1)}"]
