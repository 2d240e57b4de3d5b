"""The one base of every error that perfvcs raises on purpose, and the hint that ends many of them."""

from collections.abc import Iterable

MOST = 20  # known names that a message lists


class PerfError(Exception):
    """What went wrong and its cure, in one line; the command line prints it and exits with ``exit_code``."""

    exit_code = 1


class UsageError(PerfError):
    """The request itself cannot be carried out: a wrong name, option or configuration."""

    exit_code = 2


def nearest(wrong: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the closest known one, or all of them.

    >>> nearest("tiem", ["time", "memory"])
    '; did you mean `time`?'
    """
    from difflib import get_close_matches

    names = list(known)
    close = get_close_matches(wrong, names, n=1, cutoff=0.5)
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return f"; did you mean `{close[0]}`?" if close else f"; there are: {', '.join(names[:MOST]) or 'none'}{more}"
