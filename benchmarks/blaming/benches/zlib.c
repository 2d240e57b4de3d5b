#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "zlib.h"

int main(void)
{
    static unsigned char text[20000], packed[30000], again[20000];
    unsigned long state = 1;
    size_t length = 0, sum = 0;
    while (length + 40 < sizeof text) {
        state = state * 1103515245 + 12345;
        unsigned choice = state >> 16 & 63;
        length += sprintf((char *)text + length, choice < 40 ? "word%u " : choice < 60 ? "the line %u\n" : "%u#%%&\t", choice * (choice < 40 ? 1 : (unsigned)state % 99));
    }
    int levels[] = {1, 6, 9};
    for (int i = 0; i < 3; i++) {
        uLongf many = sizeof packed, back = sizeof again;
        compress2(packed, &many, text, length, levels[i]);
        uncompress(again, &back, packed, many);
        sum += many + back + (memcmp(text, again, length) == 0);
    }
    sum += crc32(0, text, length) & 255;
    printf("%zu\n", sum);
    return 0;
}
