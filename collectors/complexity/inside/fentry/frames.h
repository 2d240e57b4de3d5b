/* Pending calls, per thread: taken up at a function's begin, finished where it returns. */
#pragma once

#include "arena.h"
#include "trampolines.h"

enum { BATCH = 64, LIMBO = 64 };

enum state { UNUSED, PENDING, DROPPED, FINISHED };

struct frame {
    uint64_t *place; /* of the return address */
    uint64_t tick, whole, entries;
    struct number size;
    uint32_t function, before, next;
    uint32_t switches;
    enum state state;
    bool tail; /* entered by a jump from the pending call before it, at the same place */
    struct thread *thread;
};

struct activity {
    uint32_t active;
    struct reservoir **reservoirs; /* by bucket */
};

struct thread {
    uint64_t whole, entries; /* probes so far: of recorded calls, and of nested ones that are only counted */
    uint64_t random;
    uint32_t generation, number;
    uint32_t current, unused, limbo, in_limbo;
    uint32_t switches;
    const uint64_t *volatile busy; /* where on the stack a hook is at work: what a signal handler calls meanwhile is not recorded */
    struct counters *counters;
    struct thread *next;
    uint8_t *memory, *memory_end;
    struct activity *functions;
    struct pages pages;
};

static __thread struct thread *self __attribute__((tls_model("initial-exec")));
static struct frame *frames;
static uint64_t *table;
static _Atomic uint32_t next_slot = 1;
static uint64_t cost_inside, cost_whole, cost_entry; /* 1/256 ticks */

static inline uint64_t address_of(uint32_t slot)
{
    return (uint64_t)perfvcs_slots + 8ull * slot;
}

static void *thread_memory(struct thread *thread, uint64_t bytes)
{
    bytes = (bytes + 15) & ~15ull;
    if ((uint64_t)(thread->memory_end - thread->memory) < bytes) {
        uint64_t block = bytes > 1 << 18 ? bytes : 1 << 18;
        thread->memory = private_memory(block);
        thread->memory_end = thread->memory ? thread->memory + block : NULL;
        if (!thread->memory)
            return NULL;
    }
    void *found = thread->memory;
    thread->memory += bytes;
    return found;
}

static bool take_slots(struct thread *thread)
{
    uint32_t first = atomic_load(&next_slot);
    do
        if (first + BATCH > SLOTS)
            return false;
    while (!atomic_compare_exchange_weak(&next_slot, &first, first + BATCH));
    for (uint32_t slot = first; slot < first + BATCH; slot++) {
        frames[slot].next = thread->unused;
        atomic_signal_fence(memory_order_release);
        thread->unused = slot;
    }
    return true;
}

static void release(struct thread *thread, uint32_t slot)
{
    frames[slot].state = UNUSED;
    frames[slot].next = thread->unused;
    atomic_signal_fence(memory_order_release); /* the list is whole whenever a signal comes */
    thread->unused = slot;
}

/* Whether the stack still holds the slot; then a function might still return to it. */
static bool hooked(uint32_t slot)
{
    uint64_t *place = frames[slot].place;
    return readable((uint64_t)place) && *place == address_of(slot);
}

/* Slots that nothing returns to any more can be used again. */
static void sweep(struct thread *thread)
{
    uint32_t kept = 0, count = 0;
    for (uint32_t slot = thread->limbo, next; slot; slot = next) {
        next = frames[slot].next;
        if (frames[slot].state == FINISHED || !hooked(slot)) {
            release(thread, slot);
        } else {
            frames[slot].next = kept;
            kept = slot;
            count++;
        }
    }
    thread->limbo = kept;
    thread->in_limbo = count;
}

/* Give up the innermost pending call: its frame was left by an exception or a long jump, as far as one can see. */
static void drop(struct thread *thread)
{
    uint32_t slot = thread->current;
    struct frame *frame = &frames[slot];
    thread->current = frame->before;
    thread->functions[frame->function].active--;
    if (frame->state == FINISHED || !hooked(slot)) {
        release(thread, slot);
    } else {
        frame->state = DROPPED;
        frame->next = thread->limbo;
        thread->limbo = slot;
        if (++thread->in_limbo % LIMBO == 0)
            sweep(thread);
    }
    thread->counters->unwound++;
}

