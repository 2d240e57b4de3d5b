/* Executes one command and writes down what it took: no shell, nothing of the caller inside the measured window.
 *
 * Usage: launcher REPORT ENVIRONMENT ALIVE PACE PARENT TIMEOUT_MS GRACE_MS ASK_MS ASLR CPUS COMMAND [ARGUMENT...]
 *   REPORT       descriptor of a file that gets the report, "key number" per line, "left NAME" for processes that had to be ended,
 *                "end 1" last
 *   ENVIRONMENT  descriptor of a file with the command's environment, each NAME=VALUE followed by a NUL
 *   ALIVE        descriptor that only has to stay open as long as the launcher lives
 *   PACE         descriptor of a file that gets readings of the machine's pace (pace.h) while the command runs; -1: none are taken
 *   PARENT       process id of the caller; when it dies, everything here is stopped
 *   ASK_MS       how long the command gets to end after SIGTERM before it is killed; 0: it is killed at once
 *   ASLR         0 switches address space randomisation off
 *   CPUS         "-" or processor numbers with commas, to pin the command to
 * Standard input, output and error are handed to the command as they are. The launcher itself runs with an empty environment, so
 * that an LD_PRELOAD meant for the command does not touch it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define VERSION 1
#define SECOND INT64_C(1000000000)
#define MILLISECOND INT64_C(1000000)
#define MOST_LEFT 20 /* processes that are named */
#define WORD 100 /* characters of a word of a command line */
#define PATIENCE (5 * SECOND) /* how long processes get to die after SIGKILL; only an uninterruptible one needs it */

static int report;
static pid_t command;
static int named_left;
static pid_t left[MOST_LEFT];
static sigset_t awaited;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND + t.tv_nsec;
}

static void say(const char *key, int64_t value)
{
    dprintf(report, "%s %lld\n", key, (long long)value);
}

static void fail(const char *key, int error)
{
    say(key, error);
    say("end", 1);
    exit(0);
}

/* The beginning of a file under /proc as a string; empty when it cannot be read. */
static const char *contents(const char *path)
{
    static char text[4096];
    ssize_t count = -1;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        count = read(file, text, sizeof text - 1);
        close(file);
    }
    text[count > 0 ? count : 0] = '\0';
    return text;
}

/* Nanoseconds in which some process of the machine waited for a processor, -1 where the kernel does not tell. */
static int64_t pressure(void)
{
    const char *total = strstr(contents("/proc/pressure/cpu"), "total=");
    return total ? atoll(total + 6) * 1000 : -1;
}

/* Nanoseconds which the hypervisor took from this machine, -1 where the kernel does not tell. */
static int64_t steal(void)
{
    unsigned long long ticks;
    if (sscanf(contents("/proc/stat"), "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &ticks) != 1)
        return -1;
    return (int64_t)ticks * (SECOND / sysconf(_SC_CLK_TCK));
}

/* Nanoseconds in which the process was ready and waited for a processor (its first thread alone), -1 where the kernel does not tell. */
static int64_t run_delay(pid_t pid)
{
    char path[64];
    unsigned long long delay;
    snprintf(path, sizeof path, "/proc/%d/schedstat", pid);
    return sscanf(contents(path), "%*u %llu", &delay) == 1 ? (int64_t)delay : -1;
}

/* The next awaited signal, 0 when none came before `until` (CLOCK_MONOTONIC ns). */
static int next_signal(int64_t until)
{
    int64_t left = until - now();
    if (left < 0)
        left = 0;
    struct timespec t = {left / SECOND, left % SECOND};
    int number = sigtimedwait(&awaited, NULL, &t);
    return number < 0 ? 0 : number;
}

#include "pace.h"

/* The next awaited signal, 0 when none came before `until`; the pace is read meanwhile. */
static int next_event(int64_t until)
{
    for (;;) {
        int number = next_signal(until < next_reading ? until : next_reading);
        if (number || now() >= until)
            return number;
        read_pace(command);
    }
}

static int64_t adopted; /* ns of the processors, of what nobody else waited for */

static int64_t processors(const struct rusage *u)
{
    return (u->ru_utime.tv_sec + u->ru_stime.tv_sec) * SECOND + (u->ru_utime.tv_usec + u->ru_stime.tv_usec) * INT64_C(1000);
}

/* Collects every ended process except the command itself; returns how many of them died of SIGKILL. */
static int reap(void)
{
    int killed = 0;
    struct rusage usage;
    siginfo_t info;
    for (;;) {
        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid || info.si_pid == command)
            return killed;
        if (wait4(info.si_pid, NULL, 0, &usage) > 0)
            adopted += processors(&usage);
        killed += info.si_code == CLD_KILLED && info.si_status == SIGKILL;
    }
}

static int childless(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) && errno == ECHILD;
}

