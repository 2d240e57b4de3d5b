/* allocates 7 blocks, 14920 bytes, at most 14920, leaves 640, in take */
#include <malloc.h>
#include <stdlib.h>
static volatile void *seen;
__attribute__((noinline)) static void **take(void)
{
    static void *p[7];
    if (posix_memalign(&p[0], 64, 1000))
        abort();
    p[1] = aligned_alloc(64, 640);
    p[2] = memalign(128, 1280);
    p[3] = valloc(3000);
    p[4] = pvalloc(5000);
    p[5] = reallocarray(NULL, 30, 100);
    p[6] = malloc(1000);
    seen = p;
    return p;
}
int main(void)
{
    void **p = take();
    for (int i = 0; i < 7; i++)
        if (i != 1)
            free(p[i]);
    return 0;
}
