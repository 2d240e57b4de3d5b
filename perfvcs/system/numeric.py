"""numpy, which is imported with the first of its names that is used, since many commands use none;
and what arrays of numbers are called.

>>> from perfvcs.system.numeric import np
>>> np.arange(3).tolist()
[0, 1, 2]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Flags", "Floats", "Indices", "Integers", "np"]

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Indices = NDArray[np.intp]
    Flags = NDArray[np.bool_]
else:

    class Deferred:
        """A module in whose place this stands until a name of it is asked for."""

        def __init__(self, name: str) -> None:
            self._module = name

        def __getattr__(self, name: str) -> object:
            from importlib import import_module

            value = getattr(import_module(self._module), name)
            setattr(self, name, value)
            return value

        def __reduce__(self) -> str:
            return "np"  # a copy is the same one, and a pickle names it

    np = Deferred("numpy")
    Floats = Integers = Indices = Flags = Any