/* Writes down the first two words of the command line of a process that has to be ended, once: its program, and a script's name. */
static void say_left(pid_t pid)
{
    char path[64], text[2 * WORD + 3];
    size_t length = 0, words = 0, letters = 0;
    for (int i = 0; i < named_left; i++)
        if (left[i] == pid)
            return;
    if (named_left >= MOST_LEFT)
        return;
    left[named_left++] = pid;
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    for (const char *p = contents(path); words < 2; p++) {
        if (*p && letters < WORD)
            text[length++] = *p > 32 && *p < 127 ? *p : '?';
        letters++;
        if (!*p) {
            if (letters == 1)
                break; /* an empty word: the end, as a rule */
            text[length++] = ' ';
            letters = 0;
            words++;
        }
    }
    if (length) {
        text[length - 1] = '\0';
        dprintf(report, "left %s\n", text);
    }
}

/* Kills every direct child and its process group. Orphans become direct children (we are their subreaper), so that repeating it
 * reaches all descendants; a direct child stays ours until we reap it, so that no other process is ever hit. */
static void kill_children(void)
{
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        char path[300];
        int parent, pid = atoi(entry->d_name);
        if (pid <= 0)
            continue;
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        const char *fields = strrchr(contents(path), ')'); /* a process may call itself "a) R 1" */
        char state;
        if (!fields || sscanf(fields, ") %c %d", &state, &parent) != 2 || parent != getpid())
            continue;
        if (state != 'Z')
            say_left(pid);
        pid_t group = getpgid(pid);
        if (group > 1 && group != getpgrp())
            kill(-group, SIGKILL);
        kill(pid, SIGKILL);
    }
    if (folder)
        closedir(folder);
}

/* Stops all descendants; returns how many there were that did not end by themselves within `grace` ns. */
static int stop_all(int64_t grace)
{
    int64_t until = now() + grace;
    int number, stopped = 0;
    reap();
    while (!childless() && now() < until) {
        number = next_signal(until);
        if (number && number != SIGCHLD)
            break;
        reap();
    }
    until = now() + PATIENCE;
    while (!childless() && now() < until) {
        kill_children();
        next_signal(now() + 5 * MILLISECOND);
        stopped += reap();
    }
    return stopped;
}

/* Whether the command ended; it stays a zombie. */
static int ended(siginfo_t *info)
{
    info->si_pid = 0;
    return waitid(P_PID, command, info, WEXITED | WNOHANG | WNOWAIT) == 0 && info->si_pid == command;
}

/* The input and output of this process and of all descendants that were waited for, as in /proc/self/io; -1 for what it lacks.
 * Returns the bytes that reading it took, which the next reading counts as input. */
static const char *const io_keys[] = {"rchar", "wchar", "read_bytes", "write_bytes"};
#define IO_KEYS (sizeof io_keys / sizeof *io_keys)

static int64_t read_io(int64_t values[IO_KEYS])
{
    const char *text = contents("/proc/self/io");
    for (size_t i = 0; i < IO_KEYS; i++) {
        char start[32];
        size_t length = (size_t)snprintf(start, sizeof start, "%s: ", io_keys[i]);
        values[i] = -1;
        for (const char *line = text; line; line = strchr(line, '\n')) {
            line += *line == '\n';
            if (strncmp(line, start, length) == 0)
                values[i] = atoll(line + length);
        }
    }
    return (int64_t)strlen(text);
}

/* Reaps the command. Its input and output is what ours grows by then: Linux adds it to the parent's, and newer versions let only
 * root read the /proc/PID/io of a zombie. */
static void reap_command(struct rusage *usage)
{
    int64_t before[IO_KEYS], after[IO_KEYS], reading = read_io(before);
    wait4(command, NULL, 0, usage);
    command = 0;
    read_io(after);
    for (size_t i = 0; i < IO_KEYS; i++)
        if (before[i] >= 0 && after[i] >= 0)
            say(io_keys[i], after[i] - before[i] - (i ? 0 : reading));
}

static void say_usage(const struct rusage *u)
{
    say("cpu", processors(u));
    say("maxrss", u->ru_maxrss * INT64_C(1024));
    say("minflt", u->ru_minflt);
    say("majflt", u->ru_majflt);
    say("nvcsw", u->ru_nvcsw);
    say("nivcsw", u->ru_nivcsw);
    say("inblock", u->ru_inblock);
    say("oublock", u->ru_oublock);
}

static char **read_environment(int file)
{
    struct stat status;
    if (fstat(file, &status))
        fail("setup", errno);
    size_t size = (size_t)status.st_size, count = 0;
    char *text = malloc(size + 1);
    if (!text || pread(file, text, size, 0) != (ssize_t)size)
        fail("setup", EIO);
    for (size_t i = 0; i < size; i++)
        count += text[i] == '\0';
    char **variables = malloc((count + 1) * sizeof *variables);
    if (!variables)
        fail("setup", ENOMEM);
    for (size_t i = 0; i < count; i++, text += strlen(text) + 1)
        variables[i] = text;
    variables[count] = NULL;
    return variables;
}

