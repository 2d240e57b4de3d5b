/* What perfvcs preloads into programs that were compiled with -pg -mfentry: sizes and durations of chosen functions' calls.

   A compiler's call of __fentry__ stands before a function's first instruction, so the arguments are where the caller put them. For a
   chosen function the size is computed from them and the return address on the stack is replaced (trampolines.h); where
   the function returns, the clock is read and the true address is taken. Everything in hooks is made of general registers and system
   calls (compiled with -mgeneral-regs-only), which leaves vector and x87 registers, flags of floating point and errno as they are.

   Environment: PERFVCS_FENTRY names the configuration; records go to files beside it (arena.h). */
#if !defined __x86_64__ || !defined __linux__
#error "functions of C and C++ are recorded on x86-64 Linux only"
#endif

#define _GNU_SOURCE
#include "objects.h"

#include <pthread.h>
#include <stdlib.h>

static bool ready;
static bool all; /* calls nested in one of the same function are recorded too */
static bool calibrated;

static bool nested_too(void)
{
    return !(asked->flags & OUTERMOST);
}

static struct thread *new_thread(void)
{
    struct thread *thread = private_memory(sizeof *thread);
    if (!thread)
        return NULL;
    thread->functions = thread_memory(thread, (asked->functions + 1ull) * sizeof *thread->functions);
    thread->counters = new_block(THREAD, sizeof *thread->counters);
    if (!thread->functions || !thread->counters)
        return NULL;
    thread->counters->thread = thread->number = shared->threads++;
    thread->random = 0x9E3779B97F4A7C15ull * (thread->number + 1);
    thread->generation = shared->generation;
    return thread;
}

static uint64_t least(uint64_t known, uint64_t start)
{
    uint64_t took = ticks() - start;
    return took < known ? took : known;
}

/* What a probe costs: the least of some rounds of calls that are not stored in the file but otherwise are as others. Calls in a row
   and calls in one another differ, by what the processor can do at once; the lower cost is taken, so that durations are rather too
   long than too short. The caller holds the lock: until it is done the thread is the only one that records, as `all` and what is
   static here need. */
static void calibrate(struct thread *thread)
{
    enum { ROUNDS = 16, CALLS = 64, DEEP = 16, THIRD = 2 /* no power of two follows, at which the clocks are noted */ };
    static uint64_t memory[(sizeof(struct chunk) + FIRST * sizeof(struct record)) / 8];
    static struct reservoir spare, *spares[BUCKETS];
    struct chunk *chunk = (struct chunk *)memory;
    uint64_t start, inside = ~0ull, took[2][3] = {{~0ull, ~0ull, ~0ull}, {~0ull, ~0ull, ~0ull}}; /* plain, whole, entry */
    struct activity *activity = &thread->functions[asked->functions];
    spare = (struct reservoir){.closed = true, .capacity = FIRST, .chunks = {chunk}};
    for (int i = 0; i < BUCKETS; i++)
        spares[i] = &spare;
    activity->reservoirs = spares;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t within = 0;
        start = ticks();
        for (int i = 0; i < CALLS; i++)
            perfvcs_plain();
        took[0][0] = least(took[0][0], start);
        start = ticks();
        for (int i = 0; i < CALLS; i += DEEP)
            perfvcs_nested_plain(DEEP);
        took[1][0] = least(took[1][0], start);
        for (int entry = 0; entry < 2; entry++) {
            activity->active = (uint32_t)entry;
            all = !entry;
            start = ticks();
            for (int i = 0; i < CALLS; i++) {
                spare.seen = THIRD;
                perfvcs_dummy();
                within += entry ? 0 : chunk->records[THIRD < asked->keep ? THIRD : 0].ticks;
            }
            took[0][1 + entry] = least(took[0][1 + entry], start);
            start = ticks();
            for (int i = 0; i < CALLS; i += DEEP) {
                spare.seen = THIRD;
                perfvcs_nested(DEEP);
            }
            took[1][1 + entry] = least(took[1][1 + entry], start);
        }
        activity->active = 0;
        inside = within < inside ? within : inside;
    }
    all = nested_too();
    for (int way = 0; way < 2; way++) {
        uint64_t whole = took[way][1] > took[way][0] ? took[way][1] - took[way][0] : 0;
        uint64_t entry = took[way][2] > took[way][0] ? took[way][2] - took[way][0] : 0;
        cost_whole = way && cost_whole < whole * 256 / CALLS ? cost_whole : whole * 256 / CALLS;
        cost_entry = way && cost_entry < entry * 256 / CALLS ? cost_entry : entry * 256 / CALLS;
    }
    cost_inside = inside * 256 / CALLS;
    calibrated = true;
}

/* Begin this process' file; in the child of a fork the parent's costs are taken over. The caller holds the lock. */
static bool begin(void)
{
    struct process *process = new_block(PROCESS, sizeof *process);
    if (!process)
        return false;
    memcpy(process->magic, "PVCSFENT", 8);
    process->version = VERSION;
    process->pid = (uint32_t)kernel(SYS_getpid, 0, 0, 0, 0, 0, 0);
    process->clock = vdso_clock != NULL;
    process->first_tick = ticks();
    process->first_ns = monotonic();
    shared->process = process;
    return true;
}

