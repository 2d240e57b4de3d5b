// C++20 coroutines, resumed from several places, and exceptions out of them.
#include <coroutine>
#include <cstdio>
#include <exception>
#include <stdexcept>
#define KEEP __attribute__((noinline))
struct Numbers {
    struct promise_type {
        int value = 0;
        std::exception_ptr error;
        Numbers get_return_object() { return Numbers{std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(int v) { value = v; return {}; }
        void return_void() {}
        void unhandled_exception() { error = std::current_exception(); }
    };
    std::coroutine_handle<promise_type> handle;
    explicit Numbers(std::coroutine_handle<promise_type> h) : handle(h) {}
    Numbers(Numbers &&other) noexcept : handle(other.handle) { other.handle = nullptr; }
    ~Numbers() { if (handle) handle.destroy(); }
    KEEP bool next() { handle.resume(); if (handle.promise().error) std::rethrow_exception(handle.promise().error); return !handle.done(); }
};
KEEP int square(int n) { return n * n; }
Numbers squares(int n) { for (int i = 0; i < n; i++) { if (i == 7) throw std::runtime_error("seven"); co_yield square(i); } }
KEEP int sum(Numbers &numbers) { int total = 0; while (numbers.next()) total += numbers.handle.promise().value; return total; }
int main()
{
    Numbers few = squares(5), many = squares(20), left = squares(3);
    left.next();
    std::printf("%d\n", sum(few));
    try { sum(many); } catch (const std::exception &error) { std::printf("%s\n", error.what()); }
}
