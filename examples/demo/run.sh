#!/bin/sh
# Measure, check and draw the demo's repository: sh examples/demo/run.sh FOLDER
# FOLDER holds what build.py made (sqlparse/); the pages go to FOLDER/pages. `perf` is taken from PATH.
set -eu
cd "$1/sqlparse"
pages=../pages
mkdir -p "$pages"

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

releases=$(git tag --sort=creatordate)
last=$(echo "$releases" | tail -n 1)

run perf init
run perf collect $releases
run perf log "$last"

baseline=
for release in $releases; do
    if [ -n "$baseline" ]; then
        run perf check "$baseline" "$release"
        run perf show "$baseline" "$release" --no-open -o "$pages/$baseline-$release.html"
    fi
    baseline=$release
done
run perf show "$last" --no-open -o "$pages/$last.html"
run perf show sql --no-open -o "$pages/history.html"

printf '\nThe pages are in %s:\n' "$(cd "$pages" && pwd)"
ls "$pages"
