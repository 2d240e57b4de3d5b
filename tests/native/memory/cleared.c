/* allocates 51 blocks, 12900 bytes, at most 12900, leaves 2900, in table grid */
#include <stdlib.h>
static volatile void *seen;
__attribute__((noinline)) static void *table(void) { void *p = calloc(100, 100); seen = p; return p; }
__attribute__((noinline)) static void *grid(int n) { void *p = calloc(n, 2); seen = p; return p; }
int main(void)
{
    void *all = table(), *rows[50];
    for (int i = 0; i < 50; i++)
        rows[i] = grid(i < 40 ? 30 : 25);
    (void)rows;
    free(all);
    return 0;
}
