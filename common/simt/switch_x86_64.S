/*
 * switch_x86_64.S - the context switch for x86-64 (System V ABI), and the doors through which a
 * lane enters the functions it may wait in.
 */
#ifdef __x86_64__
    .text

/* void simt_switch(void **save, void *to): only what a called function must preserve is saved. */
    .globl simt_switch
    .hidden simt_switch
    .type simt_switch, @function
simt_switch:
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
    .size simt_switch, . - simt_switch

/* void simt_escape(void *to): simt_leave for a lane that a signal handler took out of the middle of
 * something. The ABI promises a clear direction flag and an empty x87 stack to compiled code.
 * (fninit takes as long as several switches.) */
    .globl simt_escape
    .hidden simt_escape
    .type simt_escape, @function
simt_escape:
    cld
    fninit
    jmp simt_leave
    .size simt_escape, . - simt_escape

/* void simt_leave(void *to) */
    .globl simt_leave
    .hidden simt_leave
    .type simt_leave, @function
simt_leave:
    mov %rdi, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
    .size simt_leave, . - simt_leave

/* void *simt_prepare(void *top, void (*entry)(void)): what simt_switch would have left, with the
 * return address `entry` and, above it, 0 for the return address of `entry` itself: there a
 * debugger's backtrace ends. */
    .globl simt_prepare
    .hidden simt_prepare
    .type simt_prepare, @function
simt_prepare:
    lea -64(%rdi), %rax
    pxor %xmm0, %xmm0
    movups %xmm0, (%rax)
    movups %xmm0, 16(%rax)
    movups %xmm0, 32(%rax)
    mov %rsi, 48(%rax)
    movq $0, 56(%rax)
    ret
    .size simt_prepare, . - simt_prepare

/* A lane that goes on returns to another place than the one that just began to wait, so a `ret`
 * would be mispredicted at every switch; an indirect jump has its own, better guess. The door also
 * passes on where it was called from, as the last argument of the C++ function behind it. */
.macro door name, site_register
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    mov (%rsp), \site_register
    sub $8, %rsp
    .cfi_adjust_cfa_offset 8
    call \name\()_at
    add $8, %rsp
    .cfi_adjust_cfa_offset -8
    pop %rcx
    .cfi_adjust_cfa_offset -8
    .cfi_register %rip, %rcx
    jmp *%rcx
    .cfi_endproc
    .size \name, . - \name
.endm

    door simt_shuffle, %r9
    door simt_vote, %rcx
    door simt_syncthreads, %rdx

#endif
    .section .note.GNU-stack, "", %progbits
