#include "further.h"

#include <string.h>

long queue_turn(struct ring *queue, long item) {
    const long found = queue->items[queue->first];
    queue->items[queue->first] = item;
    if (++queue->first == queue->size)
        queue->first = 0;
    return found;
}

uint64_t table_lookup(const uint64_t *keys, size_t slots, uint64_t key) {
    size_t place = (key * 0x9e3779b97f4a7c15u >> 20) % slots;
    while (keys[place] && keys[place] != key)
        place = (place + 1) % slots;
    return keys[place];
}

long fenwick_sum(const long *sums, size_t n, size_t place) {
    long total = 0;
    for (; place && place < n; place &= place - 1)
        total += sums[place];
    return total;
}

void heap_push(int *heap, size_t n, int item) {
    size_t hole = n;
    for (; hole && heap[(hole - 1) / 2] > item; hole = (hole - 1) / 2)
        heap[hole] = heap[(hole - 1) / 2];
    heap[hole] = item;
}

long largest_sum(const int *items, size_t n) {
    long best = 0, here = 0;
    for (size_t place = 0; place < n; place++) {
        here = here + items[place] > 0 ? here + items[place] : 0;
        best = here > best ? here : best;
    }
    return best;
}

void counting_sort(const int *items, size_t n, int *counts, int *sorted) {
    memset(counts, 0, n * sizeof *counts);
    for (size_t place = 0; place < n; place++)
        counts[items[place]]++;
    size_t end = 0;
    for (size_t key = 0; key < n; key++)
        for (int count = counts[key]; count; count--)
            sorted[end++] = (int)key;
}

static void sink(int *items, size_t place, size_t end) {
    const int item = items[place];
    for (size_t child = 2 * place + 1; child < end; child = 2 * place + 1) {
        if (child + 1 < end && items[child + 1] > items[child])
            child++;
        if (item >= items[child])
            break;
        items[place] = items[child];
        place = child;
    }
    items[place] = item;
}

void heap_sort(int *items, size_t n) {
    for (size_t start = n / 2; start--;)
        sink(items, start, n);
    for (size_t end = n; end-- > 1;) {
        const int item = items[0];
        items[0] = items[end];
        items[end] = item;
        sink(items, 0, end);
    }
}

void quick_sort(int *items, size_t n) {
    if (n < 2)
        return;
    const int pivot = items[n / 2];
    size_t low = 0, high = n - 1;
    for (;; low++, high--) {
        while (items[low] < pivot)
            low++;
        while (items[high] > pivot)
            high--;
        if (low >= high)
            break;
        const int item = items[low];
        items[low] = items[high];
        items[high] = item;
    }
    quick_sort(items, low);
    quick_sort(items + low, n - low);
}

void bubble_sort(int *items, size_t n) {
    for (size_t end = n; end-- > 1;)
        for (size_t place = 0; place < end; place++)
            if (items[place] > items[place + 1]) {
                const int item = items[place];
                items[place] = items[place + 1];
                items[place + 1] = item;
            }
}

int edit_distance(const char *one, const char *other, size_t n, int *row) {
    for (size_t column = 0; column <= n; column++)
        row[column] = (int)column;
    for (size_t line = 0; line < n; line++) {
        int corner = row[0];
        row[0] = (int)line + 1;
        for (size_t column = 0; column < n; column++) {
            int least = corner + (one[line] != other[column]);
            corner = row[column + 1];
            least = row[column] + 1 < least ? row[column] + 1 : least;
            row[column + 1] = corner + 1 < least ? corner + 1 : least;
        }
    }
    return row[n];
}

void transitive_closure(unsigned char *reach, size_t n) {
    for (size_t through = 0; through < n; through++)
        for (size_t start = 0; start < n; start++)
            for (size_t end = 0; end < n; end++)
                if (!reach[start * n + end])
                    reach[start * n + end] = reach[start * n + through] & reach[through * n + end];
}

uint64_t hanoi(unsigned n, int source, int target) {
    if (!n)
        return 0;
    const int rest = 6 - source - target;
    return hanoi(n - 1, source, rest) + 1 + hanoi(n - 1, rest, target);
}
