/* What perfvcs preloads into programs to count their allocations by call stack.

   Every allocation is attributed to a site: the function that was called and the stack that called it. Counts stand in a file that is
   mapped into the process (layout.h), so that nothing has to be written at its end, and exec, kill and closed descriptors lose nothing.
   A table of live blocks knows what each free gives back. One lock guards both: peaks are exact with threads too.

   Environment: PERFVCS_MEMORY is the folder for the files, PERFVCS_MEMORY_DEPTH how many frames of a stack are kept. */
#define _GNU_SOURCE
#include "blocks.h"
#include "sites.h"

static void after_fork(void);
static void before_fork(void) { pthread_mutex_lock(&lock); }
static void in_parent(void) { pthread_mutex_unlock(&lock); }

/* The first allocation may come before our constructor, and before the C library knows the environment. */
static bool begin(void)
{
    const char *named = getenv("PERFVCS_MEMORY"), *depth = getenv("PERFVCS_MEMORY_DEPTH");
    if (!named || strlen(named) >= sizeof folder)
        return false;
    strcpy(folder, named);
    if (depth)
        deepest = atoi(depth) < 1 ? 1 : atoi(depth) > DEEPEST ? DEEPEST : atoi(depth);
    blocks_mask = (1 << 14) - 1;
    blocks = mmap(NULL, (blocks_mask + 1) * sizeof *blocks, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (blocks == MAP_FAILED || !begin_file())
        return false;
    look_at_modules(true);
    pthread_atfork(before_fork, in_parent, after_fork);
    return true;
}

static bool is_ours(const void *address)
{
    return (const char *)address >= __ehdr_start && (const char *)address < _end;
}

static void prepare(void)
{
    static bool tried;
    if (!next.malloc)
        find_next();
    if (tried || !next.malloc || !getenv("PERFVCS_MEMORY"))
        return;
    tried = true;
    ready = begin();
}

__attribute__((constructor)) static void construct(void)
{
    static const char *names[] = {"libunwind.so.8", "libunwind.so"};
    char *(*volatile copy)(const char *) = strdup; /* the compiler must not take its place */
    void *some[4];
    int error = errno;
    inside = true;
    prepare();
    decided = true;
    if (ready) {
        for (size_t i = 0; i < sizeof names / sizeof *names && !unwind; i++) {
            void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
            unwind = library ? (int (*)(void **, int))dlsym(library, "unw_backtrace") : NULL;
        }
        if (!unwind) {
            unwind = backtrace;
            header->flags |= SLOW;
        }
        unwind(some, 4); /* it may load more and allocate the first time */
        reached = false;
        free(copy("a call of malloc by the C library"));
        if (!reached)
            header->flags |= FOREIGN;
        look_at_modules(false);
    }
    inside = false;
    errno = error;
}

static void count(void *address, size_t size, uint32_t number)
{
    struct site *site = &sites[number];
    struct block *block = find_block((uintptr_t)address);
    if (unlikely(block->address)) { /* its free was not seen, as that of a signal handler that interrupted us */
        release(*block);
        header->missed++;
    } else if (unlikely(++blocks_used * 2 > blocks_mask)) {
        if (!grow_blocks()) {
            blocks_used--;
            header->missed++;
            return;
        }
        block = find_block((uintptr_t)address);
    }
    *block = (struct block){.address = (uintptr_t)address, .size = size, .own = 1, .site = number & 0xffff};
    touch(site);
    site->count++;
    site->bytes += size;
    site->blocks++;
    site->live += size;
    header->bytes += size;
    header->live += size;
    if (header->live > header->peak) {
        header->peak = header->live;
        header->epochs++;
    }
    if (unlikely(header->count++ >= next_bin))
        go_on_to_next_bin();
    site->change[bin] += (int64_t)size;
}

static __attribute__((noinline)) void note(void *address, size_t size, enum kind kind, void *caller)
{
    int error = errno;
    void *all[DEEPEST + 4], **stack = all;
    int depth;
    inside = true;
    if (likely(unwind != NULL)) {
        depth = unwind(all, deepest + 3);
        while (depth > 0 && is_ours(*stack)) {
            stack++;
            depth--;
        }
    } else {
        *all = caller;
        depth = 1;
    }
    depth = depth > deepest ? deepest : depth < 0 ? 0 : depth;
    uint64_t hash = hash_of(stack, depth, kind);
    bool held = hold();
    uint32_t number = find_site(hash);
    if (unlikely(!number)) {
        let_go(held);
        look_at_modules(false);
        held = hold();
        number = add_site(hash, stack, depth, kind);
    }
    count(address, size, number);
    let_go(held);
    inside = false;
    errno = error;
}

static inline void *noted(void *address, size_t size, enum kind kind, void *caller)
{
    if (likely(address && ready && !inside))
        note(address, size, kind, caller);
    return address;
}

/* Forget a block before it is given back: another thread may get its address at once. */
static __attribute__((noinline)) struct block forget(void *address)
{
    struct block found = {0};
    inside = true;
    bool held = hold();
    struct block *block = find_block((uintptr_t)address);
    if (block->address) {
        found = *block;
        release(found);
        remove_block(block);
    }
    let_go(held);
    inside = false;
    return found;
}

/* A block that could not be resized is what it was. */
static void remember(struct block block)
{
    inside = true;
    bool held = hold();
    struct site *site = &sites[block.site];
    struct block *at = find_block(block.address);
    if (!at->address && ++blocks_used <= blocks_mask) {
        *at = block;
        touch(site);
        site->live += block.size;
        site->blocks++;
        site->change[bin] += (int64_t)block.size;
        header->live += block.size;
        if (!block.own) {
            site->inherited += block.size;
            site->inherited_blocks++;
            header->inherited += block.size;
        }
    }
    let_go(held);
    inside = false;
}

/* The child of a fork has the parent's blocks and stacks, in a file of its own, and counts from 0. */
static void after_fork(void)
{
    struct header *parent = header;
    struct site *before = sites;
    uint64_t *addresses = pool;
    uint64_t needed = parent->sites * sizeof *sites, pooled = parent->pool * sizeof *pool;
    int error = errno;
    inside = true;
    ready = ready && begin_file();
    while (ready && sites_room < needed && (ready = reserve(HEADER + sites_room, CHUNK)))
        sites_room += CHUNK;
    while (ready && pool_room < pooled && (ready = reserve(HEADER + SITES_BYTES + pool_room, CHUNK)))
        pool_room += CHUNK;
    if (ready) {
        header->epochs = parent->epochs;
        memcpy(sites, before, needed);
        memcpy(pool, addresses, pooled);
        for (uint32_t i = 0; i < parent->sites; i++) {
            struct site *site = &sites[i];
            touch(site);
            site->count = site->bytes = 0;
            site->inherited = site->live;
            site->inherited_blocks = site->blocks;
            memset(site->change, 0, sizeof site->change);
            site->change[0] = (int64_t)site->live;
        }
        for (uint64_t i = 0; i <= blocks_mask; i++)
            blocks[i].own = 0;
        header->sites = parent->sites;
        header->pool = parent->pool;
        header->live = header->peak = header->inherited = parent->live;
        header->flags = (parent->flags & ~(uint32_t)FULL) | FORKED;
        header->epochs++;
        scans = 0;
        pthread_mutex_init(&looking, NULL);
        look_at_modules(true);
        for (uint32_t i = 0; i < header->sites; i++)
            sites[i].scan = (uint16_t)scans;
    }
    munmap(parent, FILE_BYTES);
    inside = false;
    errno = error;
    pthread_mutex_unlock(&lock);
}

#define CALLER __builtin_return_address(0)
#define FIRST                                                                                                                            \
    do {                                                                                                                                 \
        if (unlikely(!ready))                                                                                                            \
            first();                                                                                                                     \
    } while (0)

static __attribute__((noinline)) void first(void)
{
    if (decided)
        return;
    if (inside) {
        if (!next.malloc)
            find_next();
        return;
    }
    inside = true;
    prepare();
    inside = false;
}

PUBLIC void *malloc(size_t size)
{
    FIRST;
    if (unlikely(inside))
        reached = true;
    return next.malloc ? noted(next.malloc(size), size, MALLOC, CALLER) : early_memory(size);
}

PUBLIC void free(void *address)
{
    FIRST;
    if (!address || is_early(address))
        return;
    if (ready && !inside)
        forget(address);
    if (next.free)
        next.free(address);
}

PUBLIC void *calloc(size_t number, size_t size)
{
    FIRST;
    return next.malloc ? noted(next.calloc(number, size), number * size, CALLOC, CALLER) : early_memory(number * size);
}

static void *resize(void *address, size_t size, enum kind kind, void *caller)
{
    struct block old = {0};
    if (!next.malloc)
        return early_memory(size); /* the loader does not resize what it got from us */
    if (is_early(address)) {
        size_t most = (size_t)(early + sizeof early - (char *)address);
        void *moved = noted(next.malloc(size), size, kind, caller);
        return moved ? memcpy(moved, address, size < most ? size : most) : NULL;
    }
    if (address && ready && !inside)
        old = forget(address);
    void *resized = next.realloc(address, size);
    if (!resized && size && old.address)
        remember(old);
    return noted(resized, size, kind, caller);
}

PUBLIC void *realloc(void *address, size_t size)
{
    FIRST;
    return resize(address, size, REALLOC, CALLER);
}

PUBLIC void *reallocarray(void *address, size_t number, size_t size)
{
    size_t product;
    FIRST;
    if (__builtin_mul_overflow(number, size, &product)) {
        errno = ENOMEM;
        return NULL;
    }
    return resize(address, product, REALLOCARRAY, CALLER);
}

PUBLIC void *memalign(size_t alignment, size_t size)
{
    FIRST;
    return next.memalign ? noted(next.memalign(alignment, size), size, MEMALIGN, CALLER) : NULL;
}

PUBLIC void *aligned_alloc(size_t alignment, size_t size)
{
    FIRST;
    return next.aligned_alloc ? noted(next.aligned_alloc(alignment, size), size, ALIGNED_ALLOC, CALLER) : NULL;
}

PUBLIC int posix_memalign(void **address, size_t alignment, size_t size)
{
    FIRST;
    int error = next.posix_memalign ? next.posix_memalign(address, alignment, size) : ENOMEM;
    if (!error)
        noted(*address, size, POSIX_MEMALIGN, CALLER);
    return error;
}

PUBLIC void *valloc(size_t size)
{
    FIRST;
    return next.valloc ? noted(next.valloc(size), size, VALLOC, CALLER) : NULL;
}

PUBLIC void *pvalloc(size_t size)
{
    FIRST;
    return next.pvalloc ? noted(next.pvalloc(size), size, PVALLOC, CALLER) : NULL;
}

PUBLIC void free_sized(void *address, size_t size)
{
    (void)size;
    free(address);
}

PUBLIC void free_aligned_sized(void *address, size_t alignment, size_t size)
{
    (void)alignment;
    (void)size;
    free(address);
}

/* Memory that a program takes from the system by itself is not counted by site, but told. */
PUBLIC void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
    void *found = (void *)syscall(SYS_mmap, address, size, protection, flags, file, offset);
    if (found != MAP_FAILED && ready && !inside && flags & MAP_ANONYMOUS && protection & PROT_WRITE)
        __atomic_add_fetch(&header->mapped, size, __ATOMIC_RELAXED);
    return found;
}

PUBLIC void *mmap64(void *address, size_t size, int protection, int flags, int file, off_t offset) __attribute__((alias("mmap")));

/* Other code may come to stand where that of a closed library stood. */
PUBLIC int dlclose(void *library)
{
    FIRST;
    __atomic_add_fetch(&salt, 1, __ATOMIC_RELAXED);
    return next.dlclose ? next.dlclose(library) : -1;
}
