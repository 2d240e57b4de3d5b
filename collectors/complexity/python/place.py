"""Where a function is: its module, its qualified name there, and its line if that is needed to distinguish it from another."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from perfvcs.collectors.complexity.calls import TracedFunction
from perfvcs.errors import UsageError

FUNCTION_NAME = re.compile(r"(?P<module>[\w.]+):(?P<name>[\w.<>]+)(?:@(?P<line>[1-9]\d{0,8}))?")


@dataclass(frozen=True)
class FunctionLocation:
    """A Python function to be recorded; ``line`` is 0 where the name is enough, ``size`` None where it is to be guessed."""

    module: str
    name: str
    line: int = 0
    size: str | None = None

    @property
    def uid(self) -> str:
        """What it is called in profiles."""
        return f"{self.module}:{self.name}" + (f"@{self.line}" if self.line else "")

    @classmethod
    def of(cls, function: TracedFunction) -> FunctionLocation:
        """The place that an entry names; raises UsageError if it is not a name or not an expression.

        >>> FunctionLocation.of(TracedFunction("pkg.mod:List.insert@12", "len(self)"))
        FunctionLocation(module='pkg.mod', name='List.insert', line=12, size='len(self)')
        """
        found = FUNCTION_NAME.fullmatch(function.name)
        if found is None:
            raise UsageError(
                f"complexity: {function.name!r} names no Python function: write module:function, module:Class.method, or one of these "
                "with @line behind it"
            )
        if function.size is not None:
            try:
                ast.parse(function.size.strip(), mode="eval")
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                reason = error.msg if isinstance(error, SyntaxError) else type(error).__name__
                raise UsageError(
                    f"complexity: the size of {function.name}, {function.size!r}, is not an expression: {reason}"
                ) from None
            if "\x1e" in function.size or "\x1f" in function.size:
                raise UsageError(f"complexity: the size of {function.name} has control characters: remove them")
        return cls(found["module"], found["name"], int(found["line"] or 0), function.size)
