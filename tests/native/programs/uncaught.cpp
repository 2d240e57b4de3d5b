// Nobody catches: terminate and abort.
#include <cstdio>
#include <stdexcept>
__attribute__((noinline)) void inner(int n) { if (n) throw std::logic_error("nobody wants me"); }
__attribute__((noinline)) void outer(int n) { inner(n); std::puts("not here"); }
int main() { std::puts("before"); std::fflush(stdout); outer(1); }
