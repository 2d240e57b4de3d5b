#include <stdio.h>
__attribute__((noinline)) int work(int n) { return n + 1; }
int main(void) { fprintf(stderr, "no good\n"); return work(40); }
