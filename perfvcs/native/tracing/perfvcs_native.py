"""The recorder that is compiled, with the manners of the one in Python."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Probe:
    """What stands in the body of one function; see ``perfvcs_recorder.Probe``."""

    def __init__(self, parts: dict[str, Any]) -> None:
        self.enter, self.leave, self.begin = parts["enter"], parts["leave"], parts["begin"]
        self.pause, self.current = parts["pause"], parts["current"]
        self.depth, self.drop = parts["depth"], parts["drop"]
        self.parts = parts

    def entering(self, size: Any, whole: bool, constant: Callable[[object], Any]) -> Any:  # noqa: ARG002
        """The expression that notes the start of a call, by those of the size and of constants."""
        import ast

        return ast.Call(func=constant(self.enter), args=[size], keywords=[])

    def guessing(self, guess: Any) -> Any:
        """What gives the size of a call; ``guess`` is asked where it is not the length of the argument that it chose before."""
        self.parts["set_guess"](guess)
        guess.chosen = self.parts["chosen"]
        return self.parts["guess"]


class Recorder:
    """Records into a file that is mapped into memory: there is nothing to be saved at the end."""

    engine = "rewrite-c/1"

    def __init__(self, module: Any, folder: str, mark: str, keep: int, outermost: bool) -> None:
        module.configure(folder, mark, keep, outermost)
        self.module = module
        self.charge, self.hold = module.charge, module.hold
        self.set_costs, self.last_duration = module.set_costs, module.last_duration

    def probe(self, index: int, stored: bool = True) -> Probe:
        """The probe of one function; its rows are kept in memory only where they are not to be stored."""
        return Probe(self.module.probe(index, stored))
