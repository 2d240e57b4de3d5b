/* A daemon's habits: it closes everything, changes folder and root-like limits, and goes on. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
__attribute__((noinline)) long work(long n) { return n ? 1 + work(n - 1) : 0; }
int main(void)
{
    work(1);
    for (int i = 3; i < 1024; i++)
        close(i);
    if (chdir("/"))
        return 1;
    struct rlimit none = {4096, 4096}, few = {8, 8};
    setrlimit(RLIMIT_FSIZE, &none);
    setrlimit(RLIMIT_NOFILE, &few);
    long sum = 0;
    for (long i = 0; i < 200000; i++)
        sum += work(i % 50);
    printf("%ld\n", sum);
    return 0;
}
