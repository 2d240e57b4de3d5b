"""Records what this interpreter allocates from here on: with memray where it can be imported, else
with tracemalloc.

Environment: PERFVCS_HEAP is the folder for the files, PERFVCS_HEAP_RECORDER is ``memray``,
``tracemalloc`` or ``auto``, PERFVCS_HEAP_EXACT is 1 to trace Python's own allocators,
PERFVCS_HEAP_SITES how many sites tracemalloc tells, PERFVCS_HEAP_MEMRAY is the tag of the
interpreters that can import perfvcs' own memray and the folder with it.
"""

from __future__ import annotations

import atexit
import json
import os
import posix
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PREFIX = "PERFVCS_HEAP"


def install(environ: Mapping[str, str]) -> None:
    """Start what can be started, and note which that is."""
    folder = environ.get(PREFIX, "")
    if not os.access(folder, os.W_OK):
        return
    name, recorder = f"{os.getpid()}-{time.monotonic_ns()}", environ.get(f"{PREFIX}_RECORDER")
    tracker, place, path = None, "", f"{folder}/memray-{name}.bin"
    before = _open_files()
    if recorder != "tracemalloc":
        tag, _, borrowed = environ.get(f"{PREFIX}_MEMRAY", "").partition(":")
        exact = environ.get(f"{PREFIX}_EXACT") == "1"
        tracker, place = _tracker(
            borrowed if tag == sys.implementation.cache_tag else "", path, exact=exact
        )
    _write(f"{folder}/python-{name}.json", {"executable": sys.executable, "memray": place})
    if tracker is not None:
        capture = os.path.realpath(path)
        _trace_with_memray(tracker, capture, f"{folder}/lost-{name}.json")
        _keep_open(set(_open_files().values()) - set(before.values()), capture)
    elif recorder != "memray":
        _trace(folder, name, int(environ.get(f"{PREFIX}_SITES", "1000")))


def _tracker(borrowed: str, path: str, *, exact: bool) -> tuple[Any, str]:
    """A tracker of memray, this interpreter's own or a borrowed one, and the folder with it; None
    where it can load none.

    What a borrowed one brings along is hidden from the program, which may have its own of the same
    names.
    """
    before, lent = set(sys.modules), False
    try:
        try:
            import memray
        except ImportError:
            if not borrowed or borrowed in sys.path:
                return None, ""
            sys.path.append(borrowed)
            lent = True
            import memray
        tracker = memray.Tracker(
            destination=memray.FileDestination(path, overwrite=True, compress_on_exit=False),
            trace_python_allocators=exact,
            follow_fork=True,
        )
    except ImportError:
        return None, ""
    finally:
        if lent:
            sys.path.remove(borrowed)
            for name in set(sys.modules) - before:
                file = getattr(sys.modules[name], "__file__", None) or ""
                if file.startswith(borrowed + os.sep) and name.partition(".")[0] != "memray":
                    del sys.modules[name]
    return tracker, os.path.realpath(memray.__file__ + "/../..")


def _trace_with_memray(tracker: Any, capture: str, lost: str) -> None:
    """Record until Python ends; the file ``lost`` says that the program closed ``capture`` before,
    which memray may not have noticed.
    """
    process = os.getpid()

    def is_open() -> bool:
        return any(file.startswith(capture) for file in _open_files().values())

    def end() -> None:
        if os.getpid() == process:
            if seen and not is_open():
                _write(lost, {})
            tracker.__exit__(None, None, None)

    atexit.register(end)
    tracker.__enter__()
    seen = is_open()


def _open_files() -> dict[int, str]:
    """What this process' descriptors are for, as far as the system tells."""
    files = {}
    try:
        for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - pathlib takes its time
            try:
                files[int(name)] = os.readlink(f"/proc/self/fd/{name}")  # noqa: PTH115
            except OSError:
                continue  # that of listing them
    except OSError:
        pass
    return files


def _keep_open(files: set[str], path: str) -> None:
    """Let ``closerange`` leave out what memray has open (in forked processes too), without which it
    would end the program.
    """
    close = os.closerange

    def closerange(fd_low: int, fd_high: int, /) -> None:
        status = f"/proc/{os.getpid()}/status"
        for descriptor, file in sorted(_open_files().items()):
            if fd_low <= descriptor < fd_high and (
                file in files or file == status or file.startswith(path)
            ):
                close(fd_low, descriptor)
                fd_low = descriptor + 1
        close(fd_low, fd_high)

    os.closerange = posix.closerange = closerange


def _trace(folder: str, name: str, sites: int) -> None:
    import tracemalloc

    def begin() -> None:
        _write(f"{folder}/began-{name}-{os.getpid()}.json", {})

    def end() -> None:
        current, peak = tracemalloc.get_traced_memory()
        statistics = tracemalloc.take_snapshot().statistics("lineno")[:sites]
        tracemalloc.stop()
        rows = [
            [
                statistic.traceback[0].filename,
                statistic.traceback[0].lineno,
                statistic.size,
                statistic.count,
            ]
            for statistic in statistics
        ]
        _write(
            f"{folder}/tracemalloc-{name}-{os.getpid()}.json",
            {"peak": peak, "leaked": current, "sites": rows},
        )

    begin()
    os.register_at_fork(after_in_child=begin)
    atexit.register(end)
    tracemalloc.start(1)


def _write(path: str, content: object) -> None:
    try:
        with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
            json.dump(content, file)
    except OSError:
        return  # the folder is gone: this process outlived the measurement
