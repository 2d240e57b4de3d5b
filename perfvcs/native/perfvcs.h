/* A program under test reports its own measurements to perfvcs. Header only, C99 and C++11, for POSIX systems.
 *
 *     perfvcs_timer timer = perfvcs_begin();
 *     parse(text, n);
 *     perfvcs_end(timer, "parse", n);              or PERFVCS_NO_SIZE
 *
 *     { perfvcs::scope timer("parse", n); ... }    the same in C++
 *
 *     perfvcs_declare("throughput", "op/s", "higher");          perfvcs_declare_exact: what repeats exactly
 *     perfvcs_record("parse", n, "throughput", 1e6);
 *
 * Threads and processes may report at the same time. Where the variable PERFVCS_SAMPLES is not set, nothing happens.
 * With -std=c99 include it before all other headers. */
#ifndef PERFVCS_H
#define PERFVCS_H

#if defined(__STRICT_ANSI__) && !defined(_POSIX_C_SOURCE) && !defined(_XOPEN_SOURCE) && !defined(_GNU_SOURCE) && !defined(_DEFAULT_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if !defined(CLOCK_MONOTONIC) || !defined(CLOCK_PROCESS_CPUTIME_ID)
#error "perfvcs.h: include it before all other headers, or compile with -std=gnu99"
#endif

#define PERFVCS_NO_SIZE (-1.0)

#ifdef __cplusplus
extern "C" {
#endif

/* Nanoseconds at the beginning, of the wall clock and of this process on all its processors. */
typedef struct perfvcs_timer {
    long long wall, cpu;
} perfvcs_timer;

/* Where perfvcs counts one unit, a preloaded library has these two, which may switch the counter. */
#if defined(__linux__) && defined(__GNUC__)
#define PERFVCS_WEAK __attribute__((weak, visibility("default")))
PERFVCS_WEAK void perfvcs_timer_begin(long long id);
PERFVCS_WEAK void perfvcs_timer_end(long long id, const char *uid);
#endif

static inline long long perfvcs_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static inline const char *perfvcs_file(void)
{
    const char *path = getenv("PERFVCS_SAMPLES");
    return path && *path ? path : NULL;
}

static inline perfvcs_timer perfvcs_begin(void)
{
    perfvcs_timer timer = {0, 0};
    if (perfvcs_file()) {
        timer.cpu = perfvcs_clock(CLOCK_PROCESS_CPUTIME_ID);
        timer.wall = perfvcs_clock(CLOCK_MONOTONIC);
#ifdef PERFVCS_WEAK
        if (perfvcs_timer_begin)
            perfvcs_timer_begin(timer.wall);
#endif
    }
    return timer;
}

static inline void perfvcs_complain(const char *what)
{
    fprintf(stderr, "perfvcs.h: a sample is lost: %s\n", what);
}

/* Appends a line by one write, so that those of several threads and processes do not mix. */
static inline void perfvcs_append(const char *line, size_t length)
{
    int file = open(perfvcs_file(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0 || write(file, line, length) != (ssize_t)length)
        perfvcs_complain(strerror(errno));
    if (file >= 0)
        close(file);
}

/* Writes text as a JSON string, at most 6 bytes per byte and 2 quotes; returns the end. */
static inline char *perfvcs_quote(char *to, const char *text)
{
    static const char digits[] = "0123456789abcdef";
    *to++ = '"';
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20) {
            memcpy(to, "\\u00", 4);
            to[4] = digits[c >> 4];
            to[5] = digits[c & 15];
            to += 6;
            continue;
        }
        if (c == '"' || c == '\\')
            *to++ = '\\';
        *to++ = (char)c;
    }
    *to++ = '"';
    return to;
}

/* Writes a number as JSON whatever the locale's decimal point is, at most 32 bytes; returns the end, NULL when it is not finite. */
static inline char *perfvcs_number(char *to, double value)
{
    int length;
    if (!(value - value == 0)) /* infinite or not a number */
        return NULL;
    length = snprintf(to, 32, "%.17g", value);
    for (; length > 0; length--, to++)
        if (!strchr("0123456789+-e", *to))
            *to = '.';
    return to;
}

