/* Functions of the C and C++ libraries that are told about pending calls, or that must not see them. */
#pragma once

#include "frames.h"

#include <errno.h>
#include <execinfo.h>
#include <setjmp.h>
#include <stdarg.h>
#include <threads.h>
#include <ucontext.h>
#include <unwind.h>

/* The function of that name that the program would have called, looked up once. */
#define NEXT(name)                                                                                                                     \
    ({                                                                                                                                 \
        static __typeof__(&name) found;                                                                                                \
        if (!found)                                                                                                                    \
            found = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                                                        \
        found ? found : (__typeof__(&name))local(#name, __builtin_return_address(0));                                                  \
    })

static pthread_key_t thread_key;

/* The same for a caller that has it from libraries of its own: those of a plugin, which only the plugin sees. */
__attribute__((noinline)) static void *local(const char *name, const void *caller)
{
    static int (*close_library)(void *);
    Dl_info about;
    void *library = dladdr(caller, &about) && about.dli_fname ? dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *found = library ? dlsym(library, name) : NULL;
    if (!close_library)
        close_library = (__typeof__(close_library))dlsym(RTLD_NEXT, "dlclose");
    if (library)
        close_library(library); /* held by its caller */
    if (!found)
        abort();
    return found;
}

/* A processor that keeps its own copy of return addresses stops programs whose addresses change. */
static bool shadow_stack(void)
{
    uint64_t features = 0;
    return !kernel(SYS_arch_prctl, 0x5005 /* ARCH_SHSTK_STATUS */, (long)&features, 0, 0, 0, 0) && features & 1;
}

extern char __libc_single_threaded __attribute__((weak));

/* Whether code can be changed without another thread running it. */
static bool alone(void)
{
    return &__libc_single_threaded && __libc_single_threaded;
}

/* Jumps: what they leave is not going to return. The saved stack pointer is rotated and xored, as glibc does. */
static void about_to_jump(const struct __jmp_buf_tag *to)
{
    uint64_t guard, pointer, here = (uint64_t)__builtin_frame_address(0);
    __asm__("mov %%fs:0x30, %0" : "=r"(guard));
    pointer = (uint64_t)to->__jmpbuf[6];
    pointer = (pointer >> 17 | pointer << 47) ^ guard;
    if (!ready || !self)
        return;
    if (pointer > here && pointer - here < 1ull << 30)
        drop_below((const uint64_t *)pointer);
    else if (self->busy) /* from another stack, that of signals */
        start_over(self);
    else
        self->switches++;
}

static void prepare_calls(void);

#define JUMP(name)                                                                                                                     \
    static void (*real_##name)(struct __jmp_buf_tag *, int);                                                                           \
    __attribute__((noreturn)) void name(struct __jmp_buf_tag to[1], int value)                                                           \
    {                                                                                                                                  \
        if (!real_##name) /* a library's constructor jumps */                                                                         \
            prepare_calls();                                                                                                           \
        about_to_jump(to);                                                                                                             \
        real_##name(to, value);                                                                                                        \
        __builtin_unreachable();                                                                                                       \
    }
JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)

int swapcontext(ucontext_t *restrict from, const ucontext_t *restrict to)
{
    if (ready && self)
        self->switches++;
    return NEXT(swapcontext)(from, to);
}

int setcontext(const ucontext_t *to)
{
    if (ready && self)
        self->switches++;
    return NEXT(setcontext)(to);
}

/* What catches an exception runs above all that the exception left. */
static void *(*real_begin_catch)(void *);
void *__cxa_begin_catch(void *exception);
void *__cxa_begin_catch(void *exception)
{
    if (ready)
        drop_below((const uint64_t *)__builtin_frame_address(0) + 2);
    if (real_begin_catch)
        return real_begin_catch(exception);
    return ((__typeof__(real_begin_catch))local("__cxa_begin_catch", __builtin_return_address(0)))(exception);
}

int dlclose(void *library)
{
    int result = NEXT(dlclose)(library);
    atomic_fetch_add(&unmapped, 1);
    if (ready)
        forget();
    return result;
}

struct started {
    void *(*function)(void *);
    void *argument;
};

static struct started began(void *given)
{
    struct started started = *(struct started *)given;
    kernel(SYS_munmap, (long)given, 4096, 0, 0, 0, 0);
    pthread_setspecific(thread_key, shared);
    return started;
}

static void *run_thread(void *given)
{
    struct started started = began(given);
    return started.function(started.argument);
}

static int run_c11_thread(void *given)
{
    struct started started = began(given);
    return ((thrd_start_t)(void *)started.function)(started.argument);
}

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*function)(void *), void *restrict argument)
{
    struct started *started = ready ? private_memory(4096) : NULL;
    if (!started)
        return NEXT(pthread_create)(thread, attributes, function, argument);
    *started = (struct started){function, argument};
    int result = NEXT(pthread_create)(thread, attributes, run_thread, started);
    if (result)
        kernel(SYS_munmap, (long)started, 4096, 0, 0, 0, 0);
    return result;
}

