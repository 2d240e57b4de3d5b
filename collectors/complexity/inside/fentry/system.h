/* System calls without the C library, and the clock.

   Hooks run between a call and the first instruction of the called function: vector registers may hold arguments, errno may hold a
   value that the program still wants, and locks of the C library may be held. So hooks call nothing outside this runtime. */
#pragma once

#include <cpuid.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Compilers call these for structs and loops; the C library's own may use vector registers. */
__attribute__((visibility("hidden"))) void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    void *result = to;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
    return result;
}

__attribute__((visibility("hidden"))) void *memset(void *at, int value, size_t bytes)
{
    void *result = at;
    __asm__ volatile("rep stosb" : "+D"(at), "+c"(bytes) : "a"(value) : "memory");
    return result;
}

static inline long kernel(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/* Zeroed private memory; NULL when there is none. */
static void *private_memory(size_t bytes)
{
    long at = kernel(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at < 0 && at > -4096 ? NULL : (void *)at;
}

static uint64_t block_signals(void)
{
    uint64_t all = ~0ull, before = 0;
    kernel(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, (long)&all, (long)&before, 8, 0, 0);
    return before;
}

static void restore_signals(uint64_t before)
{
    kernel(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, (long)&before, 0, 8, 0, 0);
}

/* Whether 8 bytes at an address can be read: the kernel copies the set before it looks at the senseless first argument. */
static bool readable(uint64_t address)
{
    return kernel(SYS_rt_sigprocmask, ~0u >> 1, (long)address, 0, 8, 0, 0) == -22 /* EINVAL, not EFAULT */;
}

static int (*vdso_clock)(clockid_t, struct timespec *); /* NULL: the processor's counter is the clock */

static uint64_t monotonic(void)
{
    struct timespec now = {0, 0};
    if (vdso_clock)
        vdso_clock(CLOCK_MONOTONIC, &now);
    else
        kernel(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t ticks(void)
{
    if (UNLIKELY(vdso_clock != NULL))
        return monotonic();
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

/* The time stamp counter where it runs at one rate on all processors, else the kernel's clock through its page in every process. */
static void choose_clock(void)
{
    uint32_t a, b, c, d;
    if (__get_cpuid(0x80000000u, &a, &b, &c, &d) && a >= 0x80000007u && __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & 1u << 8))
        return;
    void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (vdso)
        vdso_clock = (int (*)(clockid_t, struct timespec *))dlsym(vdso, "__vdso_clock_gettime");
}
