/* Programs and libraries in memory, and which calls of __fentry__ in them belong to chosen functions. */
#pragma once

#include "frames.h"

#include <elf.h>
#include <link.h>

enum { FILTER = 4096 };

struct entry {
    uint64_t address; /* where __fentry__ returns to; 0: free */
    const struct site *site; /* NULL: not selected */
};

__attribute__((used)) static uint64_t unselected[FILTER]; /* read by __fentry__: a cache of addresses */
static struct entry *entries;
static uint64_t entries_mask;
static uint32_t entries_used;
static uint32_t known; /* objects in memory that were looked at */
static atomic_uint objects_lock;
static struct site dummy_site = {0, 0, NO_PROGRAM};

static struct entry *find(uint64_t address)
{
    uint64_t index = address * 0x9E3779B97F4A7C15ull >> 20;
    for (;; index++) {
        struct entry *entry = &entries[index & entries_mask];
        uint64_t there = __atomic_load_n(&entry->address, __ATOMIC_ACQUIRE);
        if (LIKELY(there == address))
            return entry;
        if (!there)
            return NULL;
    }
}

static void add(uint64_t address, const struct site *site)
{
    uint64_t index = address * 0x9E3779B97F4A7C15ull >> 20;
    if (entries_used >= entries_mask - entries_mask / 4)
        return;
    while (entries[index & entries_mask].address && entries[index & entries_mask].address != address)
        index++;
    struct entry *entry = &entries[index & entries_mask];
    entries_used += !entry->address;
    entry->site = site;
    __atomic_store_n(&entry->address, address, __ATOMIC_RELEASE);
}

static void add_dummies(void)
{
    dummy_site.function = asked->functions;
    add((uint64_t)perfvcs_dummy_site, &dummy_site);
    add((uint64_t)perfvcs_nested_site, &dummy_site);
}

static uint64_t lock_objects(void)
{
    uint64_t before = block_signals();
    while (atomic_exchange_explicit(&objects_lock, 1, memory_order_acquire))
        kernel(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
    return before;
}

static void unlock_objects(uint64_t before)
{
    atomic_store_explicit(&objects_lock, 0, memory_order_release);
    restore_signals(before);
}

/* Calls of __fentry__ become instructions that do nothing; false where the system does not let us write to code. */
static bool patch(uint64_t base, const uint64_t *offsets, uint32_t count)
{
    static const uint8_t nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00}, nop6[] = {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00};
    uint64_t low = ~0ull, high = 0;
    for (uint32_t i = 0; i < count; i++) {
        low = offsets[i] < low ? offsets[i] : low;
        high = offsets[i] > high ? offsets[i] : high;
    }
    if (!count)
        return true;
    low = (base + low) & ~4095ull;
    high = (base + high + 6 + 4095) & ~4095ull;
    if (kernel(SYS_mprotect, (long)low, (long)(high - low), PROT_READ | PROT_WRITE | PROT_EXEC, 0, 0, 0) < 0)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *code = (uint8_t *)(base + offsets[i]);
        if (code[0] == 0xe8)
            memcpy(code, nop5, sizeof nop5);
        else if (code[0] == 0xff && code[1] == 0x15)
            memcpy(code, nop6, sizeof nop6);
    }
    kernel(SYS_mprotect, (long)low, (long)(high - low), PROT_READ | PROT_EXEC, 0, 0, 0);
    return true;
}

static void look_at(const struct link_map *map, bool main_program, bool may_patch)
{
    struct stat about;
    const char *name = main_program ? "/proc/self/exe" : map->l_name;
    if (!*name || kernel(SYS_stat, (long)name, (long)&about, 0, 0, 0, 0) < 0)
        return;
    for (uint32_t i = 0; i < asked->objects; i++) {
        const struct object *object = &objects[i];
        if (object->device != about.st_dev || object->inode != about.st_ino)
            continue;
        tell("/loaded");
        for (uint32_t s = object->first_site; s < object->first_site + object->sites; s++)
            add(map->l_addr + sites[s].offset, &sites[s]);
        if (may_patch)
            patch(map->l_addr, nops + object->first_nop, object->nops);
    }
}

/* Look at what was loaded since the last time. Links of the loader are read without its lock: it adds new ones at the end. */
static bool look_around(bool may_patch)
{
    uint32_t number = 0;
    bool more = false;
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next, number++)
        if (number >= known) {
            look_at(map, number == 0, may_patch);
            known = number + 1;
            more = true;
        }
    return more;
}

/* The site of an address that is not in the table yet; NULL when it is not selected, which is remembered. */
static const struct site *look_up(uint64_t address)
{
    uint64_t before = lock_objects();
    struct entry *entry = look_around(false) ? find(address) : NULL;
    if (!entry)
        add(address, NULL);
    unlock_objects(before);
    return entry ? entry->site : NULL;
}

/* After a library was unloaded another one may come to its place. */
static void forget(void)
{
    uint64_t before = lock_objects();
    for (uint64_t i = 0; i <= entries_mask; i++)
        entries[i].address = 0;
    for (uint32_t i = 0; i < FILTER; i++)
        unselected[i] = 0;
    entries_used = known = 0;
    add_dummies();
    look_around(false);
    unlock_objects(before);
}
