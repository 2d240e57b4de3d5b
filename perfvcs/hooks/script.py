"""The text of the git hooks: POSIX sh, thin, so that what may change later stays in the package
that they call.
"""

from __future__ import annotations

import os
import shlex

HOOK_MARK = "# perfvcs hook"
KEPT_HOOK = "before-perfvcs"  # suffix of the hook that was there before ours

_HEAD = f"""\
#!/bin/sh
{HOOK_MARK}: written by `perf hook install`, removed by `perf hook uninstall`; PERFVCS_SKIP=1 skips it.
hook=HOOK
python=PYTHON
case $0 in */*) here=${{0%/*}} ;; *) here=. ;; esac
kept=$here/$hook.{KEPT_HOOK}
own=$here/$hook
status=0

# The hook that was there before. A shell script is read by its own shell under the name that it knows itself by; what is in
# another language only sees its new name.
call_kept() {{
    IFS= read -r first <"$kept"
    case $first in
    '#!'*[/\\ ]sh | '#!'*[/\\ ]bash | '#!'*[/\\ ]dash | '#!'*[/\\ ]sh\\ -* | '#!'*[/\\ ]bash\\ -*)
        KEPT_HOOK=$kept ${{first#??}} -c '. "$KEPT_HOOK"' "$own" "$@" ;;
    *) "$kept" "$@" ;;
    esac
}}
is_kept() {{ [ -f "$kept" ] && [ -x "$kept" ]; }}
"""

_PYTHON_IS_THERE = """\
if [ ! -x "$python" ]; then
    echo "perf: the $hook hook does nothing, $python is gone: run \\`perf hook install\\` again, or delete $0" >&2
    exit "$status"
fi
"""

_POST_COMMIT_KEPT = """\
is_kept && { call_kept "$@" || status=$?; }  # git ignores its status, so a bad one is not a reason not to measure
"""

# A clone never has git's own folder, so that a .perf which came with one does not even start
# Python.
_POST_COMMIT = """\
[ -z "${PERFVCS_SKIP:-}" ] || exit "$status"
common=$(git rev-parse --git-common-dir 2>/dev/null && echo .) || exit "$status"
[ -f "${common%??}/perfvcs" ] || exit "$status"
PYTHON_IS_THERE
unset $(git rev-parse --local-env-vars)
"$python" -P -m perfvcs hook run post-commit </dev/null 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
exit "$status"
"""

# Whatever fails on the way, the shell's own forks too, the push goes on; only what the earlier hook
# or the check says stops it.
_PRE_PUSH = """\
stop=
finish() {
    trap - EXIT
    [ -z "$stop" ] || exit "$stop"
    case $1 in 0 | 3 | 130) exit "$1" ;; esac
    echo "perf: not checked (exit status $1), the push goes on; should perfvcs be gone, run \\`perf hook install\\` again" >&2
    exit 0
}
trap 'finish "$?"' EXIT
input=$(cat)
feed() { [ -z "$input" ] || printf '%s\\n' "$input"; }
if is_kept; then feed | call_kept "$@" || { stop=$?; exit; }; fi
[ -z "${PERFVCS_SKIP:-}" ] || exit 0
top=$(git rev-parse --show-toplevel 2>/dev/null) || exit 0
PYTHON_IS_THERE
unset $(git rev-parse --local-env-vars)
feed | "$python" -P -m perfvcs -C "$top" hook run pre-push -- "$@"
"""


def script(hook: str, python: str) -> bytes:
    """The whole file of ``post-commit`` or ``pre-push``; ``python`` is the interpreter that has
    perfvcs.
    """
    body = _POST_COMMIT_KEPT + _POST_COMMIT if hook == "post-commit" else _PRE_PUSH
    return _fill(_HEAD + "\n" + body, hook, python)


def _fill(text: str, hook: str, python: str) -> bytes:
    text = text.replace("PYTHON_IS_THERE\n", _PYTHON_IS_THERE)
    text = text.replace("hook=HOOK\n", f"hook={hook}\n", 1).replace(
        "python=PYTHON\n", f"python={shlex.quote(python)}\n", 1
    )
    return os.fsencode(text)
