/* Handlers that call recorded functions, on the stack and on one of their own, and jump out. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#define KEEP __attribute__((noinline))
static volatile sig_atomic_t seen;
static sigjmp_buf back;
KEEP static int handled(int n) { __asm__ volatile("" : : "r"(n)); return n + 1; }
KEEP static void on_alarm(int number) { seen = handled(seen) - 1 + (number == SIGALRM); }
KEEP static void on_segv(int number) { handled(number); siglongjmp(back, number); }
KEEP static long work(long n) { long sum = 0; for (long i = 0; i < n; i++) sum += handled((int)i) ; return sum; }
KEEP static int overflow(int n) { volatile char room[4096]; room[0] = (char)n; return overflow(n + 1) + room[0]; }
int main(void)
{
    static char stack[1 << 16];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 300}, {0, 300}};
    setitimer(ITIMER_REAL, &often, NULL);
    long sum = 0;
    while (seen < 200)
        sum = work(20000);
    memset(&often, 0, sizeof often);
    setitimer(ITIMER_REAL, &often, NULL);
    printf("%ld\n", sum);
    sigaltstack(&other, NULL);
    action = (struct sigaction){.sa_handler = on_segv, .sa_flags = SA_ONSTACK | SA_NODEFER};
    sigaction(SIGSEGV, &action, NULL);
    for (volatile int i = 0; i < 30; i++) {
        int got = sigsetjmp(back, 1);
        if (!got)
            *(volatile int *)8 = handled(1);
        else if (i == 29)
            printf("signal %d\n", got);
    }
    if (sigsetjmp(back, 1) == 0)
        overflow(0);
    puts("back from the end of the stack");
    raise(SIGUSR1);
    return 0;
}
