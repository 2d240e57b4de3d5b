/* allocates 16000 blocks, 1008000 bytes, at most 504000, leaves 0, in work resize */
#include <pthread.h>
#include <stdlib.h>
static void *kept[8][1000];
static pthread_barrier_t all;
__attribute__((noinline)) static void *resize(void *p) { return realloc(p, 63); }
/* each thread frees what its neighbour allocated */
__attribute__((noinline)) static void *work(void *data)
{
    long me = (long)data;
    for (int i = 0; i < 1000; i++)
        kept[me][i] = malloc(63);
    pthread_barrier_wait(&all);
    for (int i = 0; i < 1000; i++)
        kept[me][i] = resize(kept[me][i]);
    pthread_barrier_wait(&all);
    for (int i = 0; i < 1000; i++)
        free(kept[(me + 1) % 8][i]);
    return NULL;
}
int main(void)
{
    pthread_t threads[8];
    pthread_barrier_init(&all, NULL, 8);
    for (long i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
