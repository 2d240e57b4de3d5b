"""Record the functions of this interpreter until it ends, then let the sitecustomize run that it
would have had without us.
"""

from __future__ import annotations

import atexit
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

    from perfvcs.collectors._shared.functions.inside.python.perfvcs_functions import RunningCode
else:
    from perfvcs_functions import RunningCode


# calls and returns that are watched one by one, which takes two seconds; only before Python 3.12
MOST_EVENTS = 4_000_000


class FewEvents(RunningCode):
    """Gives up after so many events, since each costs more than the call itself; where calls can be
    watched once, there are few.
    """

    events = 0

    def _called(self, frame: FrameType, event: str, argument: object) -> None:  # noqa: ARG002
        self.events += 1
        if self.events > MOST_EVENTS:
            sys.setprofile(None)
        elif event == "call":
            self._seen[id(frame.f_code)] = frame.f_code


def _restore(environment: os._Environ[str]) -> tuple[str, str]:
    """Take what was asked for out of the environment, so that neither the program nor its children
    see it: the root and the file.
    """
    asked = environment.pop("PERFVCS_FUNCTIONS").split("\n")
    environment.pop("PYTHONPATH")
    if len(asked) > 2:
        environment["PYTHONPATH"] = asked[2]
    ours = [
        os.path.realpath(os.path.dirname(sys.modules[name].__file__ or ""))  # noqa: PTH120
        for name in (__name__, "perfvcs_functions")
    ]
    sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry) not in ours]
    del sys.modules["perfvcs_functions"]
    return asked[0], asked[1]


def _write(code: FewEvents, path: str, pid: int) -> None:
    """Leave a line for each function: the file and the qualified name; the first line says whether
    processes were started.
    """
    if os.getpid() != pid or code.events > MOST_EVENTS:
        return
    code.remove()
    seen = code.swap()
    lines = ["processes" if code.processes(seen) else ""]
    lines += [f"{file}\t{name}" for file, name, _ in sorted(code.places(seen)) if name]
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write("\n".join(lines) + "\n")


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


# older ones do not know the qualified names
if "PERFVCS_FUNCTIONS" in os.environ and sys.version_info >= (3, 11):
    root, file = _restore(os.environ)
    running = FewEvents(root)
    atexit.register(_write, running, file, os.getpid())
    running.install()
_next()
