"""Follows a coroutine through what it awaits, so that its clock stands still while it is suspended
there.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def resume(handle: Any, value: Any) -> Any:
    """Go on after a yield with what was sent."""
    handle.resume()
    return value


class Iterator:
    """An iterator of a generator or coroutine: while it gives something, the call whose handle this
    is does not run.
    """

    __slots__ = ("handle", "inner")

    def __init__(self, handle: Any, inner: Any) -> None:
        self.handle = handle
        self.inner = inner

    def __iter__(self) -> Iterator:
        return self

    __await__ = __iter__

    def __next__(self) -> Any:
        self.handle.resume()
        value = next(self.inner)
        self.handle.pause()
        return value

    def send(self, value: Any) -> Any:
        """Go on with a value."""
        self.handle.resume()
        value = self.inner.send(value)
        self.handle.pause()
        return value

    def throw(self, *error: Any) -> Any:
        """Go on with an exception."""
        self.handle.resume()
        throw = getattr(self.inner, "throw", None)
        if throw is None:
            raise error[1] if len(error) > 1 and error[1] is not None else error[0]
        value = throw(*error)
        self.handle.pause()
        return value

    def close(self) -> None:
        """End it early."""
        self.handle.resume()
        close = getattr(self.inner, "close", None)
        if close is not None:
            close()


def delegate(handle: Any, inner: Any) -> Any:
    """What ``yield from inner`` goes through."""
    return Iterator(handle, iter(inner))


def awaiting(handle: Any, inner: Any) -> Any:
    """What ``await inner`` waits for; ``inner`` itself when that is nothing to wait for, which
    Python then tells.
    """
    method = getattr(type(inner), "__await__", None)
    if method is not None:
        return Iterator(handle, method(inner))
    code = getattr(inner, "gi_code", None)  # a generator that types.coroutine made one to wait for
    return Iterator(handle, inner) if code is not None and code.co_flags & 0x100 else inner


class Iterating:
    """What ``async for`` goes through."""

    def __init__(self, handle: Any, inner: Any) -> None:
        self.handle = handle
        self.inner = inner

    def __aiter__(self) -> Iterating:
        self.inner = type(self.inner).__aiter__(self.inner)
        return self

    def __anext__(self) -> Any:
        return awaiting(self.handle, type(self.inner).__anext__(self.inner))


def iterating(handle: Any, inner: Any) -> Any:
    """What stands in for an asynchronous iterable."""
    return Iterating(handle, inner) if hasattr(type(inner), "__aiter__") else inner


class Managing:
    """What ``async with`` goes through."""

    def __init__(self, handle: Any, inner: Any) -> None:
        self.handle = handle
        self.inner = inner

    def __aenter__(self) -> Any:
        return awaiting(self.handle, type(self.inner).__aenter__(self.inner))

    def __aexit__(self, *error: Any) -> Any:
        return awaiting(self.handle, type(self.inner).__aexit__(self.inner, *error))


def managing(handle: Any, inner: Any) -> Any:
    """What stands in for an asynchronous context manager."""
    complete = hasattr(type(inner), "__aenter__") and hasattr(type(inner), "__aexit__")
    return Managing(handle, inner) if complete else inner
