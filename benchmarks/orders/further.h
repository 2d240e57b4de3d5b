/* Twelve more textbook algorithms, which no rule of the choice was made with; the order of each stands beside it. */
#ifndef FURTHER_H
#define FURTHER_H

#include <stddef.h>
#include <stdint.h>

struct ring {
    size_t size, first;
    long *items;
};

long queue_turn(struct ring *queue, long item);                           /* O(1) */
uint64_t table_lookup(const uint64_t *keys, size_t slots, uint64_t key);  /* O(1) */
long fenwick_sum(const long *sums, size_t n, size_t place);               /* O(log n) */
void heap_push(int *heap, size_t n, int item);                            /* O(log n) */
long largest_sum(const int *items, size_t n);                             /* O(n) */
void counting_sort(const int *items, size_t n, int *counts, int *sorted); /* O(n), keys below n */
void heap_sort(int *items, size_t n);                                     /* O(n log n) */
void quick_sort(int *items, size_t n);                                    /* O(n log n) on average */
void bubble_sort(int *items, size_t n);                                   /* O(n^2) */
int edit_distance(const char *one, const char *other, size_t n, int *row); /* O(n^2) */
void transitive_closure(unsigned char *reach, size_t n);                  /* O(n^3) */
uint64_t hanoi(unsigned n, int source, int target);                       /* O(2^n) */

#endif
