/* The file of one process: blocks in mapped segments, so that what was recorded survives whatever ends the process. */
#pragma once

#include "sizes.h"

enum {
    SEGMENT = 1 << 20, /* bytes; no block crosses the end of one */
    SEGMENTS = 256,    /* then no memory is added, and samples stay as large as they are */
    FIRST = 8,         /* records of a reservoir's first chunk; each further one has twice as many */
    DOUBLINGS = 11,
    CHUNKS = 80,
};

enum block_kind { PROCESS = 1, THREAD, CHUNK };

struct block {
    uint32_t magic, kind;
    uint64_t bytes; /* with this header */
};

#define BLOCK 0x4b4c4250u /* "PBLK" */

/* First block of a file. Costs are in 1/256 ticks. */
struct process {
    struct block block;
    char magic[8];
    uint32_t version, pid;
    uint64_t first_tick, first_ns, last_tick, last_ns; /* both clocks at two moments: the rate of ticks */
    uint64_t inside, whole, entry;
    uint64_t clock; /* 1: ticks are ns */
    uint64_t lost;  /* calls for which there was no memory */
};

struct counters {
    struct block block;
    uint32_t thread, reserved;
    uint64_t full;     /* calls that had no slot */
    uint64_t unwound;  /* calls left by an exception or a long jump */
    uint64_t switched; /* calls that left their stack or their thread and came back */
    uint64_t missed;   /* calls by signal handlers that interrupted a hook */
};

struct record {
    uint64_t start; /* in ticks; and in the two highest bits the kind of the size */
    uint64_t size;
    uint64_t ticks, cost;
};

struct chunk {
    struct block block;
    uint32_t function, thread, reservoir, part;
    uint64_t seen;  /* counted in part 0: calls that were offered */
    uint64_t first; /* index of this part's first record */
    struct record records[];
};

struct reservoir {
    uint64_t seen, capacity;
    bool closed;
    struct chunk *chunks[CHUNKS];
};

/* Zeroed in the child of every fork: the sign that nothing here is the child's. */
struct shared {
    uint32_t generation;
    atomic_uint lock;
    uint32_t segments, threads, reservoirs;
    bool failed;
    uint8_t *at, *end;
    struct process *process;
    struct thread *idle;
};

static struct shared *shared;
static char folder[4000];

static char *decimal(char *to, uint64_t number)
{
    char digits[20];
    int count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count)
        *to++ = digits[--count];
    return to;
}

static char *text(char *to, const char *from)
{
    while (*from)
        *to++ = *from++;
    return to;
}

/* An empty file tells the recorder that this was here, or why it stays out of the way. */
static void tell(const char *name)
{
    char path[sizeof folder + 16];
    *text(text(path, folder), name) = 0;
    long file = kernel(SYS_openat, AT_FDCWD, (long)path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600, 0, 0);
    if (file >= 0)
        kernel(SYS_close, file, 0, 0, 0, 0, 0);
}

/* Open this process' file; `made` asks for a new one. A file descriptor is held for a moment only: descriptors are the program's. */
static long open_arena(bool made)
{
    static char path[sizeof folder + 64];
    static uint32_t number;
    for (;; number++) {
        char *end = text(text(path, folder), "/fentry-");
        end = decimal(end, (uint64_t)kernel(SYS_getpid, 0, 0, 0, 0, 0, 0));
        end = decimal(text(end, "-"), number);
        *text(end, ".bin") = 0;
        long file = kernel(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (made ? O_CREAT | O_EXCL : 0), 0600, 0, 0);
        if (!made || file != -17 /* EEXIST */)
            return file;
    }
}

/* Space that is really there: a hole in a full file system would kill the program when it is written to. */
static bool reserve(long file, uint64_t offset)
{
    struct rlimit limit;
    if (kernel(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0) < 0 || limit.rlim_cur < offset + SEGMENT)
        return false;
    long done = kernel(SYS_fallocate, file, 0, (long)offset, SEGMENT, 0, 0);
    if (done != -95 /* EOPNOTSUPP */)
        return done == 0;
    static const char zeros[4096];
    for (uint64_t at = offset; at < offset + SEGMENT; at += sizeof zeros)
        if (kernel(SYS_pwrite64, file, (long)zeros, sizeof zeros, (long)at, 0, 0) != sizeof zeros)
            return false;
    return true;
}

