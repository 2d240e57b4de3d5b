/* fork inside recorded functions, returning in both processes; vfork, spawn, exec. */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define KEEP __attribute__((noinline))
extern char **environ;
KEEP int count(int n) { return n ? 1 + count(n - 1) : 0; }
KEEP pid_t split(int raw) { count(3); return raw ? (pid_t)syscall(SYS_fork) : fork(); }
KEEP int parent(int n)
{
    pid_t child = split(n % 2);
    if (!child) {
        int mine = count(n);
        if (n > 2) {
            int status;
            pid_t grandchild = split(0);
            if (!grandchild)
                _exit(count(n));
            waitpid(grandchild, &status, 0);
            mine += WEXITSTATUS(status);
        }
        return mine;
    }
    int status;
    waitpid(child, &status, 0);
    return -WEXITSTATUS(status);
}
KEEP pid_t quick(char **argv)
{
    pid_t child = vfork();
    if (!child) {
        execv(argv[0], argv);
        _exit(count(1));
    }
    return child;
}
int main(int argc, char **argv)
{
    if (argc > 1)
        return count(atoi(argv[1]));
    for (int n = 0; n < 6; n++) {
        int got = parent(n);
        if (got > 0 || (!n && got == 0 && getppid() == 0))
            exit(got);
        printf("%d\n", got);
        fflush(stdout);
        if (n == 0 && got == 0 && count(0))
            return 1;
    }
    char *again[] = {argv[0], "42", NULL};
    int status;
    pid_t child = quick(again);
    waitpid(child, &status, 0);
    printf("vfork %d\n", WEXITSTATUS(status));
    posix_spawn(&child, argv[0], NULL, NULL, again, environ);
    waitpid(child, &status, 0);
    printf("spawn %d\n", WEXITSTATUS(status));
    fflush(stdout);
    again[1] = "7";
    execv(argv[0], again);
    return 99;
}
