/* Each of the further algorithms called at sizes of its own: ./further SEED. What a call needs is prepared outside of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "further.h"

enum { LARGEST = 1 << 15, REPEATS = 30 };

static int items[LARGEST], copy[LARGEST], counts[LARGEST], sorted[LARGEST];
static long queue[LARGEST];
static uint64_t slots[2 * LARGEST], keys[LARGEST];
static char words[2][LARGEST];
static unsigned char reach[64 * 64];
static uint64_t state;

static uint64_t draw(uint64_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

static int rising(const void *one, const void *other) {
    const int first = *(const int *)one, second = *(const int *)other;
    return (first > second) - (first < second);
}

static void tables(size_t n) {
    struct ring ring = {n, 0, queue};
    memset(slots, 0, 2 * n * sizeof *slots);
    for (size_t place = 0; place < n; place++) {
        keys[place] = 1 + draw(1ull << 40);
        size_t slot = (keys[place] * 0x9e3779b97f4a7c15u >> 20) % (2 * n);
        while (slots[slot])
            slot = (slot + 1) % (2 * n);
        slots[slot] = keys[place];
    }
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        queue_turn(&ring, repeat);
        table_lookup(slots, 2 * n, keys[draw(n)]);
    }
}

static void trees(size_t n) {
    for (size_t place = 0; place < n; place++) {
        queue[place] = (long)draw(100);
        items[place] = (int)draw(1 << 30);
    }
    qsort(items, n, sizeof *items, rising);
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        fenwick_sum(queue, n, draw(n));
        memcpy(copy, items, n * sizeof *items);
        heap_push(copy, n, -1);
    }
}

static void walks(size_t n) {
    for (int repeat = 0; repeat < 5; repeat++) {
        for (size_t place = 0; place < n; place++) {
            items[place] = (int)draw(200) - 100;
            copy[place] = (int)draw(n);
        }
        largest_sum(items, n);
        counting_sort(copy, n, counts, sorted);
    }
}

static void sorts(size_t n) {
    for (int repeat = 0; repeat < 3; repeat++) {
        for (size_t place = 0; place < n; place++)
            items[place] = (int)draw(1 << 30);
        memcpy(copy, items, n * sizeof *items);
        heap_sort(items, n);
        quick_sort(copy, n);
    }
}

static void squares(size_t n) {
    for (size_t place = 0; place < n; place++) {
        items[place] = (int)draw(1 << 30);
        words[0][place] = (char)draw(26);
        words[1][place] = (char)draw(26);
    }
    bubble_sort(items, n);
    edit_distance(words[0], words[1], n, counts);
}

static void cubes(size_t n) {
    for (size_t place = 0; place < n * n; place++)
        reach[place] = draw(n) < 2;
    transitive_closure(reach, n);
}

static void towers(size_t n) {
    for (int repeat = 0; repeat < 2; repeat++)
        hanoi((unsigned)n, 1, 3);
}

struct work {
    void (*call)(size_t);
    size_t count, start, step; /* so many sizes: start, start + step and so on; start, 2 start, 4 start where step is 0 */
};

static const struct work works[] = {
    {tables, 11, 16, 0}, {trees, 9, 16, 0},    {walks, 40, 50, 50}, {sorts, 8, 16, 0},
    {sorts, 7, 24, 0},   {squares, 15, 20, 20}, {cubes, 14, 8, 4},   {towers, 12, 4, 1},
};

int main(int count, char **arguments) {
    struct work calls[128];
    size_t known = 0;
    for (size_t place = 0; place < sizeof works / sizeof *works; place++)
        for (size_t number = 0; number < works[place].count; number++) {
            const struct work *work = &works[place];
            calls[known++] = (struct work){work->call, 1, work->step ? work->start + number * work->step : work->start << number, 0};
        }
    state = count > 1 ? strtoull(arguments[1], NULL, 10) * 2 + 1 : 1;
    for (int warm = 0; warm < 100; warm++)
        draw(2);
    for (int round = 0; round < 5; round++)
        for (size_t left = known; left; left--) {
            const size_t place = draw(left);
            const struct work chosen = calls[place];
            calls[place] = calls[left - 1];
            calls[left - 1] = chosen;
            chosen.call(chosen.start);
        }
    printf("%llu\n", (unsigned long long)draw(1000));
    return 0;
}
