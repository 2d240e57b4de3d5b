// Exceptions through functions that were entered by jumps.
#include <cstdio>
#define KEEP __attribute__((noinline))
KEEP int last(int n) { if (n % 5 == 0) throw n; return n; }
KEEP int second(int n) { return last(n + 1); }
KEEP int first(int n) { return second(n + 1); }
KEEP int catcher(int n) { try { return first(n); } catch (int value) { return -value; } }
int main() { long sum = 0; for (int i = 0; i < 200000; i++) sum += catcher(i); std::printf("%ld\n", sum); }
