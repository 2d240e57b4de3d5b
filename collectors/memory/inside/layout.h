/* The file of one process: a header, the sites, and a pool of return addresses. It is shared memory, so it is complete at any moment,
   however the process ends. collectors/memory/census.py reads it. */
#ifndef PERFVCS_MEMORY_LAYOUT_H
#define PERFVCS_MEMORY_LAYOUT_H

#include <stdint.h>

enum {
    VERSION = 1,
    BINS = 32,           /* parts of a process' life, each of the same number of allocations; doubled when they are full */
    SITES = 1 << 16,     /* the first is for what finds no room */
    POOL = 1 << 22,      /* addresses */
    CHUNK = 1 << 18,     /* bytes of the file that are reserved at once */
    DEEPEST = 256,       /* frames of a stack */
    HEADER = 4096,
};

enum kind { NONE, MALLOC, CALLOC, REALLOC, MEMALIGN, ALIGNED_ALLOC, POSIX_MEMALIGN, VALLOC, PVALLOC, REALLOCARRAY };

enum flag {
    FORKED = 1,          /* began as the copy of another process */
    FOREIGN = 2,         /* the program's own malloc comes before ours */
    SLOW = 4,            /* without libunwind */
    FULL = 8,            /* not all sites found room */
};

struct header {
    char magic[8];
    uint32_t version, pid;
    uint64_t count, bytes, live, peak;
    uint64_t epochs;     /* how often there was a new peak */
    uint64_t inherited;  /* bytes of live that the parent allocated */
    uint64_t mapped;     /* bytes that the program took from the system by itself */
    uint64_t missed;     /* blocks that were given out again without a free that was seen */
    uint64_t width;      /* allocations of a bin */
    uint32_t sites, flags;
    uint64_t pool;
    uint64_t began[BINS]; /* ns after the process' start */
};

struct site {
    uint64_t hash;
    uint64_t stack;      /* where its addresses begin in the pool */
    uint32_t depth;
    uint16_t kind, scan; /* scan: which list of modules its addresses belong to */
    uint64_t count, bytes, live, blocks;
    uint64_t peak;       /* bytes of it at the process' peak, when `epoch` is the present one; else that is `live` */
    uint64_t epoch;
    uint64_t inherited, inherited_blocks;
    int64_t change[BINS]; /* of live bytes */
};

#endif
