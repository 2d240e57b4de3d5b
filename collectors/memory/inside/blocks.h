/* The table of live blocks: open addressing, kept dense when a block goes. */
#ifndef PERFVCS_MEMORY_BLOCKS_H
#define PERFVCS_MEMORY_BLOCKS_H

#include "state.h"

static uint64_t place(uint64_t address)
{
    return ((address >> 4) * 0x9E3779B97F4A7C15ull >> 20) & blocks_mask;
}

static struct block *find_block(uint64_t address)
{
    for (uint64_t i = place(address);; i = (i + 1) & blocks_mask)
        if (blocks[i].address == address || !blocks[i].address)
            return &blocks[i];
}

static bool grow_blocks(void)
{
    struct block *old = blocks;
    uint64_t size = blocks_mask + 1;
    struct block *larger = mmap(NULL, 2 * size * sizeof *larger, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (larger == MAP_FAILED)
        return blocks_used < blocks_mask;
    blocks = larger;
    blocks_mask = 2 * size - 1;
    for (uint64_t i = 0; i < size; i++)
        if (old[i].address)
            *find_block(old[i].address) = old[i];
    munmap(old, size * sizeof *old);
    return true;
}

/* Take an entry out and move up what probing would no longer find. */
static void remove_block(struct block *block)
{
    uint64_t gap = (uint64_t)(block - blocks);
    for (uint64_t i = (gap + 1) & blocks_mask; blocks[i].address; i = (i + 1) & blocks_mask) {
        uint64_t home = place(blocks[i].address);
        if (((i - home) & blocks_mask) >= ((i - gap) & blocks_mask)) {
            blocks[gap] = blocks[i];
            gap = i;
        }
    }
    blocks[gap].address = 0;
    blocks_used--;
}

#endif
