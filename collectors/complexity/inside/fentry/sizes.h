/* Sizes: small programs for a stack machine, run on the arguments of a call before the function begins. */
#pragma once

#include "configuration.h"

enum kind { NONE, SIGNED, UNSIGNED, REAL };

enum code {
    END,      /* argument: kind of the result */
    REGISTER, /* push the integer register `argument` (0 rdi, 1 rsi, 2 rdx, 3 rcx, 4 r8, 5 r9), cut to `width` */
    VECTOR,   /* push the floating-point register xmm`argument` as a double */
    STACK,    /* push the address of the stack's arguments plus `value` */
    CONSTANT, /* push `value` */
    LOAD,     /* replace an address by what stands `value` bytes behind it */
    ADD, SUBTRACT, MULTIPLY, DIVIDE, DIVIDE_UNSIGNED, SHIFT, /* of integers; SHIFT right by `value`, keeping the sign */
    BITS,     /* keep `width` bits */
    TO_REAL, TO_REAL_UNSIGNED, /* turn the number `argument` places below the top into a double */
    ADD_REAL, SUBTRACT_REAL, MULTIPLY_REAL, DIVIDE_REAL,
    IF_ZERO,  /* pop; when it was zero go on `value` steps further */
    JUMP,     /* go on `value` steps further */
    COPY,     /* push the top again */
};

enum { DEPTH = 16, PAGES = 4096 };

struct registers {
    uint64_t integer[6], rax, r10;
};

struct number {
    uint64_t bits;
    enum kind kind;
};

/* Pages that were seen to be there, since asking the kernel takes 60 ns. */
struct pages {
    uint64_t seen[PAGES];
    uint32_t unmapped; /* when they were */
};

static _Atomic uint32_t unmapped; /* how often memory was given back; what was seen before counts no more */

static bool mapped(struct pages *pages, uint64_t address, uint64_t width)
{
    if (address < 65536 || address + width > 0x7fffffffffffull)
        return false;
    uint32_t now = atomic_load_explicit(&unmapped, memory_order_relaxed);
    if (UNLIKELY(pages->unmapped != now)) {
        memset(pages->seen, 0, sizeof pages->seen);
        pages->unmapped = now;
    }
    for (uint64_t page = address >> 12; page <= (address + width - 1) >> 12; page++) {
        uint64_t *seen = &pages->seen[page % PAGES];
        if (LIKELY(*seen == page))
            continue;
        if (!readable(page << 12))
            return false;
        *seen = page;
    }
    return true;
}

static uint64_t cut(uint64_t value, uint32_t width)
{
    switch (width) {
    case 0x001: return (uint8_t)value;
    case 0x002: return (uint16_t)value;
    case 0x004: return (uint32_t)value;
    case 0x101: return (uint64_t)(int8_t)value;
    case 0x102: return (uint64_t)(int16_t)value;
    case 0x104: return (uint64_t)(int32_t)value;
    default: return value;
    }
}

/* Floating point by hand: the registers may hold arguments, and the flags of MXCSR are the program's. */
#define REAL_OPERATION(name, instruction)                                                                                              \
    static uint64_t name(uint64_t left, uint64_t right)                                                                                \
    {                                                                                                                                  \
        uint8_t saved[32] __attribute__((aligned(16)));                                                                                \
        uint32_t state;                                                                                                                \
        uint32_t masked = 0x1f80;                                                                                                      \
        __asm__ volatile("stmxcsr %[state]\n\tldmxcsr %[masked]\n\t"                                                                   \
                         "movups %%xmm0, (%[saved])\n\tmovups %%xmm1, 16(%[saved])\n\t"                                                \
                         "movq %[left], %%xmm0\n\tmovq %[right], %%xmm1\n\t" instruction "\n\t"                                        \
                         "movq %%xmm0, %[left]\n\t"                                                                                    \
                         "movups (%[saved]), %%xmm0\n\tmovups 16(%[saved]), %%xmm1\n\tldmxcsr %[state]"                                \
                         : [left] "+&r"(left), [state] "=m"(state)                                                                     \
                         : [right] "r"(right), [saved] "r"(saved), [masked] "m"(masked)                                                \
                         : "memory");                                                                                                  \
        return left;                                                                                                                   \
    }
REAL_OPERATION(add_real, "addsd %%xmm1, %%xmm0")
REAL_OPERATION(subtract_real, "subsd %%xmm1, %%xmm0")
REAL_OPERATION(multiply_real, "mulsd %%xmm1, %%xmm0")
REAL_OPERATION(divide_real, "divsd %%xmm1, %%xmm0")
REAL_OPERATION(real_of_signed, "cvtsi2sdq %[right], %%xmm0")
REAL_OPERATION(real_of_single, "cvtss2sd %%xmm1, %%xmm0")

static uint64_t real_of_unsigned(uint64_t value)
{
    if ((int64_t)value >= 0)
        return real_of_signed(0, value);
    uint64_t half = real_of_signed(0, value >> 1 | (value & 1));
    return add_real(half, half);
}

