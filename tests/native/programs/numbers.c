/* Arguments and results in every kind of register, and on the stack. */
#include <complex.h>
#include <fenv.h>
#include <immintrin.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#define KEEP __attribute__((noinline, noipa))
#ifdef __clang__
#undef KEEP
#define KEEP __attribute__((noinline))
#endif
struct floats { float a, b, c; };
struct mixed { double x; long n; };
struct large { double x[6]; };
struct extended { long double x; };
struct quads { long a, b; };
KEEP double doubles(double a, double b, double c, double d, double e, double f, double g, double h, double i)
{ return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i; }
KEEP float singles(float a, float b) { return a / b; }
KEEP long double extended(long double a, int n) { return a * n + 0.1L; }
KEEP struct extended boxed(struct extended e) { e.x *= 3; return e; }
KEEP double complex complex_(double complex a, float complex b) { return a * b; }
KEEP long double complex long_complex(long double complex a) { return a * a + 1.0L * I; }
KEEP struct floats three(struct floats f) { f.a += f.c; return f; }
KEEP struct mixed mix(struct mixed m, double x) { m.x *= x; m.n++; return m; }
KEEP struct large big(struct large l, int n) { l.x[n] = n; return l; }
KEEP struct quads pair(long a, long b) { return (struct quads){b, a}; }
KEEP __int128 wide(__int128 a, __int128 b) { return a * b + 1; }
KEEP __m128 vector(__m128 a, __m128 b) { return _mm_add_ps(a, b); }
KEEP __float128 quad(__float128 a, __float128 b) { return a * b + 1; }
#ifdef __AVX__
KEEP __m256d vector8(__m256d a, __m256d b) { return _mm256_add_pd(a, b); }
#endif
KEEP double variadic(int n, ...)
{
    va_list rest;
    double sum = 0;
    va_start(rest, n);
    for (int i = 0; i < n; i++)
        sum += i % 3 == 2 ? (double)va_arg(rest, long double) : i % 3 ? va_arg(rest, double) : va_arg(rest, int);
    va_end(rest);
    return sum;
}
KEEP double through(const char *format, ...) { char text[100]; va_list rest; va_start(rest, format); vsnprintf(text, sizeof text, format, rest); va_end(rest); puts(text); return text[0]; }
KEEP int flags(double a, double b) { volatile double c = a / b; (void)c; return fetestexcept(FE_ALL_EXCEPT); }
KEEP int rounding(double a) { return (int)nearbyint(a); }
KEEP int nested(int n)
{
    int total = 0;
    __auto_type add = n;
    (void)add;
#ifndef __clang__
    __attribute__((noinline)) int inner(int k) { total += k * n; return k ? inner(k - 1) : total; }
    return inner(n);
#else
    for (int k = n; k >= 0; k--)
        total += k * n;
    return total;
#endif
}
int main(void)
{
    printf("%.17g %.9g\n", doubles(1, 2, 3, 4, 5, 6, 7, 8, 9), singles(1, 3));
    printf("%.20Lg %.20Lg\n", extended(1.0L / 3, 7), boxed((struct extended){1.0L / 7}).x);
    double complex c = complex_(1 + 2 * I, 3 - 4 * I);
    long double complex lc = long_complex(1.5L + 2.5L * I);
    printf("%g %g %Lg %Lg\n", creal(c), cimag(c), creall(lc), cimagl(lc));
    struct floats f = three((struct floats){1, 2, 3});
    struct mixed m = mix((struct mixed){1.5, 41}, 3);
    struct large l = big((struct large){{1, 2, 3}}, 4);
    struct quads q = pair(1, 2);
    printf("%g %g %g %g %ld %g %g %ld %ld\n", f.a, f.b, f.c, m.x, m.n, l.x[2], l.x[4], q.a, q.b);
    __int128 w = wide((__int128)1 << 70, 3);
    printf("%lx %lx\n", (unsigned long)(w >> 64), (unsigned long)w);
    __m128 v = vector(_mm_set_ps(1, 2, 3, 4), _mm_set1_ps(0.5f));
    printf("%g %g %g\n", v[0], v[3], (double)quad(1.25, 3));
#ifdef __AVX__
    __m256d v8 = vector8(_mm256_set_pd(1, 2, 3, 4), _mm256_set1_pd(0.25));
    printf("%g %g\n", v8[0], v8[3]);
#endif
    printf("%g\n", variadic(6, 1, 2.5, 3.25L, 4, 5.5, 6.75L));
    through("%d %g %s %Lg", 1, 2.5, "three", 4.25L);
    feclearexcept(FE_ALL_EXCEPT);
    printf("%d", flags(1, 2));
    printf(" %d\n", flags(1, 3));
    feclearexcept(FE_ALL_EXCEPT);
    fesetround(FE_UPWARD);
    printf("%d\n", rounding(1.1));
    fesetround(FE_TONEAREST);
    printf("%d %d\n", rounding(1.1), nested(5));
    return 0;
}