/* The state of a thread that records its first call, in this process or after a fork. */
static struct thread *attach(void)
{
    static uint32_t generations;
    uint64_t before = block_signals();
    struct thread *thread = NULL;
    lock();
    if (shared->generation || (!shared->failed && begin())) {
        if (!shared->generation)
            shared->generation = ++generations;
        thread = shared->idle;
        if (thread) {
            shared->idle = thread->next;
            memset(&thread->pages, 0, sizeof thread->pages); /* those of the ended thread's stack may be gone */
        } else
            thread = new_thread();
    }
    self = thread;
    if (thread && !calibrated)
        calibrate(thread);
    if (shared->process && !shared->process->inside) {
        shared->process->inside = cost_inside;
        shared->process->whole = cost_whole;
        shared->process->entry = cost_entry;
        note_clocks();
    }
    unlock();
    restore_signals(before);
    return thread;
}

static uint32_t push(struct thread *thread, uint64_t *place, uint32_t function)
{
    bool tail = false;
    for (uint32_t slot; (slot = thread->current);) {
        const struct frame *frame = &frames[slot];
        if (frame->state != FINISHED) {
            if (frame->place > place)
                break;
            tail = frame->place == place && *place == address_of(slot);
            if (tail)
                break;
        }
        drop(thread);
    }
    struct activity *activity = &thread->functions[function];
    if (activity->active && !all) {
        thread->entries++;
        return 0;
    }
    if (UNLIKELY(!thread->unused)) {
        sweep(thread);
        if (!thread->unused && !take_slots(thread)) {
            thread->counters->full++;
            return 0;
        }
    }
    uint32_t slot = thread->unused;
    struct frame *frame = &frames[slot];
    thread->unused = frame->next;
    table[slot] = tail ? table[thread->current] : *place;
    frame->tail = tail;
    frame->place = place;
    frame->function = function;
    frame->before = thread->current;
    frame->whole = thread->whole;
    frame->entries = thread->entries;
    frame->switches = thread->switches;
    frame->thread = thread;
    frame->state = PENDING;
    atomic_signal_fence(memory_order_release);
    thread->current = slot;
    activity->active++;
    return slot;
}

__attribute__((used)) static void enter(const struct registers *registers, uint64_t address, uint64_t *place)
{
    if (UNLIKELY(!ready))
        return;
    const struct entry *entry = find(address);
    const struct site *site = LIKELY(entry != NULL) ? entry->site : look_up(address);
    if (!site) {
        __atomic_store_n(&unselected[address >> 4 & (FILTER - 1)], address, __ATOMIC_RELAXED);
        return;
    }
    struct thread *thread = self;
    if (UNLIKELY(!thread || thread->generation != shared->generation) && !(thread = attach()))
        return;
    if (UNLIKELY(thread->busy)) {
        thread->counters->missed++;
        return;
    }
    thread->busy = place;
    atomic_signal_fence(memory_order_seq_cst);
    uint32_t slot = push(thread, place, site->function);
    if (slot) {
        frames[slot].size = evaluate(site->program, registers, (uint64_t)(place + 1), &thread->pages);
        atomic_signal_fence(memory_order_seq_cst);
        *place = address_of(slot);
        thread->busy = NULL;
        frames[slot].tick = ticks();
    } else {
        thread->busy = NULL;
    }
}

/* A thread that ended leaves its state to the next one. */
static void detach(void *value)
{
    struct thread *thread = value == shared ? self : NULL;
    if (!thread || thread->generation != shared->generation)
        return;
    uint64_t before = block_signals();
    thread->busy = __builtin_frame_address(0);
    while (thread->current)
        drop(thread);
    thread->busy = NULL;
    self = NULL;
    lock();
    thread->next = shared->idle;
    shared->idle = thread;
    unlock();
    restore_signals(before);
}

#include "interposed.h"

static bool prepare(const char *path)
{
    uint64_t size = 1;
    const char *end = strrchr(path, '/');
    if (*path != '/' || (size_t)(end - path) >= sizeof folder || !configure(path))
        return false;
    memcpy(folder, path, (size_t)(end - path));
    if (shadow_stack()) {
        tell("/shadow");
        return false;
    }
    while (size < 4ull * asked->sites + (1 << 16))
        size *= 2;
    entries_mask = size - 1;
    entries = private_memory(size * sizeof *entries);
    frames = private_memory(SLOTS * sizeof *frames);
    shared = private_memory(4096);
    if (!entries || !frames || !shared || madvise(shared, 4096, MADV_WIPEONFORK))
        return false;
    table = (uint64_t *)(perfvcs_slots + TABLE_OFFSET);
    return mmap(table, TABLE_OFFSET, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == table;
}

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("PERFVCS_FENTRY");
    prepare_calls();
    if (!path || !prepare(path))
        return;
    choose_clock();
    all = nested_too();
    add_dummies();
    if (pthread_key_create(&thread_key, detach))
        return;
    look_around(asked->flags & PATCH && alone());
    atomic_signal_fence(memory_order_seq_cst);
    ready = true;
}

__attribute__((destructor)) static void end(void)
{
    if (ready)
        note_clocks();
}
