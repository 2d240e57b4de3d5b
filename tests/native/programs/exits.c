/* Constructors, destructors, atexit, and an exit in the middle of open calls. */
#include <stdio.h>
#include <stdlib.h>
#define KEEP __attribute__((noinline))
KEEP int work(int n) { return n ? n + work(n - 1) : 0; }
__attribute__((constructor)) static void begin(void) { printf("begin %d\n", work(3)); }
__attribute__((destructor)) static void end(void) { printf("end %d\n", work(4)); }
KEEP static void bye(void) { printf("bye %d\n", work(5)); }
KEEP static int stop(int n) { if (n == 3) exit(work(6)); return stop(n + 1) + 1; }
int main(void) { atexit(bye); return stop(0); }
