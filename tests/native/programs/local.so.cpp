#include <csetjmp>
#include <stdexcept>
#include <string>
extern "C" { int counted; }
static std::jmp_buf back;
__attribute__((noinline)) static void jump(int n) { if (n) jump(n - 1); std::longjmp(back, 1); }
__attribute__((noinline)) static int thrower(int n) { if (n > 10) throw std::runtime_error(std::to_string(n)); return n; }
extern "C" __attribute__((noinline)) int catches(int n)
{
    try { return thrower(n); } catch (std::exception &error) { return std::stoi(error.what()) * 2; }
}
namespace {
struct Begin { Begin() { if (!setjmp(back)) jump(5); else counted += catches(7); } } begin;
}