/* Appends a sample; names and values are `count` metrics. */
static inline void perfvcs_sample(const char *uid, double size, int count, const char *const *names, const double *values)
{
    size_t room = 6 * strlen(uid) + 128;
    int i;
    char *line, *end;
    for (i = 0; i < count; i++)
        room += 6 * strlen(names[i]) + 64;
    line = (char *)malloc(room);
    if (!line) {
        perfvcs_complain("no memory");
        return;
    }
    memcpy(line, "{\"uid\":", 7);
    end = perfvcs_quote(line + 7, uid);
    if (size >= 0) {
        memcpy(end, ",\"size\":", 8);
        end = perfvcs_number(end + 8, size);
    }
    for (i = 0; end && i < count; i++) {
        *end++ = ',';
        end = perfvcs_quote(end, names[i]);
        *end++ = ':';
        end = perfvcs_number(end, values[i]);
    }
    if (end) {
        memcpy(end, "}\n", 2);
        perfvcs_append(line, (size_t)(end + 2 - line));
    } else {
        perfvcs_complain("a value is not finite");
    }
    free(line);
}

/* Reports one value that was measured in another way. */
static inline void perfvcs_record(const char *uid, double size, const char *metric, double value)
{
    if (perfvcs_file())
        perfvcs_sample(uid, size, 1, &metric, &value);
}

/* Reports the time since perfvcs_begin; a negative size means that there is none. */
static inline void perfvcs_end(perfvcs_timer timer, const char *uid, double size)
{
    static const char *const names[] = {"wall", "cpu"};
    double values[2];
    if (!perfvcs_file() || !timer.wall)
        return;
#ifdef PERFVCS_WEAK
    if (perfvcs_timer_end)
        perfvcs_timer_end(timer.wall, uid);
#endif
    values[0] = (double)(perfvcs_clock(CLOCK_MONOTONIC) - timer.wall) / 1e9;
    values[1] = (double)(perfvcs_clock(CLOCK_PROCESS_CPUTIME_ID) - timer.cpu) / 1e9;
    perfvcs_sample(uid, size, 2, names, values);
}

static inline void perfvcs_declare_as(const char *metric, const char *unit, const char *better, const char *rest)
{
    char *line, *end;
    if (!perfvcs_file())
        return;
    line = (char *)malloc(6 * (strlen(metric) + strlen(unit) + strlen(better)) + strlen(rest) + 64);
    if (!line) {
        perfvcs_complain("no memory");
        return;
    }
    memcpy(line, "{\"metric\":", 10);
    end = perfvcs_quote(line + 10, metric);
    memcpy(end, ",\"unit\":", 8);
    end = perfvcs_quote(end + 8, unit);
    memcpy(end, ",\"better\":", 10);
    end = perfvcs_quote(end + 10, better);
    memcpy(end, rest, strlen(rest));
    end += strlen(rest);
    perfvcs_append(line, (size_t)(end - line));
    free(line);
}

/* Tells the unit of a metric and which direction is better: lower, higher or none. */
static inline void perfvcs_declare(const char *metric, const char *unit, const char *better)
{
    perfvcs_declare_as(metric, unit, better, "}\n");
}

/* The same of a metric that is exact: any change of it counts, and one execution is enough. */
static inline void perfvcs_declare_exact(const char *metric, const char *unit, const char *better)
{
    perfvcs_declare_as(metric, unit, better, ",\"deterministic\":true}\n");
}

#ifdef __cplusplus
} /* extern "C" */

namespace perfvcs {
/* Measures from here to the end of the block; `uid` must live as long. */
class scope {
  public:
    explicit scope(const char *uid, double size = PERFVCS_NO_SIZE) : uid_(uid), size_(size), timer_(perfvcs_begin()) {}
    ~scope() { perfvcs_end(timer_, uid_, size_); }
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;

  private:
    const char *uid_;
    double size_;
    perfvcs_timer timer_;
};
} // namespace perfvcs
#endif

#endif
