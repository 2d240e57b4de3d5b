"""The recorder that is compiled, with the manners of the one in Python."""

from __future__ import annotations

import _ast as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Probe:
    """What stands in the body of one function; see ``perfvcs_probe.Probe``."""

    def __init__(self, parts: dict[str, Any]) -> None:
        self.function, self.enter, self.begin = parts["function"], parts["enter"], parts["begin"]
        self.pause, self.current = parts["pause"], parts["current"]
        self.parts = parts

    def entering(self, size: Any, *, whole: bool, constant: Callable[[object], Any]) -> Any:  # noqa: ARG002
        """The statement that notes the start of a call, by the expressions of the size and of
        constants.

        It is ``function[None] = size``, which takes less time than a call, works when no call does
        any more, and at which no handler of a signal runs.
        """
        return ast.Assign(targets=[self._item(constant, ast.Store())], value=size)

    def limited(self, constant: Callable[[object], Any]) -> Any:
        """The statement for a call whose size cannot be had since recursion is at its limit: note
        that it is not recorded.
        """
        return self.entering(constant(self.function), whole=False, constant=constant)

    def leaving(self, constant: Callable[[object], Any]) -> Any:
        """The statement that notes the end of a call."""
        return ast.Delete(targets=[self._item(constant, ast.Del())])

    def _item(self, constant: Callable[[object], Any], context: Any) -> Any:
        return ast.Subscript(
            value=constant(self.function), slice=ast.Constant(value=None), ctx=context
        )

    def interrupted(self, frame: Any) -> None:
        """See ``perfvcs_probe.Probe``: no handler of a signal can run once the call is noted."""

    def guessing(self, guess: Any) -> Any:
        """What gives the size of a call; ``guess`` is asked where it is not the length of the
        argument that it chose before.
        """
        self.parts["set_guess"](guess)
        guess.chosen = self.parts["chosen"]
        return self.parts["guess"]


class Recorder:
    """Records into a file that is mapped into memory: there is nothing to be saved at the end."""

    engine = "rewrite-c/1"

    def __init__(self, module: Any, folder: str, mark: str, keep: int, *, outermost: bool) -> None:
        module.configure(folder, mark, keep, outermost)
        self.module = module
        self.charge, self.hold = module.charge, module.hold
        self.set_costs, self.last_duration = module.set_costs, module.last_duration

    def probe(self, index: int, *, stored: bool = True) -> Probe:
        """The probe of one function; its rows are kept in memory only where they are not to be
        stored.
        """
        return Probe(self.module.probe(index, stored))
