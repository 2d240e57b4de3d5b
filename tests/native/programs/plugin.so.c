__attribute__((noinline)) static int once(int n) { __asm__ volatile("" : : : "memory"); return n; }
int twice(int n) { return once(n) + once(n); }
