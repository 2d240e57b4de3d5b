/* What a program sees of its own stack: as many frames, in the same functions. */
#include <execinfo.h>
#include <stdio.h>
#include <string.h>
#define KEEP __attribute__((noinline))
static void *frames[64];
KEEP int here(int n) { int count = backtrace(frames, 64); __asm__ volatile("" : : : "memory"); return count - n; }
KEEP int inner(int n) { int got = here(n); __asm__ volatile("" : : : "memory"); return got; }
KEEP int outer(int n) { int got = n ? outer(n - 1) : inner(3); __asm__ volatile("" : : : "memory"); return got; }
int main(void)
{
    for (int i = 0; i < 5; i++)
        printf("%d\n", outer(i));
    char **names = backtrace_symbols(frames, outer(2) + 3);
    for (int i = 0; i < 6; i++) {
        char *name = strchr(names[i], '('), *end = name ? strchr(name, '+') : NULL;
        printf("%.*s\n", end ? (int)(end - name - 1) : 0, name ? name + 1 : "");
    }
    return 0;
}
