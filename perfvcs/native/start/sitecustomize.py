"""Shuffle the heap of this interpreter, then let the sitecustomize run that it would have had
without us.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from perfvcs.native.start import perfvcs_shuffle
else:
    import perfvcs_shuffle


def _leave_the_path() -> None:
    here = os.path.realpath(__file__ + "/..")  # pathlib takes its time
    sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry) != here]


def _next() -> None:
    """Import the next sitecustomize on the path; raises the ImportError that ``site`` expects when
    there is none.
    """
    module = sys.modules.pop(__name__)
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ImportError as error:
        sys.modules[__name__] = module
        raise error.with_traceback(None) from None


_leave_the_path()
perfvcs_shuffle.begin(os.environ)
_next()
