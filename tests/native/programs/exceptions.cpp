// Exceptions through, out of and inside of recorded functions, with destructors that call recorded functions and throw themselves.
#include <cstdio>
#include <stdexcept>
#include <string>

#define KEEP __attribute__((noinline))

KEEP int note(const char *what, int n) { std::printf("%s %d\n", what, n); return n; }

struct Guard {
    int n;
    explicit Guard(int number) : n(number) { note("made", n); }
    ~Guard() noexcept(false)
    {
        note("gone", n);
        try {
            inner(n);
        } catch (const std::string &text) {
            std::printf("inside a destructor: %s\n", text.c_str());
        }
    }
    KEEP static void inner(int n)
    {
        if (n % 2)
            throw std::string("odd ") + std::to_string(n);
    }
};

KEEP int thrower(int n)
{
    Guard guard(n);
    if (n % 3 == 0)
        throw std::runtime_error("three " + std::to_string(n));
    return n;
}

KEEP int passer(int n) { Guard guard(n + 100); return thrower(n) + 1; }

KEEP int rethrower(int n)
{
    try {
        return passer(n);
    } catch (...) {
        note("rethrow", n);
        throw;
    }
}

KEEP int catcher(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        try {
            sum += rethrower(i);
        } catch (const std::exception &error) {
            std::printf("caught %s\n", error.what());
            try {
                throw 5;
            } catch (int five) {
                sum += note("nested", five);
            }
        }
    }
    return sum;
}

KEEP int deep(int n)
{
    if (n == 0)
        throw 17;
    return deep(n - 1) + 1;
}

KEEP int function_try(int n)
try {
    return deep(n);
} catch (int value) {
    return value;
}

int main()
{
    std::printf("%d\n", catcher(10));
    std::printf("%d %d %d\n", function_try(1), function_try(50), function_try(5000));
    for (int i = 0; i < 140000; i++) // more than the recorder has slots for open calls
        if (function_try(1) != 17)
            return 1;
    try {
        deep(3);
    } catch (int value) {
        return value;
    }
}
