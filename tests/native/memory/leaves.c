/* allocates 11 blocks, 1100 bytes, at most 1100, leaves 1100, in take */
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
static volatile void *seen;
__attribute__((noinline)) static void take(void) { seen = malloc(100); }
/* whatever a program does to its surroundings, and however it ends */
int main(void)
{
    take();
    for (int i = 3; i < 1000; i++)
        close(i);
    clearenv();
    if (chdir("/"))
        return 1;
    for (int i = 0; i < 10; i++)
        take();
    _exit(0);
}
