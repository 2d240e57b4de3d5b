/* Every function is called once for each of these sizes, in this order. */
#include <complex.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const int SIZES[] = {0, 1, 2, 5, 17, 100, 999, 20000};
#define EXACT __attribute__((noinline))
/* What a function does not use, compilers do not pass; and functions that do the same they merge. */
#define USE(x) __asm__ volatile("# %c1" : : "X"(x), "i"(__LINE__) : "memory")
#define WARN for (volatile int i = 0; i < 9; i++) abs(i)
#define SEE(x) __asm__ volatile("# %c1" : : "m"(x), "i"(__LINE__) : "memory")

struct list { struct list *next; int count; };
struct inner { short unused; unsigned short used; };
struct outer { struct list *list; struct inner inner; struct { long nitems; }; };
struct pair { int key, count; };
struct pair16 { long key; int unused, count; };
struct mixed16 { double weight; long count; };
struct floats { float x, y; };
struct big { long values[5]; int count; };
struct flags { unsigned kind : 3, count : 20, rest : 9; };
struct signed_flags { int kind : 4, count : 28; };
struct __attribute__((packed)) tight { char tag; int count; };
struct extended { long double x; };
union either { int count; char bytes[8]; };
struct mixed_array { float v[2]; int unused, count; };
struct deep_array { struct { short a[2]; } rows[2]; double weight; };
typedef float four __attribute__((vector_size(16)));
typedef unsigned long amount;
typedef struct list *list_ref;

EXACT void plain(int n) { USE(n); }
EXACT void wide(long length) { USE(length); }
EXACT void typedefed(const amount count) { USE(count); }
EXACT void narrow(short n) { USE(n); }
EXACT void negative(int x) { USE(x); }
EXACT void huge(uint64_t x) { USE(x); }
EXACT void third(const char *text, double x, int size) { USE(text); USE(x); USE(size); }
EXACT void seventh(int a, int b, int c, int d, int e, int f, int n) { USE(a); USE(b); USE(c); USE(d); USE(e); USE(f); USE(n); }
EXACT void ninth(int a, int b, int c, int d, int e, int f, struct big g, char h, short n)
{ USE(a); USE(b); USE(c); USE(d); USE(e); USE(f); SEE(g); USE(h); USE(n); }
EXACT void after_struct(struct pair16 p, int n) { SEE(p); USE(n); }
EXACT void after_mixed(struct mixed16 p, struct floats f, int n) { SEE(p); SEE(f); USE(n); }
EXACT void after_big(struct big b, int n) { SEE(b); USE(n); }
EXACT void after_extended(long double x, struct extended y, int n) { SEE(x); SEE(y); USE(n); }
EXACT void after_complex(double complex x, float complex y, int n) { SEE(x); SEE(y); USE(n); }
EXACT void after_quad(__int128 x, _Bool y, int n) { SEE(x); USE(y); USE(n); }
EXACT struct big returns_big(int n) { struct big b = {{0}, n}; USE(n); return b; }
EXACT struct pair16 returns_pair(int n) { struct pair16 p = {0, 0, n}; USE(n); return p; }
EXACT long double returns_extended(int n) { USE(n); return n; }
EXACT void after_vector(four v, __float128 x, struct deep_array d, int n) { SEE(v); SEE(x); SEE(d); USE(n); }
EXACT void of_mixed_array(struct mixed_array p) { SEE(p); }
EXACT void of_weight(int a, struct deep_array d) { USE(a); SEE(d); }
union padded { double x; } __attribute__((aligned(16)));
struct uneven { unsigned a; _Complex float x; };
union halves { four v; double x[2]; };
union tagged { unsigned char tag; four v; };
EXACT void after_padding(union padded p, double x, double n) { SEE(p); SEE(x); USE(n); }
EXACT void after_uneven(struct uneven u, double n, int last) { SEE(u); USE(last); SEE(n); }
EXACT void after_halves(union halves h, double n) { SEE(h); SEE(n); }
EXACT void after_tagged(union tagged t, int n, double x) { SEE(t); USE(n); SEE(x); }
EXACT int with_cold_part(int n) { USE(n); if (__builtin_expect(n < 0, 0)) { WARN; abort(); } return n; }
EXACT void of_list(struct list *l) { USE(l); }
EXACT void of_reference(const list_ref l) { USE(l); }
EXACT void of_inner(struct outer *o) { USE(o); }
EXACT void of_anonymous(struct outer *o) { USE(o); }
EXACT void of_list_inside(struct outer *o) { USE(o); }
EXACT void of_pair(struct pair p) { SEE(p); }
EXACT void of_pair16(struct pair16 p) { SEE(p); }
EXACT void of_mixed(struct mixed16 p) { SEE(p); }
EXACT void of_big(struct big b) { SEE(b); }
EXACT void of_flags(struct flags *f) { USE(f); }
EXACT void of_flags_value(struct signed_flags f) { SEE(f); }
EXACT void of_tight(struct tight *t) { USE(t); }
EXACT void of_union(union either *u) { USE(u); }
EXACT void of_pointer(size_t *amount) { USE(amount); }
EXACT void of_element(long *values) { USE(values); }
EXACT void of_array(struct big *b) { USE(b); }
EXACT void matrix(int rows, int columns) { USE(rows); USE(columns); }
EXACT void halves(unsigned x) { USE(x); }
EXACT void real(int a, double b, double x) { USE(a); USE(b); USE(x); }
EXACT void single(float x) { USE(x); }
EXACT void eighth_real(double a, double b, double c, double d, double e, double f, double g, double h, double x)
{ USE(a); USE(b); USE(c); USE(d); USE(e); USE(f); USE(g); USE(h); USE(x); }
EXACT void scaled(int n, float x) { USE(n); USE(x); }
EXACT long variadic(int count, ...)
{
    va_list rest;
    double sum = 0;
    va_start(rest, count);
    for (int i = 0; i < 3; i++)
        sum += va_arg(rest, double);
    va_end(rest);
    return (long)sum;
}
EXACT static int fixed(int n, int k) { USE(n); return n * k; }
EXACT static long removed(struct pair16 *p, int unused, int n) { (void)unused; USE(n); return p->key + n; }
EXACT long recursive(long n) { USE(n); return n > 0 ? 1 + recursive(n - 1 - n / 2) : 0; }
EXACT int tail(int n) { USE(n); return fixed(n, 3); }

