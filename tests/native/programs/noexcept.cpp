#include <cstdio>
#include <cstdlib>
#include <exception>
__attribute__((noinline)) void thrower() { throw 1; }
__attribute__((noinline)) void wall() noexcept { thrower(); std::puts("?"); }
int main() { std::set_terminate([] { std::puts("terminated"); std::fflush(stdout); std::_Exit(9); }); wall(); }
