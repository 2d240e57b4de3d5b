#include <stdio.h>
#include <string.h>
#include "ini.h"

static int handler(void *user, const char *section, const char *name, const char *value)
{
    *(size_t *)user += strlen(section) + strlen(name) + strlen(value);
    return 1;
}

int main(void)
{
    static char text[100000];
    size_t length = 0, sum = 0;
    for (int i = 0; i < 150; i++)
        length += sprintf(text + length, "[section %d]  ; a comment\n  name = value %d ; inline\nlist: 1, 2, 3\n# more\n\nlong = one\n  two\n  three\n", i, i);
    for (int round = 0; round < 5; round++)
        ini_parse_string(text, handler, &sum);
    printf("%zu\n", sum);
    return 0;
}
