#include <stdio.h>
__attribute__((noinline)) int work(int *at, int n) { return n ? work(at, n - 1) + 1 : *at; }
int main(void) { puts("crashes"); fflush(stdout); for (int i = 0; i < 100; i++) { int n = i; work(&n, i); } return work(NULL, 50); }