int main(void)
{
    void (*pointer)(int) = plain;
    long sum = 0;
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        int n = SIZES[i];
        struct list l = {0, n};
        struct outer o = {&l, {1, (unsigned short)n}, {n}};
        struct pair p = {7, n};
        struct pair16 p16 = {7, 8, n};
        struct mixed16 m = {0.5, n};
        struct floats f = {1, 2};
        struct big b = {{1, 2, n, 4, 5}, n};
        struct flags bits = {5, (unsigned)n, 100};
        struct signed_flags value = {-3, n};
        struct tight t = {'x', n};
        struct extended e = {1.5L};
        union either u = {n};
        size_t amount = (size_t)n;
        long values[3] = {1, 2, n};
        pointer(n);
        wide(n), typedefed((amount)), narrow((short)n), negative(-n), huge(UINT64_MAX - (uint64_t)n), third("text", 0.5, n);
        seventh(1, 2, 3, 4, 5, 6, n), ninth(1, 2, 3, 4, 5, 6, b, 'h', (short)n);
        after_struct(p16, n), after_mixed(m, f, n), after_big(b, n), after_extended(1.0L, e, n);
        after_complex(1.0 + 2.0 * I, 3.0f, n), after_quad((__int128)1 << 100, true, n);
        sum += returns_big(n).count + returns_pair(n).count + (long)returns_extended(n);
        after_padding((union padded){1}, 2, n), after_uneven((struct uneven){1, 2}, n, 3);
        after_halves((union halves){{1, 2}}, n), after_tagged((union tagged){1}, n, 2);
        after_vector((four){1, 2}, 3, (struct deep_array){{{{1, 2}}}, 0.5}, n);
        of_mixed_array((struct mixed_array){{1, 2}, 3, n}), of_weight(1, (struct deep_array){{{{1, 2}}}, n});
        sum += with_cold_part(n);
        of_list(&l), of_reference(&l), of_inner(&o), of_anonymous(&o), of_list_inside(&o), of_pair(p), of_pair16(p16), of_mixed(m), of_big(b);
        of_flags(&bits), of_flags_value(value), of_tight(&t), of_union(&u), of_pointer(&amount), of_element(values), of_array(&b);
        matrix(n, 3), halves((unsigned)n), real(1, 2.0, n + 0.25), single((float)n);
        eighth_real(1, 2, 3, 4, 5, 6, 7, 8, n), scaled(n, 0.5f);
        sum += variadic(n, 1.0, 2.0, 3.0) + fixed(n, 3) + removed(&p16, 1, n) + recursive(n) + tail(n);
    }
    return sum == -1;
}