static void pin(const char *numbers)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const char *p = numbers; p; p = strchr(p, ',')) {
        p += *p == ',';
        long long number = atoll(p);
        if (number < 0 || number >= CPU_SETSIZE)
            fail("pin", EINVAL);
        CPU_SET(number, &set);
    }
    if (sched_setaffinity(0, sizeof set, &set))
        fail("pin", errno);
}

/* Where the kernel shares processors among sessions, niceness holds inside one only: a new one begins at 0. */
static void keep_niceness(pid_t process)
{
    char path[40];
    int file, niceness = getpriority(PRIO_PROCESS, 0);
    snprintf(path, sizeof path, "/proc/%d/autogroup", (int)process);
    if (!niceness || (file = open(path, O_WRONLY | O_CLOEXEC)) < 0)
        return;
    dprintf(file, "%d", niceness);
    close(file);
}

/* Signals stay blocked and are taken one by one; the command gets an empty mask and default dispositions. */
static void prepare_signals(posix_spawnattr_t *attributes)
{
    sigset_t all, none;
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &usual, NULL); /* refused for SIGKILL and SIGSTOP, as it should be */
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    sigaddset(&awaited, SIGTERM);
    sigaddset(&awaited, SIGINT);
    sigaddset(&awaited, SIGHUP);
    sigaddset(&awaited, SIGQUIT);
    sigemptyset(&none);
    posix_spawnattr_init(attributes);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return printf("perfvcs-launcher %d\n", VERSION) < 0;
    if (argc < 12) {
        fprintf(stderr, "launcher: only perfvcs starts this program\n");
        return 2;
    }
    posix_spawnattr_t attributes;
    report = atoi(argv[1]);
    for (int i = 1; i <= 4; i++) /* fcntl ignores -1 */
        fcntl(atoi(argv[i]), F_SETFD, FD_CLOEXEC);
    say("perfvcs-launcher", VERSION);
    prepare_signals(&attributes);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != atoi(argv[5])) /* it died before we asked to be told */
        return 1;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    char **variables = read_environment(atoi(argv[2]));
    int64_t timeout = atoll(argv[6]) * MILLISECOND, grace = atoll(argv[7]) * MILLISECOND, asking = atoll(argv[8]) * MILLISECOND;
    if (strcmp(argv[10], "-"))
        pin(argv[10]);
    if (!atoi(argv[9]) && personality(ADDR_NO_RANDOMIZE) < 0)
        fail("aslr", errno);
    keep_niceness(getpid());
    int64_t pressure_before = pressure(), steal_before = steal();

    int64_t start = now();
    int error = posix_spawn(&command, argv[11], NULL, &attributes, argv + 11, variables);
    if (error)
        fail("exec", error);
    keep_niceness(command);
    say("pid", command);
    int64_t wake_before = run_delay(getpid());
    prepare_pace(atoi(argv[4]));

    int number, asked = 0, stopping = 0, timed_out = 0;
    int64_t until = start + timeout, stop;
    siginfo_t info;
    struct rusage usage;
    for (;;) {
        number = next_event(until);
        stop = now();
        if (ended(&info))
            break;
        if (number == SIGCHLD) {
            reap();
            continue;
        }
        if (stopping && stop >= until) { /* it is stuck in the kernel: nobody can end it */
            say("stuck", 1);
            say("leftover", stop_all(0));
            say("end", 1);
            return 0;
        }
        if (!asked) {
            timed_out = !number;
            if (number)
                say("interrupted", number);
        }
        stopping = stopping || asked || !asking;
        asked = 1;
        until = stop + (stopping ? PATIENCE : asking);
        kill(-command, stopping ? SIGKILL : SIGTERM);
        kill(command, stopping ? SIGKILL : SIGTERM);
    }
    /* When the command has ended, we wait for a processor like everybody else, and that is in the wall time too. */
    int64_t wake_after = run_delay(getpid()), delay = run_delay(command);
    int64_t pressure_after = pressure(), steal_after = steal();
    reap_command(&usage);
    say("wall", stop - start);
    say_usage(&usage);
    say(info.si_code == CLD_EXITED ? "status" : "signal", info.si_status);
    say("timed_out", timed_out);
    if (delay >= 0)
        say("run_delay", delay);
    if (wake_before >= 0 && wake_after >= 0)
        say("wake_delay", wake_after - wake_before);
    if (pressure_before >= 0 && pressure_after >= 0)
        say("pressure", pressure_after - pressure_before);
    if (steal_before >= 0 && steal_after >= 0)
        say("steal", steal_after - steal_before);
    say("leftover", stop_all(asked ? 0 : grace));
    say("adopted", adopted);
    say("end", 1);
    return 0;
}
