/* allocates 4 blocks, 1000 bytes, at most 1000, leaves 1000, in begin finish last run */
#include <stdlib.h>
static volatile void *seen;
__attribute__((constructor, noinline)) static void begin(void) { seen = malloc(100); }
__attribute__((destructor, noinline)) static void last(void) { seen = malloc(400); }
__attribute__((noinline)) static void finish(void) { seen = malloc(300); }
__attribute__((noinline)) static void run(void) { seen = malloc(200); }
int main(void)
{
    atexit(finish);
    run();
    return 0;
}
