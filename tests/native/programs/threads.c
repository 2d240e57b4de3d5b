/* Many threads at once, some ended by pthread_exit and some cancelled while recorded functions are open. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#define KEEP __attribute__((noinline))
static pthread_key_t key;
static __thread long mine;
KEEP static long sum(long n) { return n > 0 ? n + sum(n - 1) : 0; }
KEEP static void destructor(void *value) { mine += sum((intptr_t)value); }
KEEP static void cleanup(void *value) { *(long *)value += sum(10); }
KEEP static void leave(long n) { if (n % 3 == 1) pthread_exit((void *)(intptr_t)sum(n)); }
KEEP static void *run(void *given)
{
    long n = (intptr_t)given;
    pthread_setspecific(key, (void *)(intptr_t)(n + 1));
    for (int i = 0; i < 2000; i++)
        mine += sum(n % 30);
    leave(n);
    return (void *)(intptr_t)mine;
}
static int ready[2], never[2];
KEEP static void wait_forever(void) { char byte; if (read(never[0], &byte, 1) != 1) return; }
KEEP static void *cancelled(void *given)
{
    pthread_cleanup_push(cleanup, given);
    char byte = 1;
    if (write(ready[1], &byte, 1) == 1)
        wait_forever();
    pthread_cleanup_pop(0);
    return NULL;
}
int main(void)
{
    pthread_t threads[8];
    long total = 0;
    pthread_key_create(&key, destructor);
    if (pipe(ready) || pipe(never))
        return 1;
    for (int round = 0; round < 20; round++) {
        for (long i = 0; i < 8; i++)
            pthread_create(&threads[i], NULL, run, (void *)(intptr_t)(round + i));
        for (int i = 0; i < 8; i++) {
            void *result;
            pthread_join(threads[i], &result);
            total += (intptr_t)result;
        }
    }
    printf("%ld\n", total);
    for (int i = 0; i < 5; i++) {
        long cleaned = 0;
        void *result;
        char byte;
        pthread_create(&threads[0], NULL, cancelled, &cleaned);
        if (read(ready[0], &byte, 1) != 1)
            return 1;
        pthread_cancel(threads[0]);
        pthread_join(threads[0], &result);
        printf("%d %ld\n", result == PTHREAD_CANCELED, cleaned);
    }
    return 0;
}