static uint64_t vector(unsigned number)
{
    uint64_t value = 0;
    switch (number) {
    case 0: __asm__ volatile("movq %%xmm0, %0" : "=r"(value)); break;
    case 1: __asm__ volatile("movq %%xmm1, %0" : "=r"(value)); break;
    case 2: __asm__ volatile("movq %%xmm2, %0" : "=r"(value)); break;
    case 3: __asm__ volatile("movq %%xmm3, %0" : "=r"(value)); break;
    case 4: __asm__ volatile("movq %%xmm4, %0" : "=r"(value)); break;
    case 5: __asm__ volatile("movq %%xmm5, %0" : "=r"(value)); break;
    case 6: __asm__ volatile("movq %%xmm6, %0" : "=r"(value)); break;
    case 7: __asm__ volatile("movq %%xmm7, %0" : "=r"(value)); break;
    }
    return value;
}

static bool load(struct pages *pages, uint64_t *top, const struct step *step)
{
    uint64_t address = *top + (uint64_t)step->value, width = step->width & 0xff;
    if (!mapped(pages, address, width))
        return false;
    if (step->width & 0x200) {
        *top = width == 4 ? real_of_single(0, *(const uint32_t *)address) : *(const uint64_t *)address;
        return true;
    }
    switch (width) {
    case 1: *top = *(const uint8_t *)address; break;
    case 2: *top = *(const uint16_t *)address; break;
    case 4: *top = *(const uint32_t *)address; break;
    default: *top = *(const uint64_t *)address; break;
    }
    *top = cut(*top, step->width);
    return true;
}

static bool divide(uint64_t *left, uint64_t right, bool has_sign)
{
    if (!right || (has_sign && *left == 1ull << 63 && right == ~0ull))
        return false;
    *left = has_sign ? (uint64_t)((int64_t)*left / (int64_t)right) : *left / right;
    return true;
}

/* The size of a call; of kind NONE where the expression has no value: a pointer to nothing, a division by zero. */
static struct number evaluate(uint32_t program, const struct registers *registers, uint64_t stack, struct pages *pages)
{
    const struct number none = {0, NONE};
    uint64_t values[DEPTH], *top = values - 1;
    if (program == NO_PROGRAM)
        return none;
    const struct step *step = steps + program;
    if (LIKELY(step->code == REGISTER)) { /* most sizes: an argument, or a member behind a pointer */
        *++top = cut(registers->integer[step->argument], step->width);
        step++;
        if (step->code == LOAD && !load(pages, top, step++))
            return none;
    }
    for (;; step++) {
        switch ((enum code)step->code) {
        case END: return (struct number){*top, step->argument};
        case REGISTER: *++top = cut(registers->integer[step->argument], step->width); break;
        case VECTOR:
            *++top = vector(step->argument);
            if (step->width == 0x204)
                *top = real_of_single(0, *top);
            break;
        case STACK: *++top = stack + (uint64_t)step->value; break;
        case CONSTANT: *++top = (uint64_t)step->value; break;
        case LOAD:
            if (!load(pages, top, step))
                return none;
            break;
        case ADD: top--, top[0] += top[1]; break;
        case SUBTRACT: top--, top[0] -= top[1]; break;
        case MULTIPLY: top--, top[0] *= top[1]; break;
        case DIVIDE:
        case DIVIDE_UNSIGNED:
            top--;
            if (!divide(top, top[1], step->code == DIVIDE))
                return none;
            break;
        case SHIFT: *top = (uint64_t)((int64_t)*top >> step->value); break;
        case BITS: *top = step->width & 0x100 ? (uint64_t)((int64_t)(*top << (64 - (step->width & 0xff))) >> (64 - (step->width & 0xff)))
                                              : *top << (64 - step->width) >> (64 - step->width); break;
        case TO_REAL: top[-step->argument] = real_of_signed(0, top[-step->argument]); break;
        case TO_REAL_UNSIGNED: top[-step->argument] = real_of_unsigned(top[-step->argument]); break;
        case ADD_REAL: top--, top[0] = add_real(top[0], top[1]); break;
        case SUBTRACT_REAL: top--, top[0] = subtract_real(top[0], top[1]); break;
        case MULTIPLY_REAL: top--, top[0] = multiply_real(top[0], top[1]); break;
        case DIVIDE_REAL: top--, top[0] = divide_real(top[0], top[1]); break;
        case IF_ZERO:
            if (*top-- == 0)
                step += step->value;
            break;
        case JUMP: step += step->value; break;
        case COPY: top++, top[0] = top[-1]; break;
        default: return none;
        }
    }
}

enum { BUCKETS = 516 }; /* no size, zero; sign and 64 doublings in quarters for either side of it; huge and tiny fall into the last */

/* The bucket of a size, each a quarter of a doubling. */
static uint32_t bucket(struct number size)
{
    uint32_t quarter;
    bool negative = size.kind != UNSIGNED && (int64_t)size.bits < 0;
    if (size.kind == NONE)
        return 0;
    if (size.kind == REAL) {
        int64_t exponent = (int64_t)((size.bits >> 50) & 0x1fff) - 4 * 1023 + 4 * 8; /* from 1/256 on */
        if (!(size.bits << 1))
            return 1;
        quarter = exponent < 0 ? 0 : exponent > 255 ? 255 : (uint32_t)exponent;
    } else {
        uint64_t value = negative ? 0 - size.bits : size.bits;
        if (!value)
            return 1;
        uint32_t exponent = 63 - (uint32_t)__builtin_clzll(value);
        quarter = exponent * 4 + (uint32_t)(exponent >= 2 ? value >> (exponent - 2) & 3 : value << (2 - exponent) & 3);
    }
    return 2 + quarter + (negative ? 256 : 0);
}
