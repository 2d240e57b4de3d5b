"""Start counting in this interpreter, then let the sitecustomize run that it would have had without
us.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from perfvcs.collectors.bytecode.inside.python import perfvcs_counter
else:
    import perfvcs_counter


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


del sys.modules["perfvcs_counter"]
_leave_the_path()
perfvcs_counter.install(os.environ)
_next()
