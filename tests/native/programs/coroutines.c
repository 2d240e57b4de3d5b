/* Stacks that are switched by swapcontext inside of recorded functions, some never finished. */
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#define KEEP __attribute__((noinline))
enum { COUNT = 8, ROOM = 1 << 16 };
static ucontext_t main_context, contexts[COUNT];
static int current, alive, done[COUNT];
KEEP static void yield(int n) { __asm__ volatile("" : : "r"(n)); swapcontext(&contexts[current], &main_context); }
KEEP static long work(int n) { long sum = n; for (int i = 0; i < 5; i++) { yield(i); sum += i; } return sum; }
KEEP static long recurse(int n) { if (n % 3 == 0) yield(n); return n ? recurse(n - 1) + 1 : work(1); }
static void body(int number) { long got = recurse(number + 4); printf("%d got %ld\n", number, got); alive--; done[number] = 1; }
KEEP static void resume(int number) { current = number; swapcontext(&main_context, &contexts[number]); }
KEEP static long other(int n) { return n ? other(n - 1) + 1 : 0; }
int main(void)
{
    char own[2][ROOM];
    for (int i = 0; i < COUNT; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = i < 2 ? own[i] : malloc(ROOM);
        contexts[i].uc_stack.ss_size = ROOM;
        contexts[i].uc_link = &main_context;
        makecontext(&contexts[i], (void (*)(void))body, 1, i);
    }
    alive = COUNT - 1;
    for (int round = 0; alive; round++)
        for (int i = 0; i < COUNT - 1; i++) {
            int chosen = (i * 3 + round) % (COUNT - 1);
            if (!done[chosen])
                resume(chosen);
            if (other(i) != i)
                abort();
        }
    for (int i = 0; i < 3; i++)
        resume(COUNT - 1); /* and leave it there */
    printf("%ld\n", other(100));
    return 0;
}
