#!/bin/sh
# Measure, check and draw the demo's repository: sh examples/demo/run.sh FOLDER
# FOLDER holds what build.py made (sqlparse/); the pages go to FOLDER/pages. `perf` is taken from PATH.
# EXECUTIONS=3 has each release executed three times instead of as perf.toml says.
. "$(dirname "$0")/../common.sh"
mkdir -p "$1/pages"
cd "$1/sqlparse"
pages=../pages

releases=$(git tag --sort=creatordate)
last=$(echo "$releases" | tail -n 1)

run perf init
run perf collect ${EXECUTIONS:+--executions "$EXECUTIONS"} $releases
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
run perf publish "$pages/site"

list_pages "$pages"
