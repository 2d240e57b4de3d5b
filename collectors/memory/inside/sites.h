/* The sites by the hash of their stack, what they have alive, and the parts of the process' life. */
#ifndef PERFVCS_MEMORY_SITES_H
#define PERFVCS_MEMORY_SITES_H

#include "evidence.h"

/* Between two peaks a site's first change keeps what it had at the earlier one. */
static void touch(struct site *site)
{
    if (site->epoch != header->epochs) {
        site->peak = site->live;
        site->epoch = header->epochs;
    }
}

static void release(struct block block)
{
    struct site *site = &sites[block.site];
    touch(site);
    site->live -= block.size;
    site->blocks--;
    header->live -= block.size;
    site->change[bin] -= (int64_t)block.size;
    if (!block.own) {
        site->inherited -= block.size;
        site->inherited_blocks--;
        header->inherited -= block.size;
    }
}

static void halve_bins(void)
{
    for (uint32_t number = 0; number < header->sites; number++) {
        int64_t *change = sites[number].change;
        for (int i = 0; i < BINS / 2; i++)
            change[i] = change[2 * i] + change[2 * i + 1];
        memset(change + BINS / 2, 0, BINS / 2 * sizeof *change);
    }
    for (int i = 0; i < BINS / 2; i++)
        header->began[i] = header->began[2 * i];
    header->width *= 2;
    bin = BINS / 2;
}

static void go_on_to_next_bin(void)
{
    if (++bin == BINS)
        halve_bins();
    header->began[bin] = now() - start;
    next_bin = (bin + 1) * header->width;
}

static uint64_t hash_of(void **stack, int depth, enum kind kind)
{
    uint64_t hash = 0x9E3779B97F4A7C15ull * ((uint64_t)kind + 1) + salt;
    for (int i = 0; i < depth; i++) {
        hash = (hash ^ (uintptr_t)stack[i]) * 0xD6E8FEB86659FD93ull;
        hash ^= hash >> 32;
    }
    return hash ? hash : 1;
}

static uint32_t find_site(uint64_t hash)
{
    for (uint64_t i = hash & (2 * SITES - 1);; i = (i + 1) & (2 * SITES - 1)) {
        uint32_t number = index_of[i];
        if (!number || sites[number].hash == hash)
            return number;
    }
}

static uint32_t add_site(uint64_t hash, void **stack, int depth, enum kind kind)
{
    uint32_t number = find_site(hash);
    if (number)
        return number;
    number = header->sites;
    uint64_t sites_end = (number + 1) * sizeof *sites, pool_end = (header->pool + (uint64_t)depth) * sizeof *pool;
    bool room = number < SITES && pool_end <= POOL * sizeof *pool;
    if (room && sites_end > sites_room && (room = reserve(HEADER + sites_room, CHUNK)))
        sites_room += CHUNK;
    if (room && pool_end > pool_room && (room = reserve(HEADER + SITES_BYTES + pool_room, CHUNK)))
        pool_room += CHUNK;
    if (!room) {
        header->flags |= FULL;
        return 0;
    }
    struct site *site = &sites[number];
    site->hash = hash;
    site->stack = header->pool;
    site->depth = (uint32_t)depth;
    site->kind = (uint16_t)kind;
    site->scan = (uint16_t)scans;
    site->epoch = header->epochs;
    for (int i = 0; i < depth; i++)
        pool[header->pool + (uint64_t)i] = (uintptr_t)stack[i];
    header->pool += (uint64_t)depth;
    __atomic_store_n(&header->sites, number + 1, __ATOMIC_RELEASE);
    uint64_t i = hash & (2 * SITES - 1);
    while (index_of[i])
        i = (i + 1) & (2 * SITES - 1);
    index_of[i] = number;
    return number;
}

#endif
