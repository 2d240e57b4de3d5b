#!/bin/sh
# Measure, check and draw the histories of the skip list: sh examples/skiplist/run.sh FOLDER
# FOLDER holds what build.py made (skiplist/python/ and skiplist/cpp/); the pages go to FOLDER/pages. `perf` is taken from PATH.
set -eu
folder=$(cd "$1" && pwd)
mkdir -p "$folder/pages"

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

for language in python cpp; do
    if [ "$language" = cpp ] && ! { command -v g++ && command -v make; } >/dev/null; then
        printf '\nWithout g++ and make the C++ skip list is left out: install them (on Debian: apt-get install g++ make)\n'
        continue
    fi
    cd "$folder/skiplist/$language"
    run perf init
    run perf collect v1 v2 v3 v4 v5 v6 v7
    run perf check v1..v7
    run perf check --verbose v1 v7
    run perf show v1 v2 --no-open -o "$folder/pages/skiplist-$language-constant.html"
    run perf show v3 v4 --no-open -o "$folder/pages/skiplist-$language-linear.html"
    run perf show v5 v6 --no-open -o "$folder/pages/skiplist-$language-quadratic.html"
done

printf '\nThe pages are in %s:\n' "$folder/pages"
ls "$folder/pages"
