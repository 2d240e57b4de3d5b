/* allocates 33 blocks, 3300 bytes, at most 3000, leaves 3300, in first second */
#include <stdlib.h>
#include <unistd.h>
static volatile void *seen;
__attribute__((noinline)) static void first(void) { for (int i = 0; i < 3; i++) seen = malloc(100); }
__attribute__((noinline)) static void second(void) { for (int i = 0; i < 30; i++) seen = malloc(100); }
int main(int count, char **words)
{
    if (count > 1) {
        second();
        return 0;
    }
    first();
    return execl(words[0], words[0], "again", (char *)NULL);
}
