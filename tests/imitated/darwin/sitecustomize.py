"""Takes from this interpreter what Python on macOS lacks, and makes it say that it runs there."""

from __future__ import annotations

import builtins
import ctypes.util
import fcntl
import io
import os
import resource
import select
import signal
import sys
import tempfile

import psutil  # reads Linux's /proc, as its own extension for macOS would ask the system

assert psutil

LINUX_ONLY = {
    os: """copy_file_range eventfd getrandom getresgid getresuid memfd_create pidfd_open posix_fadvise
        posix_fallocate sched_getaffinity sched_getscheduler sched_setaffinity setns
        setresgid setresuid splice unshare waitid P_PIDFD O_DIRECT O_PATH O_TMPFILE""",
    signal: "pidfd_send_signal sigtimedwait sigwaitinfo SIGPWR SIGRTMAX SIGRTMIN SIGSTKFLT",
    select: "epoll",
    resource: "prlimit",
    fcntl: "F_ADD_SEALS F_GETPIPE_SZ F_GET_SEALS F_SETPIPE_SZ",
}
for module, names in LINUX_ONLY.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
sys.platform = "darwin"
tempfile._O_TMPFILE_WORKS = False
HIDDEN = ("/proc", "/sys")
system = os.uname()
os.uname = lambda: os.uname_result(("Darwin", system.nodename, "23.6.0", "Darwin", "arm64"))


def hidden(path: object) -> bool:
    """Whether macOS has no such path."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        return False
    text = os.fsdecode(path)
    return text in HIDDEN or text.startswith(tuple(f"{folder}/" for folder in HIDDEN))


def without(function: object) -> object:
    """A function of paths that finds none of Linux's."""

    def found(path: object, *words: object, **options: object) -> object:
        frame = sys._getframe(1)
        if hidden(path) and "psutil" not in frame.f_globals.get("__name__", ""):
            raise FileNotFoundError(2, "No such file or directory", os.fsdecode(path))
        return function(path, *words, **options)

    return found


for module, names in {
    builtins: "open",
    io: "open",
    os: "open stat lstat listdir scandir readlink",
}.items():
    for name in names.split():
        function = getattr(module, name)
        setattr(module, name, without(function))
        for group in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
            group.update({getattr(module, name)} if function in group else ())
access = os.access
os.access = lambda path, *words, **options: not hidden(path) and access(path, *words, **options)
posix_spawn = os.posix_spawn


def spawned(*words: object, setsid: bool = False, **options: object) -> int:
    """os.posix_spawn without the option that macOS's Python refuses."""
    if setsid:
        raise NotImplementedError("setsid is not available on this platform")
    return posix_spawn(*words, **options)


os.posix_spawn = spawned


class Library(ctypes.CDLL):
    """A library without the calls of Linux."""

    def __getattr__(self, name: str) -> object:
        if name in ("prctl", "personality", "gnu_get_libc_version", "memfd_create"):
            raise AttributeError(f"dlsym(RTLD_DEFAULT, {name}): symbol not found")
        return super().__getattr__(name)


ctypes.CDLL = Library