/* A signal interrupted a hook, and its handler jumps away: the hook does not go on. All pending calls are given up, and keep their slots. */
static void start_over(struct thread *thread)
{
    for (uint32_t function = 0; function <= asked->functions; function++)
        thread->functions[function].active = 0;
    for (uint32_t slot = thread->current; slot; slot = frames[slot].before)
        thread->counters->unwound++;
    thread->current = thread->limbo = thread->in_limbo = 0;
    thread->switches++;
    thread->busy = NULL;
}

/* Give up the pending calls whose frames are below an address of the running stack. */
static void drop_below(const uint64_t *address)
{
    struct thread *thread = self;
    if (!thread || thread->generation != shared->generation)
        return;
    if (thread->busy) {
        if (thread->busy < address)
            start_over(thread);
        return;
    }
    thread->busy = __builtin_frame_address(0);
    while (thread->current && frames[thread->current].place < address)
        drop(thread);
    thread->busy = NULL;
}

static void store(struct thread *thread, struct frame *frame, uint64_t now)
{
    struct activity *activity = &thread->functions[frame->function];
    uint64_t raw = now - frame->tick;
    uint64_t cost = (cost_inside + (thread->whole - frame->whole) * cost_whole + (thread->entries - frame->entries) * cost_entry) >> 8;
    if (cost > raw)
        cost = raw;
    if (UNLIKELY(!activity->reservoirs)) {
        activity->reservoirs = thread_memory(thread, BUCKETS * sizeof *activity->reservoirs);
        if (!activity->reservoirs)
            return;
    }
    struct reservoir **to = &activity->reservoirs[bucket(frame->size)];
    if (UNLIKELY(!*to && !(*to = thread_memory(thread, sizeof **to))))
        return;
    struct record record = {(frame->tick & ~0ull >> 2) | (uint64_t)frame->size.kind << 62, frame->size.bits, raw - cost, cost};
    offer(*to, &record, &thread->random, frame->function, thread->number);
}

static void finish(struct thread *thread, uint32_t slot, uint64_t now)
{
    struct frame *frame = &frames[slot];
    thread->current = frame->before;
    thread->functions[frame->function].active--;
    if (UNLIKELY(frame->switches != thread->switches))
        thread->counters->switched++;
    else
        store(thread, frame, now);
    thread->whole++;
    release(thread, slot);
}

/* A return that is not that of the innermost pending call. */
static void finish_out_of_turn(struct thread *thread, uint32_t slot, uint64_t now)
{
    struct frame *frame = &frames[slot];
    bool ours = thread && frame->thread == thread && thread->generation == shared->generation && !thread->busy;
    if (!ours || frame->state != PENDING) {
        frame->state = FINISHED; /* its owner sweeps it up */
        return;
    }
    thread->busy = frame->place;
    uint32_t found = thread->current;
    while (found && found != slot && (frames[found].state == FINISHED || frames[found].place < frame->place))
        found = frames[found].before;
    if (found == slot) { /* the calls within it were left by an exception or a long jump */
        while (thread->current != slot)
            drop(thread);
        finish(thread, slot, now);
    } else { /* the stack was switched meanwhile */
        thread->switches++;
        thread->counters->switched++;
        frame->state = FINISHED;
    }
    thread->busy = NULL;
}

__attribute__((used)) static uint64_t leave(uint64_t slot_address, uint64_t *place)
{
    uint64_t now = ticks();
    uint32_t slot = (uint32_t)((slot_address - (uint64_t)perfvcs_slots) / 8);
    uint64_t to = table[slot];
    struct thread *thread = self;
    struct frame *frame = &frames[slot];
    if (UNLIKELY(!thread || thread->current != slot || thread->busy || thread->generation != shared->generation)) {
        finish_out_of_turn(thread, slot, now);
        return to;
    }
    thread->busy = place;
    bool tail = frame->tail;
    finish(thread, slot, now);
    while (UNLIKELY(tail && thread->current && frames[thread->current].place == place)) {
        tail = frames[thread->current].tail;
        finish(thread, thread->current, now);
    }
    thread->busy = NULL;
    return to;
}
