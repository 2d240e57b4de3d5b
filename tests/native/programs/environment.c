/* errno, file descriptors, the heap and the signal mask are the program's. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define KEEP __attribute__((noinline))
KEEP int leaf(int n) { __asm__ volatile("" : : : "memory"); return errno + n; }
KEEP int opened(int n) { int file = open("/dev/null", O_RDONLY); __asm__ volatile("" : : "r"(n)); return file; }
KEEP int blocked(void) { sigset_t set; int count = 0; sigprocmask(SIG_BLOCK, NULL, &set); for (int i = 1; i < 65; i++) count += sigismember(&set, i) == 1; return count; }
int main(int argc, char **argv)
{
    errno = 77;
    int got = leaf(1);
    printf("%d %d\n", got, errno);
    for (int i = 0; i < 5; i++)
        printf("%d ", opened(i));
    printf("%d\n", blocked());
    for (int n = 1; n < 100000; n *= 3)
        errno = n, leaf(n);
    printf("%d %s %d\n", errno, getenv("HOME") ? "home" : "", argc);
    return argv[argc] != NULL;
}
