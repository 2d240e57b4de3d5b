/* Twelve textbook algorithms; the order of each stands beside it. Sizes are parameters, or members of what is passed. */
#ifndef ALGORITHMS_H
#define ALGORITHMS_H

#include <stddef.h>
#include <stdint.h>

struct table {
    size_t count, slots;
    uint64_t *keys; /* 0 where there is none */
};

struct tree {
    char key[24];
    struct tree *left, *right;
};

struct root {
    size_t count;
    struct tree *top;
};

struct heap {
    size_t count;
    int *items;
};

void table_insert(struct table *table, uint64_t key);                                      /* O(1) */
size_t binary_search(const int *items, size_t n, int wanted);                              /* O(log n) */
int tree_lookup(const struct root *root, const char *wanted);                              /* O(log n) */
int heap_pop(struct heap *heap);                                                           /* O(log n) */
long linear_search(const int *items, size_t n, int wanted);                                /* O(n) */
uint64_t memoised_fibonacci(unsigned n, uint64_t *known);                                  /* O(n) */
void merge_sort(int *items, size_t n, int *scratch);                                       /* O(n log n) */
void insertion_sort(int *items, size_t n);                                                 /* O(n^2) */
void selection_sort(int *items, size_t n);                                                 /* O(n^2) */
void matrix_product(const double *first, const double *second, double *product, size_t n); /* O(n^3) */
void floyd_warshall(double *distances, size_t n);                                          /* O(n^3) */
uint64_t naive_fibonacci(unsigned n);                                                      /* O(b^n), b = 1.618 */

#endif
