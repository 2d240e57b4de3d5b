// std::thread, async, thread_local objects with destructors, exceptions carried from thread to thread.
#include <cstdio>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>
#define KEEP __attribute__((noinline))
static std::atomic<long> total{0};
struct Local { long n = 0; ~Local() { add(n); } KEEP static void add(long n) { total += n; } };
thread_local Local local;
KEEP long work(int n) { if (n < 0) throw std::runtime_error("negative"); local.n += n; return n ? n + work(n - 1) : 0; }
KEEP long guarded(int n) { try { return work(n); } catch (const std::exception &) { return -1; } }
int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 16; i++)
        threads.emplace_back([i] { for (int j = 0; j < 500; j++) guarded(j % 20 - i % 2); });
    for (auto &one : threads)
        one.join();
    std::printf("%ld\n", total.load());
    auto failing = std::async(std::launch::async, work, -1);
    try {
        failing.get();
    } catch (const std::exception &error) {
        std::printf("%s\n", error.what());
    }
    std::exception_ptr kept;
    std::thread([&] { try { work(-2); } catch (...) { kept = std::current_exception(); } }).join();
    try {
        std::rethrow_exception(kept);
    } catch (const std::runtime_error &error) {
        std::printf("again: %s\n", error.what());
    }
}
