/* Preloaded into programs that run under callgrind. A child that a fork makes begins at zero, as it has its parent's counts otherwise.
 *
 * Where only the runs of a unit count, callgrind is off when the program starts: perfvcs_unit_begin switches it on, and perfvcs_unit_end off,
 * with a file for that run. Processes that are made meanwhile see PERFVCS_INSIDE, the number of the run, and begin with a file that names it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <valgrind/callgrind.h>

static void name_run(const char *kind, const char *run)
{
    char text[64];
    snprintf(text, sizeof text, "perfvcs %s %.20s", kind, run);
    CALLGRIND_DUMP_STATS_AT(text);
}

void perfvcs_unit_begin(void)
{
    CALLGRIND_START_INSTRUMENTATION;
}

void perfvcs_unit_end(int run)
{
    CALLGRIND_STOP_INSTRUMENTATION;
    char number[16];
    snprintf(number, sizeof number, "%d", run);
    if (run)
        name_run("run", number);
    else
        CALLGRIND_ZERO_STATS;
}

static void fork_child(void)
{
    CALLGRIND_ZERO_STATS;
    const char *run = getenv("PERFVCS_INSIDE");
    if (run)
        name_run("inside", run);
}

__attribute__((constructor)) static void prepare(void)
{
    pthread_atfork(0, 0, fork_child);
    const char *run = getenv("PERFVCS_INSIDE");
    if (run) {
        name_run("inside", run);
        CALLGRIND_START_INSTRUMENTATION;
    }
}
