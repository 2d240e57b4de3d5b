/* Recursion 100,000 calls deep, mutual and through pointers; alloca; large frames. */
#include <alloca.h>
#include <stdio.h>
#include <string.h>
#define KEEP __attribute__((noinline))
KEEP long down(long n) { __asm__ volatile("" : : : "memory"); return n ? 1 + down(n - 1) : 0; }
KEEP int odd(int n);
KEEP int even(int n) { int got = n ? odd(n - 1) : 1; __asm__ volatile("" : : : "memory"); return got; }
KEEP int odd(int n) { int got = n ? even(n - 1) : 0; __asm__ volatile("" : : : "memory"); return got; }
KEEP int room(int n) { char *memory = alloca((size_t)n * 16 + 1); memset(memory, n, (size_t)n * 16 + 1); return memory[n * 8] + (n ? room(n - 1) : 0); }
KEEP int ackermann(int m, int n) { return !m ? n + 1 : !n ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
int main(void)
{
    int (*pointer)(int) = even;
    printf("%ld %d %d %d %d\n", down(100000), pointer(50000), pointer(49999), room(300), ackermann(2, 50));
    for (int i = 0; i < 3; i++)
        printf("%ld\n", down(50000 + i));
    return (int)(down(100) % 256);
}
