"""The one place that runs git: in the project, whose settings it obeys, or hardened, where it obeys
nothing but us.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from perfvcs.errors import PerfError

READ_AT_ONCE = 1 << 20
END_SECONDS = 1.0  # seconds that git gets to tidy up
# what somebody sends; others are git's own failures
ENDED_BY = (signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM)
# Nothing that a hardened git finds in a repository makes it start a program or reach another place,
# and it does nothing unasked.
SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "protocol.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgSign=false",
    "core.quotePath=true",
    # the memory of a large repository, which costs 3 % of the time of those who read all of it
    "core.deltaBaseCacheLimit=16m",
    "core.packedGitWindowSize=1m",
    "core.packedGitLimit=32m",
)
HARDENED = ("--no-replace-objects", *(part for setting in SETTINGS for part in ("-c", setting)))

MISSING = "git is not on PATH: install it (apt install git)"
# what shells and git say of a filter of the user's settings whose program is missing
MISSING_FILTER = (
    r"(?m:^[^\n]*: (?:line )?\d+: (?P<program>[\w./-]+): (?:command )?not found$"
    r"|^git: '(?P<command>[\w-]+)' is not a git command)"
)
# What a user sets for the transports of git.
TRANSPORT_VARIABLES = (
    r"GIT_(SSH|SSH_COMMAND|SSH_VARIANT|ASKPASS|SSL_.*|HTTP_.*|PROXY_.*|ALLOW_PROTOCOL)"
)
NOBODY = ("perfvcs", "perfvcs@localhost")


class GitError(PerfError):
    """git itself failed; the message is git's own."""


class GitMissing(GitError):
    """There is no git on PATH."""


class GitEnded(PerfError):
    """Somebody ended git: a signal of a user's, or the system, which was short of memory.

    The store is as it was.
    """


def environment() -> dict[str, str]:
    """The process environment without what git sets for its hooks."""
    identity = {
        f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    allowed = identity | {
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_ASKPASS",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_EXEC_PATH",
    }
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in allowed
    }
    return clean | {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "LC_MESSAGES": "C",
        "LANGUAGE": "C",
    }


