"""Why git could not talk to a remote: what it said, in one sentence with the cure."""

from __future__ import annotations

import re
import subprocess

from perfvcs.errors import PerfError

SETTINGS_NAME = "perf"  # of the other side, in the settings of our own repository
LARGEST_FETCH = 1 << 30  # that one fetch may write
CREDENTIALS = r"(?<=://)[^/@\s]+@"
FAILURES = (  # what git says -> the end of the sentence about a remote, with the cure
    (
        r"mismatched algorithms|object format .*not|unknown object format|hash algorithm",
        (
            "names its objects by SHA-256, and profiles are exchanged by SHA-1: name another"
            " repository, `perf push ADDRESS`"
        ),
    ),
    (
        r"SSL|certificate",
        "has no certificate that git trusts ({said}): see http.sslCAInfo in `git help config`",
    ),
    (
        r"fsck|hasDot|badTree|duplicateEntries|fullPathname|gitmodules|nullSha1|treeNotSorted|zeroPaddedFilemode"
        r"|missing (blob|tree|object)"
        r"|did not send all|bad object",
        "has broken or forbidden objects ({said}): nothing was pulled",
    ),
    (
        r"unable to create temporary object directory",  # git does not say why
        (
            "could not keep what was sent ({said}): perhaps you may not write there, or its disk is"
            " full; ask for the right, or hand profiles over with `perf export --bundle FILE`"
        ),
    ),
    (
        r"remote unpack failed|abnormal exit",
        "could not keep what was sent ({said}): perhaps its disk is full; nothing was changed",
    ),
    (
        (
            r"File too large|died of signal|index-pack died|inflate|out of memory|mmap failed"
            r"|early EOF|pack-objects died|index-pack output"
        ),
        (
            "sent more than {most} MiB, or broke off ({said}): nothing was pulled; try again, or"
            " use --last"
        ),
    ),
    (
        r"denied|403|401|Authentication|could not read (Username|Password)|not allowed"
        r"|insufficient permission|unable to create temporary"
        r"|read-only|hook declined|prohibited",
        (
            "refused ({said}): ask for the right, or hand profiles over with `perf export --bundle"
            " FILE`"
        ),
    ),
    (
        r"dubious ownership",
        "belongs to another user: if you trust it, see safe.directory in `git help config`",
    ),
    (
        (
            r"not appear to be a git repository|not found|does not exist|not a git repository"
            r"|No such file|strange (host|path)name"
        ),
        "is not a git repository ({said}): see `git remote -v`",
    ),
    (
        r"Could not resolve|Connection|timed out|unable to access|No route|hung up"
        r"|unable to connect|Could not read from remote|reset"
        r"|expected flush|disconnect|protocol error|bad line length",
        "cannot be reached, or broke off ({said}): nothing was changed, try again",
    ),
)


class RemoteFailed(PerfError):
    """A remote could not be reached, refused, or sent what nobody should take."""


def require_success(remote: str, done: subprocess.CompletedProcess[str]) -> None:
    """Raises RemoteFailed, with the cure, where git has failed to talk to a remote of that name."""
    if not done.returncode:
        return
    whole = f"{done.stderr}\n{done.stdout}"
    reason = re.sub(CREDENTIALS, "", _reason(whole)).replace(SETTINGS_NAME + " ", "")[:200]
    for pattern, ending in FAILURES:
        if re.search(pattern, whole):
            raise RemoteFailed(f"{remote} {ending.format(said=reason, most=LARGEST_FETCH >> 20)}")
    raise RemoteFailed(f"{remote} failed ({reason}): nothing was changed")


def _reason(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    complaints = [
        line.partition(": ")[2] for line in lines if line.startswith(("fatal: ", "error: "))
    ]
    return next(iter([*complaints, *lines]), "git ended without a message")
