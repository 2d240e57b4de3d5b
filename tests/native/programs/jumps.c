/* Long jumps over recorded functions, from a deeper and from a shallower place, nested and repeated. */
#include <setjmp.h>
#include <stdio.h>
#define KEEP __attribute__((noinline))
static jmp_buf top, middle;
KEEP int leaf(int n) { if (n % 2) longjmp(n % 4 == 1 ? top : middle, n); return n; }
KEEP int between(int n) { return leaf(n) + 1; }
KEEP int with_buffer(int n)
{
    int got = setjmp(middle);
    if (got)
        return -got;
    return between(n);
}
KEEP int deep(int n) { char room[64]; __asm__ volatile("" : : "r"(room) : "memory"); return n ? deep(n - 1) : leaf(1); }
int main(void)
{
    volatile int i = 0;
    for (i = 0; i < 20; i++) {
        int got = setjmp(top);
        if (got)
            printf("top %d\n", got);
        else
            printf("%d: %d\n", i, with_buffer(i));
    }
    for (i = 0; i < 1000; i++)
        if (!setjmp(top))
            deep(i % 50);
    for (i = 0; i < 140000; i++) /* more than the recorder has slots for open calls */
        if (!_setjmp(top))
            between(1);
    printf("%d\n", between(2));
    return 0;
}
