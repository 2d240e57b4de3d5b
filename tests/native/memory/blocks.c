/* allocates 2001 blocks, 134000 bytes, at most 33000, leaves 1000, in keep churn big */
#include <stdlib.h>
static void *kept[1000];
static volatile void *seen;
__attribute__((noinline)) static void keep(void) { for (int i = 0; i < 1000; i++) kept[i] = malloc(32); }
__attribute__((noinline)) static void churn(void) { for (int i = 0; i < 1000; i++) { void *p = malloc(101); seen = p; free(p); } }
__attribute__((noinline)) static void big(void) { seen = malloc(1000); }
int main(void)
{
    keep();
    big();
    for (int i = 0; i < 1000; i++)
        free(kept[i]);
    churn();
    return 0;
}