static bool grow(void)
{
    if (shared->failed || shared->segments == SEGMENTS)
        return false;
    long file = open_arena(!shared->segments);
    uint64_t offset = (uint64_t)shared->segments * SEGMENT;
    long at = -1;
    if (file >= 0 && reserve(file, offset))
        at = kernel(SYS_mmap, 0, SEGMENT, PROT_READ | PROT_WRITE, MAP_SHARED, file, (long)offset);
    if (file >= 0)
        kernel(SYS_close, file, 0, 0, 0, 0, 0);
    if (at < 0 && at > -4096) {
        shared->failed = true;
        return false;
    }
    shared->segments++;
    shared->at = (uint8_t *)at;
    shared->end = shared->at + SEGMENT;
    return true;
}

static void lock(void)
{
    while (atomic_exchange_explicit(&shared->lock, 1, memory_order_acquire))
        kernel(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

static void unlock(void)
{
    atomic_store_explicit(&shared->lock, 0, memory_order_release);
}

static void note_clocks(void)
{
    struct process *process = shared->process;
    if (process) {
        process->last_tick = ticks();
        process->last_ns = monotonic();
    }
}

/* A new block, its payload zeroed; NULL when memory ran out. The caller holds the lock. */
static void *new_block(enum block_kind kind, uint64_t bytes)
{
    if ((uint64_t)(shared->end - shared->at) < bytes && !grow())
        return NULL;
    struct block *block = (struct block *)shared->at;
    shared->at += bytes;
    block->kind = kind;
    block->bytes = bytes;
    atomic_thread_fence(memory_order_release);
    block->magic = BLOCK;
    note_clocks();
    return block;
}

static void place(uint64_t index, uint32_t *part, uint64_t *offset)
{
    uint64_t in_doublings = FIRST * ((1ull << DOUBLINGS) - 1);
    if (index < in_doublings) {
        *part = 63 - (uint32_t)__builtin_clzll(index / FIRST + 1);
        *offset = index - FIRST * ((1ull << *part) - 1);
    } else {
        *part = DOUBLINGS + (uint32_t)((index - in_doublings) / (FIRST << DOUBLINGS));
        *offset = (index - in_doublings) % (FIRST << DOUBLINGS);
    }
}

/* Add the next chunk; without memory, or for a reservoir that is not to be stored, it stays as large as it is. */
static void enlarge(struct reservoir *to, uint32_t function, uint32_t thread)
{
    uint32_t part;
    uint64_t offset;
    place(to->capacity, &part, &offset);
    uint64_t records = (uint64_t)FIRST << (part < DOUBLINGS ? part : DOUBLINGS);
    struct chunk *chunk = NULL;
    if (part < CHUNKS) {
        uint64_t before = block_signals();
        lock();
        chunk = new_block(CHUNK, sizeof *chunk + records * sizeof(struct record));
        if (chunk) {
            chunk->function = function;
            chunk->thread = thread;
            chunk->reservoir = part ? to->chunks[0]->reservoir : shared->reservoirs++;
            chunk->part = part;
            chunk->first = to->capacity;
        }
        unlock();
        restore_signals(before);
    }
    if (!chunk) {
        to->closed = true;
        return;
    }
    to->chunks[part] = chunk;
    to->capacity += records;
}

/* One record into a reservoir: all while there is room, then a uniform sample (algorithm R). */
static void offer(struct reservoir *to, const struct record *record, uint64_t *random, uint32_t function, uint32_t thread)
{
    uint64_t index = to->seen, room = to->capacity < asked->keep ? to->capacity : asked->keep;
    if (UNLIKELY(index >= to->capacity && to->capacity < asked->keep && !to->closed)) {
        enlarge(to, function, thread);
        room = to->capacity < asked->keep ? to->capacity : asked->keep;
    }
    if (UNLIKELY(!to->capacity)) {
        shared->process->lost++;
        return;
    }
    if (index >= room) {
        *random = *random * 6364136223846793005ull + 1442695040888963407ull; /* Knuth, MMIX */
        index = (uint64_t)((unsigned __int128)*random * (index + 1) >> 64);
    }
    if (index < room) {
        uint32_t part;
        uint64_t offset;
        place(index, &part, &offset);
        to->chunks[part]->records[offset] = *record;
    }
    to->seen++;
    atomic_signal_fence(memory_order_release);
    to->chunks[0]->seen = to->seen;
    if (UNLIKELY(!(to->seen & (to->seen - 1))))
        note_clocks();
}
