/* What all parts of the counter share, and the functions in whose place it stands. */
#ifndef PERFVCS_MEMORY_STATE_H
#define PERFVCS_MEMORY_STATE_H

#include "layout.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define PUBLIC __attribute__((visibility("default")))
#define SITES_BYTES (SITES * sizeof(struct site))
#define FILE_BYTES (HEADER + SITES_BYTES + POOL * sizeof(uint64_t))

extern char __ehdr_start[] __attribute__((visibility("hidden")));
extern char _end[] __attribute__((visibility("hidden")));
extern char __libc_single_threaded __attribute__((weak));

struct block {
    uint64_t address;
    uint64_t size : 46, own : 1, : 1, site : 16; /* own: allocated by this process, not by the one it was forked from */
};

static struct {
    void *(*malloc)(size_t);
    void (*free)(void *);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    int (*dlclose)(void *);
} next;

static __thread bool inside __attribute__((tls_model("initial-exec"))); /* what we call may allocate */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, looking = PTHREAD_MUTEX_INITIALIZER;
static bool ready;
static bool reached; /* what we call came to our malloc */
static bool decided; /* whether anything is to be recorded at all */
static int (*unwind)(void **, int);
static char folder[3072], path[3200];
static int deepest = 64;
static uint32_t scans, salt;
static uint64_t adds, subs, start, next_bin, bin;

static struct header *header;
static struct site *sites;
static uint64_t *pool;
static uint64_t sites_room, pool_room; /* bytes that the disk has reserved */
static uint32_t index_of[SITES * 2];   /* sites by hash; 0 is none */

static struct block *blocks;
static uint64_t blocks_mask, blocks_used;

/* memory for what the loader allocates while we ask it for the true functions */
static char early[1 << 14] __attribute__((aligned(16)));
static size_t early_used;

static bool is_early(const void *p)
{
    return (const char *)p >= early && (const char *)p < early + sizeof early;
}

static void *early_memory(size_t size)
{
    size_t at = (early_used + 15) & ~(size_t)15;
    if (size > sizeof early || at > sizeof early - size)
        return NULL;
    early_used = at + size;
    return early + at;
}

static void find_next(void)
{
    static bool asking;
    if (asking)
        return;
    asking = true;
    next.calloc = dlsym(RTLD_NEXT, "calloc");
    next.free = dlsym(RTLD_NEXT, "free");
    next.realloc = dlsym(RTLD_NEXT, "realloc");
    next.memalign = dlsym(RTLD_NEXT, "memalign");
    next.aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
    next.posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
    next.valloc = dlsym(RTLD_NEXT, "valloc");
    next.pvalloc = dlsym(RTLD_NEXT, "pvalloc");
    next.dlclose = dlsym(RTLD_NEXT, "dlclose");
    next.malloc = dlsym(RTLD_NEXT, "malloc");
    asking = false;
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static bool hold(void)
{
    if (&__libc_single_threaded && __libc_single_threaded)
        return false;
    pthread_mutex_lock(&lock);
    return true;
}

static void let_go(bool held)
{
    if (held)
        pthread_mutex_unlock(&lock);
}

#endif
