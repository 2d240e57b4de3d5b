/* Calls that are jumps: a function returns through the frame of another one. */
#include <stdio.h>
#define KEEP __attribute__((noinline))
KEEP int last(int n) { __asm__ volatile("" : : : "memory"); return n * 2; }
KEEP int second(int n) { __asm__ volatile("" : : : "memory"); return last(n + 1); }
KEEP int first(int n) { __asm__ volatile("" : : : "memory"); return second(n + 1); }
KEEP int ping(int n);
KEEP int pong(int n) { __asm__ volatile("# pong" : : : "memory"); return n ? ping(n - 1) : 7; }
KEEP int ping(int n) { __asm__ volatile("# ping" : : : "memory"); return n ? pong(n - 1) : 9; }
KEEP int say(const char *text) { return printf("%s\n", text); }
typedef int function(int);
KEEP int call(function *f, int n) { return f(n); }
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += first(i) + call(i % 2 ? first : last, i);
    printf("%d %d %d\n", sum, ping(1000), ping(300001 % 5000));
    return say("end");
}
