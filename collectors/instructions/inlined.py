"""Functions that a compiler put into their callers, as contexts of their own: by the addresses that counts belong to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from perfvcs.collectors.instructions.counts import Context, sums

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.collectors._shared.symbols import CodePlace

Resolve = Callable[[str, Iterable[int]], dict[int, list["CodePlace"]]]  # what stands at addresses of an image, innermost first
Edges = tuple["NDArray[np.int64]", "NDArray[np.int64]", "NDArray[np.float64]", "NDArray[np.float64]"]


@dataclass
class InlinedContexts:
    """All contexts with those that were found inside them; ``parents`` has the context that each of these is a part of."""

    contexts: list[Context]
    parents: dict[int, int] = field(default_factory=dict)

    def place(self, contexts: NDArray[np.int64], addresses: NDArray[np.float64], resolve: Resolve) -> NDArray[np.int64]:
        """The innermost context at each address inside a context, of those known or a new one."""
        import numpy as np

        pairs, which = np.unique(np.stack([contexts, addresses.astype(np.int64)], axis=1), axis=0, return_inverse=True)
        known = self._resolved(pairs.tolist(), resolve)
        numbers = {context: number for number, context in enumerate(self.contexts)}
        found = [
            self._inner(context, known[self.contexts[context].image][address], numbers) for context, address in pairs.tolist()
        ]
        return np.array(found, np.int64)[which.ravel()] if found else contexts

    def _resolved(self, pairs: Iterable[tuple[int, int]], resolve: Resolve) -> dict[str, dict[int, list[CodePlace]]]:
        wanted: defaultdict[str, set[int]] = defaultdict(set)
        for context, address in pairs:
            wanted[self.contexts[context].image].add(address)
        return {image: resolve(image, addresses) for image, addresses in wanted.items()}

    def _inner(self, number: int, places: list[CodePlace], numbers: dict[Context, int]) -> int:
        for name, _, _ in places[-2::-1]:  # the last one is the function itself
            outer = self.contexts[number]
            context = Context(name, outer.image, outer.level, (*outer.within, outer.name))
            inner = numbers.setdefault(context, len(numbers))
            if inner == len(self.contexts):
                self.contexts.append(context)
                self.parents[inner] = number
            number = inner
        return number

    def edges(self, exclusive: NDArray[np.float64], edges: Edges) -> Edges:
        """The given edges and one into each part of a context, which is entered whenever that context is."""
        import numpy as np

        caller, callee, calls, inclusive = edges
        count = len(self.contexts)
        whole = exclusive + sums(caller, inclusive, count)
        visits = np.maximum(1.0, sums(callee, calls, count))
        inner = np.array(sorted(self.parents), np.int64)
        for part in inner[::-1].tolist():  # parts come behind what they are a part of
            whole[self.parents[part]] += whole[part]
        for part in inner.tolist():
            visits[part] = visits[self.parents[part]]
        outer = np.array([self.parents[part] for part in inner.tolist()], np.int64)
        columns = ((caller, outer), (callee, inner), (calls, visits[inner]), (inclusive, whole[inner]))
        one, other, often, cost = (np.concatenate(pair) for pair in columns)
        return one, other, often, cost
