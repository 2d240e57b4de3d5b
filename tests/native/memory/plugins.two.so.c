#include <stdlib.h>
void *from_two(void) { void *volatile p = malloc(200); return p; }
