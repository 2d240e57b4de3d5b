/* Preloaded into programs that run under callgrind. A child that a fork makes begins at zero, as it has its parent's counts otherwise.
 *
 * Where only the runs of a unit count (PERFVCS_UNIT), callgrind is off when the program starts. perfvcs_unit.py switches it on and off by
 * perfvcs_unit_begin and perfvcs_unit_end, and says which run that was; perfvcs.h by perfvcs_timer_begin and perfvcs_timer_end, which say
 * only at the end what was timed, and of which several may be open. Whatever was counted until a moment at which something begins or ends is
 * a file with a number: "part 5", or "run 2 7 5" for the second run of the unit, which the files 5 to 7 have.
 * Where that variable is "*", perfvcs.h has each unit counted, at most MOST_OF_EACH times, and its name stands behind the run's numbers.
 * Processes that are made meanwhile see PERFVCS_INSIDE, the number of the run, and begin with the file "inside 2"; those that a program with
 * perfvcs.h forks begin with "made 123 6 0", since they belong to what the process 123 times while it has file 6. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#define MOST_OPEN 64
#define MOST_RUNS 100 /* of the unit; what a program does more often repeats itself */
#define MOST_FILES 2000
#define MOST_OF_EACH 100
#define NAMES 4096 /* numbers that names are folded to */
#define LONGEST_NAME 1000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    long long id;
    int first; /* the number of the file with which it begins, at least */
} timers[MOST_OPEN];
static int timing, files, runs, moment; /* counts on with each file and each beginning */
static const char *unit;
static int every; /* unit is counted by itself */
static unsigned char often[NAMES]; /* runs of the units whose names are folded to that number */

/* Appends a space and a number to a text, in fewer instructions than sprintf has, since they count. */
static char *append(char *end, int number)
{
    char digits[16];
    int count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    *end++ = ' ';
    while (count)
        *end++ = digits[--count];
    return end;
}

static void put(const char *kind, int run, int first, const char *name)
{
    char text[LONGEST_NAME + 80] = "perfvcs ", *end = text + 8;
    int length;
    while (*kind)
        *end++ = *kind++;
    end = append(append(append(end, run), moment++), first);
    if (*name)
        *end++ = ' ';
    for (length = 0; name[length] && length < LONGEST_NAME; length++)
        *end++ = (unsigned char)name[length] < ' ' ? '?' : name[length];
    *end = 0;
    CALLGRIND_DUMP_STATS_AT(text);
    files++;
}

void perfvcs_unit_begin(void)
{
    CALLGRIND_START_INSTRUMENTATION;
}

void perfvcs_unit_end(int run)
{
    CALLGRIND_STOP_INSTRUMENTATION;
    if (run)
        put("run", run, moment, "");
    else
        CALLGRIND_ZERO_STATS;
}

void perfvcs_timer_begin(long long id)
{
    if (!unit)
        return;
    pthread_mutex_lock(&lock);
    if (timing < MOST_OPEN && files < MOST_FILES) {
        if (timing)
            put("part", 0, moment, "");
        else
            CALLGRIND_ZERO_STATS;
        timers[timing].id = id;
        timers[timing++].first = ++moment;
        CALLGRIND_START_INSTRUMENTATION; /* stopping each time would take longer than what goes on meanwhile */
    }
    pthread_mutex_unlock(&lock);
}

/* Whether a run of it counts; in every mode the first ones of each unit do. */
static int counts(const char *uid)
{
    unsigned number = 5381;
    const char *letter;
    if (!every)
        return !strcmp(uid, unit);
    for (letter = uid; *letter; letter++)
        number = number * 33 + (unsigned char)*letter;
    return often[number % NAMES] < MOST_OF_EACH && ++often[number % NAMES];
}

void perfvcs_timer_end(long long id, const char *uid)
{
    int place;
    if (!unit)
        return;
    pthread_mutex_lock(&lock);
    for (place = timing - 1; place >= 0 && timers[place].id != id; place--)
        ;
    if (place >= 0) {
        int first = timers[place].first;
        timers[place] = timers[--timing];
        if (counts(uid))
            put("run", ++runs, first, every ? uid : "");
        if (runs == MOST_RUNS && !every) {
            CALLGRIND_STOP_INSTRUMENTATION;
            unit = NULL;
        }
    }
    pthread_mutex_unlock(&lock);
}

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
    const char *inside = getenv("PERFVCS_INSIDE");
    pthread_mutex_unlock(&lock);
    CALLGRIND_ZERO_STATS;
    if (inside)
        put("inside", atoi(inside), 0, "");
    else if (timing)
        put("made", (int)getppid(), 0, "");
}

__attribute__((constructor)) static void prepare(void)
{
    const char *inside = getenv("PERFVCS_INSIDE");
    pthread_atfork(before_fork, after_fork, in_child);
    if (inside) {
        put("inside", atoi(inside), 0, "");
        CALLGRIND_START_INSTRUMENTATION;
    } else {
        unit = getenv("PERFVCS_UNIT");
        every = unit && !strcmp(unit, "*");
    }
}
