/* allocates 200 blocks, 1700 bytes, at most 1106, leaves 600, in copies */
#include <stdlib.h>
#include <string.h>
static char *kept[100];
__attribute__((noinline)) static void copies(void)
{
    for (int i = 0; i < 100; i++)
        kept[i] = strdup("ten chars!");
    for (int i = 0; i < 100; i++) {
        char *short_one = strndup("ten chars!", 5);
        free(kept[i]);
        kept[i] = short_one;
    }
}
int main(void)
{
    copies();
    return kept[0][0] != 't';
}
