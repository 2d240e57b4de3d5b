"""Ctrl-C, SIGTERM and SIGHUP: the program ends in good order, with one line and the exit status 128
+ the signal's number.

Until something was begun that has to be cleaned up, it ends at once; afterwards ``Stopped`` is
raised and leaves through every ``finally`` on the way. More of these signals change nothing:
cleaning up is not interrupted. What has an end of its own, such as a server, is notified instead.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal itself takes 3 ms, in which Ctrl-C would still be a traceback
import atexit
import os
import sys

TYPE_CHECKING = False  # typing takes 5 ms
if TYPE_CHECKING:
    from typing import NoReturn

SIGNAL_WORDS = {
    _signal.SIGINT: "interrupted",
    _signal.SIGTERM: "terminated",
    _signal.SIGHUP: "hung up",
}
SIGNALS = frozenset(SIGNAL_WORDS)
# seconds after which Stopped is raised again, where something has swallowed it
REPEAT_SECONDS = 0.25


class Stopped(SystemExit):
    """A signal ends the program; a SystemExit, so that Python and libraries take it for what it is
    and print nothing.
    """


class _State:
    number = 0  # of the first signal, 0 before
    begun = False  # whether something has to be cleaned up
    notified = False  # whether the number is written somewhere instead of raising Stopped
    over = False  # whether everything is done


def begin() -> None:
    """Handle the signals in this process from now on, save those that are ignored, as nohup
    asks.
    """
    for number in SIGNALS:
        if _signal.getsignal(number) is not _signal.SIG_IGN:
            _signal.signal(number, _stop)
    sys.unraisablehook = _unraisable
    atexit.register(_last_word)  # the first one registered is the last one called


def unwind() -> None:
    """From now on leave through every ``finally``."""
    _State.begun = True


def notify(descriptor: int) -> None:
    """From now on raise nothing: each signal's number is written, as a byte, to this descriptor,
    which must not block. Whoever reads it lets the program end.
    """
    _State.notified = True
    _signal.set_wakeup_fd(descriptor)


def stopped() -> bool:
    """Whether a signal is ending this process."""
    return bool(_State.number)


def leave() -> NoReturn:
    """End at once, by the signal that came."""
    _say()
    os._exit(128 + _State.number)


def end() -> None:
    """Let nothing interrupt what Python does at its end; raises Stopped after a signal."""
    _State.over = True
    _signal.setitimer(_signal.ITIMER_REAL, 0)
    for number in (
        *SIGNALS,
        _signal.SIGALRM,
    ):  # blocked, they would reach other threads; a handler of ours is taken away too early
        _signal.signal(number, _signal.SIG_IGN)
    if _State.number:
        raise Stopped(128 + _State.number)


def _stop(number: int, frame: object) -> None:  # noqa: ARG001
    if _State.number or _State.over:
        return
    _State.number = number
    if _State.notified:
        return
    if not _State.begun:
        leave()
    _signal.signal(_signal.SIGALRM, _again)
    _signal.setitimer(_signal.ITIMER_REAL, REPEAT_SECONDS, REPEAT_SECONDS)
    raise Stopped(128 + number)


def _again(number: int, frame: object) -> None:  # noqa: ARG001
    """Raise once more, unless the program is on its way out: destructors and some libraries swallow
    any exception.
    """
    error = sys.exception()
    while error is not None:
        if isinstance(error, Stopped):
            return
        error = error.__context__
    raise Stopped(128 + _State.number)


def _unraisable(lost: sys.UnraisableHookArgs) -> None:
    if not isinstance(lost.exc_value, Stopped):
        sys.__unraisablehook__(lost)


def _last_word() -> None:
    if _State.number:
        # output that nobody reads would keep Python from ending
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        _say()


def _say() -> None:
    try:  # noqa: SIM105 - contextlib takes 2 ms
        os.write(2, f"perf: {SIGNAL_WORDS[_State.number]}\n".encode())
    except OSError:  # the terminal is gone
        pass
