/* Each algorithm called at sizes of its own: ./algorithms SEED. What a call needs is prepared outside of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms.h"

enum { LARGEST = 1 << 12, REPEATS = 30, SIDE = 64 };

static int items[LARGEST], scratch[LARGEST];
static uint64_t known[LARGEST], slots[LARGEST], before[LARGEST];
static double first[SIDE * SIDE], second[SIDE * SIDE], product[SIDE * SIDE];
static struct tree nodes[LARGEST];
static uint64_t state;

static uint64_t draw(uint64_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

static void rising(size_t n) {
    for (size_t place = 0; place < n; place++)
        items[place] = (int)place;
}

static void random_items(size_t n) {
    for (size_t place = 0; place < n; place++)
        items[place] = (int)draw(1 << 30);
}

static void random_square(double *matrix, size_t n) {
    for (size_t place = 0; place < n * n; place++)
        matrix[place] = 1 + (double)draw(1 << 30) / (1 << 30); /* no way over a third is shorter */
}

/* Its keys are even, so that what is looked up is not there. */
static struct tree *balanced(int low, int high) {
    if (low >= high)
        return NULL;
    const int middle = low + (high - low) / 2;
    struct tree *node = &nodes[middle];
    snprintf(node->key, sizeof node->key, "key %d", 1000000 + 2 * middle);
    node->left = balanced(low, middle);
    node->right = balanced(middle + 1, high);
    return node;
}

static void push(struct heap *heap, int item) {
    size_t hole = heap->count++;
    for (; hole && heap->items[(hole - 1) / 2] > item; hole = (hole - 1) / 2)
        heap->items[hole] = heap->items[(hole - 1) / 2];
    heap->items[hole] = item;
}

/* A table of that size takes one more key, many times. */
static void hashing(size_t n) {
    struct table table = {n, 2 * n, slots};
    memset(slots, 0, 2 * n * sizeof *slots);
    for (size_t place = 0; place < n; place++) {
        size_t slot = draw(2 * n);
        while (slots[slot])
            slot = (slot + 1) % (2 * n);
        slots[slot] = 1 + draw(1ull << 40);
    }
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        memcpy(before, slots, 2 * n * sizeof *slots);
        table_insert(&table, 1 + draw(1ull << 40));
        memcpy(slots, before, 2 * n * sizeof *slots);
        table.count = n;
    }
}

static void halving(size_t n) {
    struct root root = {n, balanced(0, (int)n)};
    struct heap heap = {0, scratch};
    char wanted[24];
    rising(n);
    while (heap.count < n)
        push(&heap, (int)draw(1 << 30));
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        snprintf(wanted, sizeof wanted, "key %d", 1000001 + 2 * (int)draw(n));
        binary_search(items, n, (int)draw(n));
        tree_lookup(&root, wanted);
        heap_pop(&heap);
        push(&heap, (int)draw(1 << 30));
    }
}

static void passing(size_t n) {
    for (int repeat = 0; repeat < 5; repeat++) {
        rising(n);
        linear_search(items, n, -1);
        random_items(n);
        merge_sort(items, n, scratch);
    }
}

static void remembering(size_t n) {
    for (int repeat = 0; repeat < 5; repeat++) {
        memset(known, 0, sizeof known);
        memoised_fibonacci((unsigned)n, known);
    }
}

/* The worst case of the one, any of the other. */
static void squares(size_t n) {
    for (size_t place = 0; place < n; place++)
        items[place] = (int)(n - place);
    insertion_sort(items, n);
    selection_sort(items, n);
}

static void cubes(size_t n) {
    for (int repeat = 0; repeat < 2; repeat++) {
        random_square(first, n);
        random_square(second, n);
        matrix_product(first, second, product, n);
        floyd_warshall(first, n);
    }
}

static void exponentials(size_t n) {
    for (int repeat = 0; repeat < 2; repeat++)
        naive_fibonacci((unsigned)n);
}

struct work {
    void (*call)(size_t);
    size_t count, start, step; /* so many sizes: start, start + step and so on; start, 2 start, 4 start where step is 0 */
};

static const struct work works[] = {
    {hashing, 7, 16, 0},  {halving, 6, 16, 0},       {halving, 5, 24, 0}, {passing, 20, 50, 50},
    {remembering, 20, 20, 20}, {squares, 20, 40, 40}, {cubes, 12, 8, 4},  {exponentials, 14, 5, 1},
};

/* Every algorithm at all its sizes in random order, in several rounds: a slow moment of the machine hits few of them. */
int main(int count, char **words) {
    struct work calls[128];
    size_t known = 0;
    for (size_t place = 0; place < sizeof works / sizeof *works; place++)
        for (size_t number = 0; number < works[place].count; number++) {
            const struct work *work = &works[place];
            calls[known++] = (struct work){work->call, 1, work->step ? work->start + number * work->step : work->start << number, 0};
        }
    state = count > 1 ? strtoull(words[1], NULL, 10) * 2 + 1 : 1;
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
