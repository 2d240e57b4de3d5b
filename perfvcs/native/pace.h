/* The machine's pace: how long a fixed piece of work takes on the command's processor, time and again while the command runs.
 *
 * Two processors of a virtual machine may be two threads of one core, the other one somebody else's: then the same code takes up to
 * twice as long while that one is busy, and neither steal time nor run-queue delay tells. */
#pragma once

#define BETWEEN (20 * MILLISECOND) /* readings; most of what one takes is to wake up and to find out where */
#define THINNING 4096              /* later a reading every 4096th part of the time until then */
#define ROUNDS 48
#define CELLS 256

struct reading {
    int64_t time, took; /* CLOCK_MONOTONIC ns */
};

static int pace_file = -1;
static int64_t next_reading = INT64_MAX, first_reading;

/* Loads that do not wait for one another: what suffers most from a neighbour on the core, and 2 KiB of cache are all it disturbs. */
static int64_t fixed_work(void)
{
    static volatile uint64_t result;
    static uint64_t cells[CELLS];
    uint64_t sums[4] = {result, 0, 0, 0};
    int64_t start = now();
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < CELLS; i += 4) {
            sums[0] += cells[i];
            sums[1] ^= cells[i + 1];
            sums[2] += cells[i + 2];
            sums[3] ^= cells[i + 3];
            __asm__ volatile("" ::: "memory"); /* else the compiler does it once, or with vectors */
        }
    result = sums[0] + sums[1] + sums[2] + sums[3];
    return now() - start;
}

/* The processor on which the process ran last (its first thread), -1 where the kernel does not tell. */
static int processor(pid_t pid)
{
    char path[64];
    int found;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    const char *fields = strrchr(contents(path), ')');
    for (int field = 2; fields && field < 39; field++)
        fields = strchr(fields + 1, ' ');
    return fields && sscanf(fields, "%d", &found) == 1 ? found : -1;
}

/* Take the next reading, on the processor of the command; there is no other until the first one is due. */
static void read_pace(pid_t pid)
{
    static int here = -1;
    int64_t start = now();
    int where = processor(pid);
    if (where >= 0 && where != here && where < CPU_SETSIZE) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(where, &set);
        if (sched_setaffinity(0, sizeof set, &set) == 0)
            here = where;
    }
    fixed_work(); /* the caches are the command's */
    int64_t one = fixed_work(), other = fixed_work();
    struct reading reading = {start, one < other ? one : other};
    if (where < 0 || write(pace_file, &reading, sizeof reading) != sizeof reading) {
        next_reading = INT64_MAX;
        return;
    }
    int64_t thin = (start - first_reading) / THINNING;
    next_reading = now() + (thin > BETWEEN ? thin : BETWEEN);
}

static void prepare_pace(int file)
{
    pace_file = file;
    first_reading = now();
    if (file >= 0)
        next_reading = first_reading + BETWEEN / 2; /* shorter programs are left alone */
}