def hardened_environment() -> dict[str, str]:
    """The environment without what redirects git, and without the user's and system's settings."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    variables |= {
        "LC_ALL": "C",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_DEFAULT_HASH": "sha1",
    }
    return variables | {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
    }


def reach(
    *args: str,
    folder: Path,
    settings: Sequence[tuple[str, str]],
    extra: Mapping[str, str],
    stdin: IO[bytes],
    stderr: IO[bytes],
    alone: bool,
) -> subprocess.Popen[bytes]:
    """A hardened git process that may reach other repositories, by transports that these settings
    allow; raises GitMissing.

    ``alone``: it has a session of its own, in which nobody can be asked for a password.
    """
    unrestricted = [setting for setting in SETTINGS if not setting.startswith("protocol.")]
    env = hardened_environment() | {
        name: value for name, value in os.environ.items() if re.fullmatch(TRANSPORT_VARIABLES, name)
    }
    for number, (key, value) in enumerate(settings):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    env |= {"GIT_CONFIG_COUNT": str(len(settings)), **extra}
    if not alone:
        env.pop("GIT_TERMINAL_PROMPT")
    command = [
        "git",
        "--no-replace-objects",
        *(part for setting in unrestricted for part in ("-c", setting)),
        *args,
    ]
    try:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=env,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=alone or _ignores_signals(),
        )
    except FileNotFoundError:
        raise GitMissing(MISSING) from None


def start(
    *args: str,
    hardened: bool,
    folder: Path | None = None,
    extra: Mapping[str, str] | None = None,
    stdin: IO[bytes] | int | None = None,
    stderr: IO[bytes] | int,
) -> subprocess.Popen[bytes]:
    """A git process whose standard output is a pipe; raises GitMissing.

    ``hardened``: it obeys no settings but ours, starts no program, reaches no other place, and has
    a session of its own, so that Ctrl-C reaches us and we end git in good order. Otherwise it obeys
    the user's settings and those of the project.
    """
    settings, env = (HARDENED, hardened_environment()) if hardened else ((), environment())
    try:
        return subprocess.Popen(
            ["git", *settings, *args],
            cwd=folder,
            env={**env, **(extra or {})},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=hardened or _ignores_signals(),
        )
    except FileNotFoundError:
        if folder is not None and not folder.is_dir():
            raise GitError(
                f"the folder {folder} is missing: make it, or go to another one"
            ) from None
        raise GitMissing(MISSING) from None


def _ignores_signals() -> bool:
    """Whether a signal to our group is none to us, as below nohup: git, which catches it all the
    same, would be ended by it.
    """
    return any(signal.getsignal(number) is signal.SIG_IGN for number in ENDED_BY)


def git(
    folder: Path, *args: str, extra: Mapping[str, str] | None = None, text: str | None = None
) -> str:
    """The standard output of one git command in a project, less its last line end; or GitError."""
    # in bytes: text would turn a carriage return in a file's name into a line end
    asked = None if text is None else text.encode("utf-8", "surrogateescape")
    stdin = None if text is None else subprocess.PIPE
    process = start(
        *args, hardened=False, folder=folder, extra=extra, stdin=stdin, stderr=subprocess.PIPE
    )
    with process:
        try:
            output, stderr = process.communicate(asked)
        except BaseException:
            _end(process)
            raise
    if process.returncode:
        raise _failed(args, stderr, process.returncode)
    return output.decode("utf-8", "surrogateescape").removesuffix("\n")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git, which takes away what it has half made if it is asked."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(END_SECONDS)
    process.kill()


def _failed(args: Sequence[str], stderr: bytes, status: int) -> GitError:
    text = stderr.decode("utf-8", "replace")
    if missing := re.search(MISSING_FILTER, text):
        program = missing["program"] or f"git-{missing['command']}"
        cure = "install it"
        if program == "git-lfs":
            cure = "install it (apt install git-lfs), then `git lfs pull`"
        return GitError(
            f"your git settings filter files by `{program}`, which is not there: {cure}"
        )
    lines = [line for line in text.splitlines() if line.strip()]
    # the first complaint is the cause, those after it are what came of it
    complaints = [
        line.partition(": ")[2] for line in lines if line.startswith(("error: ", "fatal: "))
    ]
    name = next(word for word in args if not word.startswith("-") and "=" not in word)
    return GitError(f"git {name} failed: {[*complaints, *lines[-1:], f'exit status {status}'][0]}")


def listing(folder: Path, *args: str, text: str = "") -> Generator[str, None, None]:
    """The lines that one git command prints, as they come; git begins at once, and ends with the
    last line that is asked for.

    Raises GitError behind the last line where git failed.
    """
    lines = _lines(folder, args, text)
    next(lines)
    return lines


def _lines(folder: Path, args: Sequence[str], text: str) -> Generator[str, None, None]:
    with scratch() as stderr, scratch() as asked:
        asked.write(text.encode())
        asked.seek(0)
        # without GIT_FLUSH, git writes line by line, which takes as long as the rest
        with start(
            *args,
            hardened=False,
            folder=folder,
            extra={"GIT_FLUSH": "0"},
            stdin=asked,
            stderr=stderr,
        ) as process:
            try:
                yield ""
                assert process.stdout is not None
                for line in process.stdout:
                    yield line.decode().strip()
                process.wait()
            finally:
                process.kill()
        if process.returncode:
            stderr.seek(0)
            raise _failed(args, stderr.read(), process.returncode)


def keys(config: Path) -> list[str]:
    """The keys of a configuration file, nothing of which is obeyed; none if git cannot read it."""
    ask = ("config", "--file", str(config), "--no-includes", "--list", "--name-only", "--null")
    with start(
        *ask, hardened=True, folder=Path("/"), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        output, _ = process.communicate()
    return [key for key in dict.fromkeys(output.decode(errors="replace").split("\0")) if key]


def scratch() -> IO[bytes]:
    """A file in memory for what git is asked or says, which a full disk does not swallow."""
    try:
        return open(os.memfd_create("perfvcs"), "w+b")
    except (AttributeError, OSError):  # an old kernel, or none of Linux
        import tempfile

        return tempfile.TemporaryFile()


def complaint(process: subprocess.Popen[bytes], stderr: IO[bytes]) -> str:
    """What git wrote, and what it cannot write: that the system ended it at a limit on files.

    Raises GitEnded.
    """
    if -process.returncode in ENDED_BY:
        name = signal.Signals(-process.returncode).name
        raise GitEnded(
            f"git was ended by {name} while it worked on the store, which is as it was: run the"
            " command again"
        )
    stderr.seek(0)
    printed = stderr.read(READ_AT_ONCE).decode(errors="replace").strip()
    return f"{printed}\nFile too large" if process.returncode == -signal.SIGXFSZ else printed


def identity(folder: Path) -> str:
    """``Name <mail>`` from git's environment, else of the project around ``folder``, or nobody."""
    parts = {
        key: os.environ.get(f"GIT_COMMITTER_{key}") or os.environ.get(f"GIT_AUTHOR_{key}")
        for key in ("NAME", "EMAIL")
    }
    if not all(parts.values()):
        given = {
            name: value for name, value in os.environ.items() if name.startswith("GIT_CONFIG_")
        }  # by `git -c`, around a hook
        settings: dict[str, str] = {}
        with suppress(GitError):
            listed = git(
                folder, "config", "--null", "--get-regexp", r"^user\.(name|email)$", extra=given
            )
            settings = dict(entry.split("\n", 1) for entry in listed.split("\0") if "\n" in entry)
        parts = {key: value or settings.get(f"user.{key.lower()}") for key, value in parts.items()}
    name, mail = (re.sub(r"[<>\n\0]+", "", parts[key] or "").strip() for key in ("NAME", "EMAIL"))
    return f"{name or NOBODY[0]} <{mail or NOBODY[1]}>"
