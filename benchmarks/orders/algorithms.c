#include "algorithms.h"

#include <string.h>

void table_insert(struct table *table, uint64_t key) {
    size_t place = (key * 0x9e3779b97f4a7c15u >> 32) % table->slots;
    while (table->keys[place] && table->keys[place] != key)
        place = (place + 1) % table->slots;
    table->keys[place] = key;
    table->count++;
}

size_t binary_search(const int *items, size_t n, int wanted) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (items[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int tree_lookup(const struct root *root, const char *wanted) {
    const struct tree *node = root->top;
    while (node) {
        const int side = strcmp(wanted, node->key);
        if (!side)
            return 1;
        node = side < 0 ? node->left : node->right;
    }
    return 0;
}

int heap_pop(struct heap *heap) {
    const int smallest = heap->items[0], item = heap->items[--heap->count];
    size_t place = 0;
    for (size_t child = 1; child < heap->count; child = 2 * place + 1) {
        if (child + 1 < heap->count && heap->items[child + 1] < heap->items[child])
            child++;
        if (item <= heap->items[child])
            break;
        heap->items[place] = heap->items[child];
        place = child;
    }
    heap->items[place] = item;
    return smallest;
}

long linear_search(const int *items, size_t n, int wanted) {
    for (size_t place = 0; place < n; place++)
        if (items[place] == wanted)
            return (long)place;
    return -1;
}

uint64_t memoised_fibonacci(unsigned n, uint64_t *known) {
    if (n < 2)
        return n;
    if (!known[n])
        known[n] = (memoised_fibonacci(n - 1, known) + memoised_fibonacci(n - 2, known)) % 1000000007;
    return known[n];
}

void merge_sort(int *items, size_t n, int *scratch) {
    if (n < 2)
        return;
    const size_t middle = n / 2;
    merge_sort(items, middle, scratch);
    merge_sort(items + middle, n - middle, scratch);
    size_t one = 0, other = middle;
    for (size_t place = 0; place < n; place++)
        scratch[place] = one < middle && (other == n || items[one] <= items[other]) ? items[one++] : items[other++];
    memcpy(items, scratch, n * sizeof *items);
}

void insertion_sort(int *items, size_t n) {
    for (size_t end = 1; end < n; end++) {
        const int item = items[end];
        size_t place = end;
        for (; place && items[place - 1] > item; place--)
            items[place] = items[place - 1];
        items[place] = item;
    }
}

void selection_sort(int *items, size_t n) {
    for (size_t start = 0; start < n; start++) {
        size_t smallest = start;
        for (size_t place = start + 1; place < n; place++)
            if (items[place] < items[smallest])
                smallest = place;
        const int item = items[start];
        items[start] = items[smallest];
        items[smallest] = item;
    }
}

void matrix_product(const double *first, const double *second, double *product, size_t n) {
    memset(product, 0, n * n * sizeof *product);
    for (size_t row = 0; row < n; row++)
        for (size_t place = 0; place < n; place++)
            for (size_t column = 0; column < n; column++)
                product[row * n + column] += first[row * n + place] * second[place * n + column];
}

void floyd_warshall(double *distances, size_t n) {
    for (size_t through = 0; through < n; through++)
        for (size_t start = 0; start < n; start++)
            for (size_t end = 0; end < n; end++) {
                const double way = distances[start * n + through] + distances[through * n + end];
                if (way < distances[start * n + end])
                    distances[start * n + end] = way;
            }
}

uint64_t naive_fibonacci(unsigned n) {
    return n < 2 ? n : naive_fibonacci(n - 1) + naive_fibonacci(n - 2);
}