int thrd_create(thrd_t *thread, thrd_start_t function, void *argument)
{
    struct started *started = ready ? private_memory(4096) : NULL;
    if (!started)
        return NEXT(thrd_create)(thread, function, argument);
    *started = (struct started){(void *(*)(void *))(void *)function, argument};
    int result = NEXT(thrd_create)(thread, run_c11_thread, started);
    if (result != thrd_success)
        kernel(SYS_munmap, (long)started, 4096, 0, 0, 0, 0);
    return result;
}

/* Memory that is given back or protected: sizes are read only where there is memory. Allocators call these before there is a `next`. */
static int (*real_munmap)(void *, size_t);
static int (*real_mprotect)(void *, size_t, int);
static void *(*real_mremap)(void *, size_t, size_t, int, void *);

static long checked(long result)
{
    if (result >= 0 || result <= -4096)
        return result;
    errno = (int)-result;
    return -1;
}

int munmap(void *at, size_t bytes)
{
    int result = real_munmap ? real_munmap(at, bytes) : (int)checked(kernel(SYS_munmap, (long)at, (long)bytes, 0, 0, 0, 0));
    atomic_fetch_add(&unmapped, 1);
    return result;
}

int mprotect(void *at, size_t bytes, int protection)
{
    int result = real_mprotect ? real_mprotect(at, bytes, protection)
                               : (int)checked(kernel(SYS_mprotect, (long)at, (long)bytes, protection, 0, 0, 0));
    atomic_fetch_add(&unmapped, 1);
    return result;
}

void *mremap(void *at, size_t before, size_t after, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    void *to = flags & MREMAP_FIXED ? va_arg(more, void *) : NULL;
    va_end(more);
    void *result = real_mremap ? real_mremap(at, before, after, flags, to)
                               : (void *)checked(kernel(SYS_mremap, (long)at, (long)before, (long)after, flags, (long)to, 0));
    atomic_fetch_add(&unmapped, 1);
    return result;
}

/* Stacks are told without this runtime's part of them. */
static bool own(uint64_t address)
{
    extern const uint8_t __ehdr_start[] __attribute__((visibility("hidden"))), etext[] __attribute__((visibility("hidden")));
    return address >= (uint64_t)__ehdr_start && address < (uint64_t)etext;
}

struct trace {
    _Unwind_Trace_Fn function;
    void *argument;
};

static _Unwind_Reason_Code trace_others(struct _Unwind_Context *context, void *given)
{
    const struct trace *trace = given;
    return own(NEXT(_Unwind_GetIP)(context)) ? _URC_NO_REASON : trace->function(context, trace->argument);
}

_Unwind_Reason_Code _Unwind_Backtrace(_Unwind_Trace_Fn function, void *argument)
{
    struct trace trace = {function, argument};
    return NEXT(_Unwind_Backtrace)(ready ? trace_others : function, ready ? (void *)&trace : argument);
}

int backtrace(void **addresses, int room)
{
    enum { MORE = 256 };
    if (!ready || room <= 0 || room > 65536)
        return NEXT(backtrace)(addresses, room);
    void *all[room + MORE];
    int count = NEXT(backtrace)(all, room + MORE), kept = 0;
    for (int i = 0; i < count && kept < room; i++)
        if (!own((uint64_t)all[i]))
            addresses[kept++] = all[i];
    return kept;
}

/* A program that was linked with -pg starts gprof's sampling, which would interrupt it and leave a file. */
void __monstartup(unsigned long low, unsigned long high)
{
    (void)low;
    (void)high;
}

void monstartup(unsigned long low, unsigned long high)
{
    (void)low;
    (void)high;
}

void moncontrol(int mode)
{
    (void)mode;
}

void _mcleanup(void)
{
}

/* Looked up before the program runs: signal handlers may not look for functions, and a search would replace what dlerror() tells. */
static void prepare_calls(void)
{
    real_longjmp = (__typeof__(real_longjmp))dlsym(RTLD_NEXT, "longjmp");
    real__longjmp = (__typeof__(real__longjmp))dlsym(RTLD_NEXT, "_longjmp");
    real_siglongjmp = (__typeof__(real_siglongjmp))dlsym(RTLD_NEXT, "siglongjmp");
    real___longjmp_chk = (__typeof__(real___longjmp_chk))dlsym(RTLD_NEXT, "__longjmp_chk");
    real_munmap = (__typeof__(real_munmap))dlsym(RTLD_NEXT, "munmap");
    real_mprotect = (__typeof__(real_mprotect))dlsym(RTLD_NEXT, "mprotect");
    real_mremap = (__typeof__(real_mremap))dlsym(RTLD_NEXT, "mremap");
    real_begin_catch = (__typeof__(real_begin_catch))dlsym(RTLD_NEXT, "__cxa_begin_catch");
    dlerror();
}
