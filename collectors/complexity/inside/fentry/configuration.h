/* What the recorder asks for: a file that collectors/complexity/native/fentry.py writes and that is mapped as it is. */
#pragma once

#include "system.h"

#define CONFIGURATION "PVCSFECF"
#define VERSION 1
#define NO_PROGRAM UINT32_MAX

enum { OUTERMOST = 1, PATCH = 2 };

struct configuration {
    char magic[8];
    uint32_t version, flags;
    uint32_t keep, functions;
    uint32_t objects, sites, nops, steps;
    uint64_t reserved;
};

struct object {
    uint64_t device, inode;
    uint32_t first_site, sites, first_nop, nops;
};

/* One call of __fentry__: where it returns to, counted from the start of the object. */
struct site {
    uint64_t offset;
    uint32_t function, program; /* program: index of the first step, or NO_PROGRAM */
};

struct step {
    uint16_t code, argument;
    uint32_t width; /* bytes; 0x100 is added for signed integers, 0x200 for floating point */
    int64_t value;
};

static const struct configuration *asked;
static const struct object *objects;
static const struct site *sites;
static const uint64_t *nops;
static const struct step *steps;

static bool configure(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (file < 0)
        return false;
    void *at = fstat(file, &about) || about.st_size < (off_t)sizeof *asked
                   ? MAP_FAILED
                   : mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (at == MAP_FAILED)
        return false;
    const struct configuration *read = at;
    uint64_t size = sizeof *read + read->objects * sizeof *objects + read->sites * sizeof *sites + read->nops * 8ull
                    + read->steps * sizeof *steps;
    if (memcmp(read->magic, CONFIGURATION, 8) || read->version != VERSION || size != (uint64_t)about.st_size)
        return false;
    asked = read;
    objects = (const struct object *)(read + 1);
    sites = (const struct site *)(objects + read->objects);
    nops = (const uint64_t *)(sites + read->sites);
    steps = (const struct step *)(nops + read->nops);
    return true;
}
