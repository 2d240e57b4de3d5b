/* Where recorded functions return to.

   A recorded call's return address is replaced by the address of a slot; the slot's number leads to the true address, which stands at
   the same place of a table behind the slots. Unwinders find the table too, by the description (CFI) that the slots carry: the
   return address is at [slot + size of the slots]. So exceptions, thread cancellation and debuggers pass through recorded calls
   whoever unwinds, and nothing has to be put back for them. */
#pragma once

#define SLOTS 131072
#define TABLE_OFFSET 0x100000 /* SLOTS * 8; below as ULEB128 80 80 40 */

extern uint8_t perfvcs_slots[] __attribute__((visibility("hidden")));
void perfvcs_dummy(void) __attribute__((visibility("hidden")));
void perfvcs_plain(void) __attribute__((visibility("hidden")));
void perfvcs_nested(uint64_t depth) __attribute__((visibility("hidden")));
void perfvcs_nested_plain(uint64_t depth) __attribute__((visibility("hidden")));

/* Saved below the return address at a call of __fentry__: what a function may get in registers. r10 is the static chain of nested
   functions, rax tells variadic functions how many vector registers hold arguments; vector registers are never touched. */
__asm__(".text\n"
        ".p2align 4\n"
        ".globl __fentry__\n"
        ".type __fentry__, @function\n"
        "__fentry__:\n"
        "perfvcs_enter:\n"
        ".cfi_startproc\n"
        "    endbr64\n"
        /* a call from a function that is known not to be selected is over here */
        "    push %rax\n"
        ".cfi_adjust_cfa_offset 8\n"
        "    mov 8(%rsp), %rax\n"
        "    shr $4, %rax\n"
        "    and $4095, %eax\n"
        "    lea unselected(%rip), %r11\n"
        "    mov (%r11,%rax,8), %r11\n"
        "    cmp %r11, 8(%rsp)\n"
        "    pop %rax\n"
        ".cfi_adjust_cfa_offset -8\n"
        "    jne 1f\n"
        "    ret\n"
        "1:  sub $80, %rsp\n"
        ".cfi_adjust_cfa_offset 80\n"
        "    mov %rdi, 0(%rsp)\n"
        "    mov %rsi, 8(%rsp)\n"
        "    mov %rdx, 16(%rsp)\n"
        "    mov %rcx, 24(%rsp)\n"
        "    mov %r8, 32(%rsp)\n"
        "    mov %r9, 40(%rsp)\n"
        "    mov %rax, 48(%rsp)\n"
        "    mov %r10, 56(%rsp)\n"
        "    mov %rsp, %rdi\n"
        "    mov 80(%rsp), %rsi\n"
        "    lea 88(%rsp), %rdx\n"
        "    call enter\n"
        "    mov 0(%rsp), %rdi\n"
        "    mov 8(%rsp), %rsi\n"
        "    mov 16(%rsp), %rdx\n"
        "    mov 24(%rsp), %rcx\n"
        "    mov 32(%rsp), %r8\n"
        "    mov 40(%rsp), %r9\n"
        "    mov 48(%rsp), %rax\n"
        "    mov 56(%rsp), %r10\n"
        "    add $80, %rsp\n"
        ".cfi_adjust_cfa_offset -80\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".size __fentry__, . - __fentry__\n"

        /* The slots. For unwinders a slot is a frame of its caller's size whose CFA is moved by an odd amount: libgcc tells frames
           apart by their CFA, and this one must not be taken for its caller. */
        ".section .text.slots, \"ax\", @progbits\n"
        ".p2align 12\n"
        ".type perfvcs_slots, @function\n"
        "perfvcs_slots:\n"
        ".cfi_startproc\n"
        ".cfi_escape 0x0f, 2, 0x77, 0x7c\n"                               /* CFA = rsp - 4 */
        ".cfi_escape 0x16, 7, 2, 0x77, 0\n"                               /* rsp = rsp */
        ".cfi_escape 0x10, 16, 7, 0x77, 0x78, 0x06, 0x23, 0x80, 0x80, 0x40\n" /* return address at [rsp - 8] + TABLE_OFFSET */
        ".rept 131072\n"
        "    .byte 0xe9\n"
        "    .long perfvcs_leave - . - 4\n"
        "    .byte 0xcc, 0xcc, 0xcc\n"
        ".endr\n"
        ".cfi_endproc\n"
        ".size perfvcs_slots, . - perfvcs_slots\n"
        "    .skip 0x100000\n" /* replaced by the table */

        /* After a recorded function: what it returned is in rax, rdx, vector and x87 registers. The last frame's word below the stack
           pointer is still the slot: signals leave 128 bytes there alone. */
        ".p2align 12\n"
        "perfvcs_leave:\n"
        ".cfi_startproc\n"
        ".cfi_undefined rip\n"
        "    mov -8(%rsp), %r11\n"
        "    sub $80, %rsp\n"
        ".cfi_adjust_cfa_offset 80\n"
        "    mov %rax, 0(%rsp)\n"
        "    mov %rdx, 8(%rsp)\n"
        "    mov %rcx, 16(%rsp)\n"
        "    mov %rsi, 24(%rsp)\n"
        "    mov %rdi, 32(%rsp)\n"
        "    mov %r8, 40(%rsp)\n"
        "    mov %r9, 48(%rsp)\n"
        "    mov %r10, 56(%rsp)\n"
        "    mov %r11, %rdi\n"
        "    lea 72(%rsp), %rsi\n"
        "    call leave\n"
        "    mov %rax, %r11\n"
        "    mov 0(%rsp), %rax\n"
        "    mov 8(%rsp), %rdx\n"
        "    mov 16(%rsp), %rcx\n"
        "    mov 24(%rsp), %rsi\n"
        "    mov 32(%rsp), %rdi\n"
        "    mov 40(%rsp), %r8\n"
        "    mov 48(%rsp), %r9\n"
        "    mov 56(%rsp), %r10\n"
        "    add $80, %rsp\n"
        ".cfi_adjust_cfa_offset -80\n"
        "    notrack jmp *%r11\n"
        ".cfi_endproc\n"

        /* What calibration calls: a function that does nothing, and one that calls itself, recorded and plain. */
        ".text\n"
        ".p2align 4\n"
        "perfvcs_dummy:\n"
        "    call perfvcs_enter\n"
        "perfvcs_dummy_site:\n"
        "    ret\n"
        ".p2align 4\n"
        "perfvcs_plain:\n"
        "    ret\n"
        ".p2align 4\n"
        "perfvcs_nested:\n"
        "    call perfvcs_enter\n"
        "perfvcs_nested_site:\n"
        "    dec %rdi\n"
        "    jz 1f\n"
        "    sub $8, %rsp\n"
        "    call perfvcs_nested\n"
        "    add $8, %rsp\n"
        "1:  ret\n"
        ".p2align 4\n"
        "perfvcs_nested_plain:\n"
        "    dec %rdi\n"
        "    jz 1f\n"
        "    sub $8, %rsp\n"
        "    call perfvcs_nested_plain\n"
        "    add $8, %rsp\n"
        "1:  ret\n"
        ".p2align 4\n");

extern const uint8_t perfvcs_dummy_site[] __attribute__((visibility("hidden")));
extern const uint8_t perfvcs_nested_site[] __attribute__((visibility("hidden")));
