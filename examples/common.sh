# What the run.sh of every example begins with: . "$(dirname "$0")/../common.sh"
set -eu
unset CDPATH

# Show a command as one would type it, then run it; a verdict of `perf check` (exit 3: slower, 4: nothing to say) is not a failure here.
run() {
    printf '\n$ %s\n' "$*"
    status=0
    "$@" || status=$?
    case "$1 $2 $status" in
        *" 0" | "perf check 3" | "perf check 4") ;;
        *) exit "$status" ;;
    esac
}

# Say which pages there are in a folder.
list_pages() {
    printf '\nThe pages are in %s:\n' "$(cd "$1" && pwd)"
    ls "$1"
}
