/*
 * switch_aarch64.S - the context switch for AArch64 (AAPCS64), and the doors through which a lane
 * enters the functions it may wait in.
 */
#ifdef __aarch64__
    .text

/* Registers that a called function must preserve: x19-x30 and the low halves of v8-v15. */
.macro save_context
    sub sp, sp, #160
    stp x19, x20, [sp]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
.endm

.macro restore_context
    ldp x19, x20, [sp]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
.endm

/* void simt_switch(void **save, void *to) */
    .globl simt_switch
    .hidden simt_switch
    .type simt_switch, %function
simt_switch:
    save_context
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    restore_context
    ret
    .size simt_switch, . - simt_switch

/* void simt_leave(void *to); and simt_escape, the same for a lane that a signal handler took out of
 * the middle of something: there is nothing to put in order first. */
    .globl simt_leave
    .hidden simt_leave
    .type simt_leave, %function
    .globl simt_escape
    .hidden simt_escape
    .type simt_escape, %function
simt_escape:
simt_leave:
    mov sp, x0
    restore_context
    ret
    .size simt_leave, . - simt_leave

/* void *simt_prepare(void *top, void (*entry)(void)): what simt_switch would have left, with the
 * return address `entry` and a zero frame pointer, where a debugger's backtrace ends. */
    .globl simt_prepare
    .hidden simt_prepare
    .type simt_prepare, %function
simt_prepare:
    sub x0, x0, #160
    mov x9, #0
2:  str xzr, [x0, x9]
    add x9, x9, #8
    cmp x9, #160
    b.lo 2b
    str x1, [x0, #88]
    ret
    .size simt_prepare, . - simt_prepare

/* A lane that goes on returns to another place than the one that just began to wait: `br` instead
 * of `ret` spares a mispredicted return. The door also passes on where it was called from, as the
 * last argument of the C++ function behind it. */
.macro door name, site_register
    .globl \name
    .type \name, %function
\name:
    .cfi_startproc
    mov \site_register, x30
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset 29, -16
    .cfi_offset 30, -8
    bl \name\()_at
    ldp x29, x9, [sp], #16
    .cfi_def_cfa_offset 0
    .cfi_restore 29
    .cfi_register 30, 9
    br x9
    .cfi_endproc
    .size \name, . - \name
.endm

    door simt_shuffle, x5
    door simt_vote, x3
    door simt_syncthreads, x2

#endif
    .section .note.GNU-stack, "", %progbits
