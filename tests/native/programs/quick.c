#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) int work(int n) { if (n == 2) { fflush(stdout); _exit(23); } return work(n + 1) + 1; }
int main(void) { puts("quick"); return work(0); }
