/* allocates 21 blocks, 32995 bytes, at most 16384, leaves 100, in grow again shrink */
#include <stdlib.h>
static volatile void *seen;
/* 1, 2, 4 ... 16384: 15 blocks, 32767 bytes */
__attribute__((noinline)) static char *grow(void)
{
    char *p = NULL;
    for (size_t size = 1; size <= 16384; size *= 2)
        seen = p = realloc(p, size);
    return p;
}
/* 16 down to 10 in place, and one that fails: 100 stays */
__attribute__((noinline)) static void again(char *p)
{
    volatile size_t much = (size_t)-1 / 4;
    p = realloc(p, 100);
    seen = realloc(p, much);
}
__attribute__((noinline)) static void shrink(void)
{
    char *p = malloc(48);
    for (size_t size = 32; size >= 8; size -= 8)
        seen = p = realloc(p, size);
    seen = realloc(p, 0);
}
int main(void)
{
    char *p = grow();
    again(p);
    shrink();
    return 0;
}
