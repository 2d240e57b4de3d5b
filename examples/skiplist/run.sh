#!/bin/sh
# Measure, check and draw the histories of the skip list: sh examples/skiplist/run.sh FOLDER
# FOLDER holds what build.py made (skiplist/python/ and skiplist/cpp/); the pages go to FOLDER/pages. `perf` is taken from PATH.
. "$(dirname "$0")/../common.sh"
folder=$(cd "$1" && pwd)
mkdir -p "$folder/pages"
pages=../../pages

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
    run perf show v1 v2 --no-open -o "$pages/skiplist-$language-constant.html"
    run perf show v3 v4 --no-open -o "$pages/skiplist-$language-linear.html"
    run perf show v5 v6 --no-open -o "$pages/skiplist-$language-quadratic.html"
    run perf publish "$pages/skiplist-$language"
done

list_pages "$folder/pages"
