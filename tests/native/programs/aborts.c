#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) int work(int n) { if (n == 200) abort(); return work(n + 1) + 1; }
int main(void) { puts("aborts"); fflush(stdout); return work(0); }
