#include <stdlib.h>
void *from_one(void) { void *volatile p = malloc(100); return p; }
