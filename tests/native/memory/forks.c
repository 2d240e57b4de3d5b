/* allocates 41 blocks, 41000 bytes, at most 10000, leaves 14000, in before inside after */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile void *seen;
__attribute__((noinline)) static void *before(void) { void *p = malloc(1000); seen = p; return p; }
__attribute__((noinline)) static void *inside(void) { void *p = malloc(1000); seen = p; return p; }
__attribute__((noinline)) static void *after(void) { void *p = malloc(1000); seen = p; return p; }
/* the parent allocates 10 and frees all but 1 after three children, which free them too and allocate 10 of their own, 7 of which they free,
   and then 1 that they leave; so the parent leaves 1 + 1 and each child 3 + 1 */
int main(void)
{
    void *own[10];
    for (int i = 0; i < 10; i++)
        own[i] = before();
    for (int child = 0; child < 3; child++) {
        if (fork() == 0) {
            void *mine[10];
            for (int i = 0; i < 10; i++) {
                free(own[i]);
                mine[i] = inside();
            }
            for (int i = 0; i < 7; i++)
                free(mine[i]);
            _exit(child > 2);
        }
    }
    while (wait(NULL) > 0)
        ;
    for (int i = 0; i < 6; i++)
        free(own[i]);
    seen = after();
    return 0;
}
