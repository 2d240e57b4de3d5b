/* The files of this process: its counts, and the list of its modules. */
#ifndef PERFVCS_MEMORY_EVIDENCE_H
#define PERFVCS_MEMORY_EVIDENCE_H

#include "state.h"

/* Has the disk keep room, so that writing into the mapping cannot fail later; the descriptor is our own, the program may close any. */
static bool reserve(uint64_t from, uint64_t size)
{
    static const char nothing[4096];
    int file = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return false;
    bool done = !syscall(SYS_fallocate, file, 0, (off_t)from, (off_t)size);
    if (!done && (errno == EOPNOTSUPP || errno == ENOSYS)) {
        done = true;
        for (uint64_t at = 0; done && at < size; at += sizeof nothing)
            done = pwrite(file, nothing, sizeof nothing, (off_t)(from + at)) == sizeof nothing;
    }
    close(file);
    return done;
}

static bool begin_file(void)
{
    struct rlimit limit;
    start = now();
    snprintf(path, sizeof path, "%s/memory-%d-%llx.bin", folder, (int)syscall(SYS_getpid), (unsigned long long)start);
    if (getrlimit(RLIMIT_FSIZE, &limit) || (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < FILE_BYTES))
        return false; /* going on would be a signal */
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return false;
    void *memory = MAP_FAILED;
    if (!ftruncate(file, (off_t)FILE_BYTES) && reserve(0, HEADER + CHUNK) && reserve(HEADER + SITES_BYTES, CHUNK))
        memory = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED) {
        unlink(path);
        return false;
    }
    header = memory;
    sites = (struct site *)((char *)memory + HEADER);
    pool = (uint64_t *)((char *)memory + HEADER + SITES_BYTES);
    sites_room = pool_room = CHUNK;
    header->version = VERSION;
    header->pid = (uint32_t)syscall(SYS_getpid);
    header->sites = 1;
    header->width = 1;
    next_bin = 1;
    bin = 0;
    memcpy(header->magic, "PVCSHEAP", 8);
    return true;
}

struct scan {
    int file;
    uint32_t number;
};

static void write_all(int file, const char *text, size_t size)
{
    while (size) {
        ssize_t done = write(file, text, size);
        if (done <= 0)
            return;
        text += done;
        size -= (size_t)done;
    }
}

static int write_module(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    struct scan *scan = data;
    char text[PATH_MAX + 128], own[PATH_MAX];
    const char *name = info->dlpi_name;
    uint64_t low = ~0ull, high = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD) {
            low = info->dlpi_addr + part->p_vaddr < low ? info->dlpi_addr + part->p_vaddr : low;
            uint64_t end = info->dlpi_addr + part->p_vaddr + part->p_memsz;
            high = end > high ? end : high;
        }
    }
    if (!name || !*name) {
        ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
        own[length > 0 ? length : 0] = 0;
        name = low <= (uint64_t)(uintptr_t)info->dlpi_phdr && (uint64_t)(uintptr_t)info->dlpi_phdr < high ? own : "";
    } else if (*name != '/' && realpath(name, own)) {
        name = own;
    }
    int length = snprintf(text, sizeof text, "%u %llx %llx %llx %s", scan->number, (unsigned long long)info->dlpi_addr,
                          (unsigned long long)low, (unsigned long long)high, name);
    if (length > 0 && (size_t)length < sizeof text)
        write_all(scan->file, text, (size_t)length + 1); /* each ends with a NUL */
    return 0;
}

static int note_changes(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    uint64_t *found = data;
    found[0] = info->dlpi_adds;
    found[1] = info->dlpi_subs;
    return 1;
}

static int open_modules(void)
{
    char name[sizeof path];
    size_t length = strlen(path);
    memcpy(name, path, length + 1);
    memcpy(name + length - 3, "map", 3);
    return open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* Note which modules are where, when that has changed. Called without our lock: the loader's own is taken here, and whoever has it may
   be waiting for ours. */
static void look_at_modules(bool anyway)
{
    uint64_t found[2] = {0, 0};
    dl_iterate_phdr(note_changes, found);
    if (!anyway && found[0] == adds && found[1] == subs)
        return;
    if (pthread_mutex_trylock(&looking))
        return;
    struct scan scan = {open_modules(), (scans + 1) & 0xffff};
    if (scan.file >= 0) {
        dl_iterate_phdr(write_module, &scan);
        close(scan.file);
        adds = found[0];
        subs = found[1];
        __atomic_store_n(&scans, scan.number, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&looking);
}

#endif
