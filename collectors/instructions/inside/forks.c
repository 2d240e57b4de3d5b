/* Preloaded into programs that run under callgrind: a child that a fork makes begins at zero, as it has its parent's counts otherwise. */
#include <pthread.h>
#include <valgrind/callgrind.h>

static void begin(void)
{
    CALLGRIND_ZERO_STATS;
}

__attribute__((constructor)) static void prepare(void)
{
    pthread_atfork(0, 0, begin);
}
