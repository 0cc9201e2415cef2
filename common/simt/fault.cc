/*
 * fault.cc - a kernel that crashes, one that reads or writes at a misaligned address, and one that
 * never ends.
 *
 * A crash (SIGSEGV, SIGBUS, SIGFPE, SIGILL) of a lane must not end the process. The handler notes
 * what happened and changes the interrupted context. So, when the handler returns, the processor
 * goes on in the scheduler instead of in the lane. Everything else - finding the source line,
 * printing - is done there, outside the handler.
 *
 * The same way out serves a lane that runs for ever. While a launch runs, a timer ticks; a worker
 * that has worked on one block for SIMT_TIMEOUT seconds of processor time is sent SIGURG. So are the other workers of a
 * launch that has failed. (SIGURG is ignored by default, so one that comes late does no harm.)
 * Under instruments the lane may just be in one of them, which must not be left half done: there it
 * looks for itself whether its time is over, in every basic block.
 */
#include "simt/simt.h"

#include <errno.h>
#include <mutex>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* ---- the interrupted context ---------------------------------------------------------------- */

#if defined(__x86_64__)
static uintptr_t code_address(const ucontext_t *c)
{
    return (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
}
static uintptr_t stack_pointer(const ucontext_t *c)
{
    return (uintptr_t)c->uc_mcontext.gregs[REG_RSP];
}
static void go_on_in_scheduler(ucontext_t *c, const worker *self)
{
    c->uc_mcontext.gregs[REG_RIP] = (greg_t)simt_escape;
    c->uc_mcontext.gregs[REG_RDI] = (greg_t)self->scheduler_sp;
}
#elif defined(__aarch64__)
static uintptr_t code_address(const ucontext_t *c)
{
    return c->uc_mcontext.pc;
}
static uintptr_t stack_pointer(const ucontext_t *c)
{
    return c->uc_mcontext.sp;
}
static void go_on_in_scheduler(ucontext_t *c, const worker *self)
{
    c->uc_mcontext.pc = (uintptr_t)simt_escape;
    c->uc_mcontext.regs[0] = (uintptr_t)self->scheduler_sp;
}
#else
#error "the CPU backend needs x86-64 or AArch64"
#endif

/* The lane on whose stack the processor was; NULL if no lane was running: then there is no
 * scheduler to go back to. */
static const lane *interrupted_lane(const worker *self, const ucontext_t *c)
{
    bool guard;
    return self && self->running ? simt_stack_holding(self, stack_pointer(c), &guard) : nullptr;
}

/* Collects where it stopped and, from the stack, what looks like return addresses into the program:
 * it may have stopped in the C library (memset on a bad pointer) or in this backend. */
static void collect_sites(struct fault *f, const ucontext_t *c, const lane *stack_end)
{
    const int most = sizeof f->sites / sizeof f->sites[0];
    uintptr_t at = code_address(c);
    f->site_count = 0;
    if (simt_in_program_text(at)) f->sites[f->site_count++] = (const void *)(at + 1);
    if (f->on_stack_guard) return; /* nothing there to read */
    const uintptr_t *word = (const uintptr_t *)stack_pointer(c);
    for (int i = 0; i < 64 && word + i < (const uintptr_t *)stack_end && f->site_count < most; i++)
        if (simt_in_program_text(word[i])) f->sites[f->site_count++] = (const void *)word[i];
}

static void leave_lane(worker *self, int signal, int code, uintptr_t address, ucontext_t *c,
                       const lane *stack_end)
{
    struct fault *f = &self->fault;
    f->code = code;
    f->address = address;
    simt_stack_holding(self, address, &f->on_stack_guard);
    collect_sites(f, c, stack_end);
    f->signal = signal;
    go_on_in_scheduler(c, self);
}

/* ---- crashes ------------------------------------------------------------------------------- */

static const int CRASHES[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
static struct sigaction before[4];

static void on_crash(int signal, siginfo_t *info, void *context)
{
    ucontext_t *c = (ucontext_t *)context;
    worker *self = simt_worker;
    const lane *stack_end = interrupted_lane(self, c);
    if (stack_end) {
        leave_lane(self, signal, info->si_code, (uintptr_t)info->si_addr, c, stack_end);
        return;
    }
    /* Host code crashed: it does so again when this returns, and then meets what was there before
     * this backend. */
    for (int i = 0; i < 4; i++)
        if (CRASHES[i] == signal) sigaction(signal, &before[i], nullptr);
}

static bool others_can_run(const worker *self)
{
    for (unsigned i = 0; i < self->warps_used; i++) {
        const warp *w = &self->warps[i];
        uint32_t me = w == self->running->home ? self->running->bit : 0;
        if ((w->ready | w->fresh) & ~me) return true;
    }
    return false;
}

void simt_fault_to_failure(worker *self)
{
    const struct fault &f = self->fault;
    if (self->failed.error) return; /* the lane was about to report something itself */
    self->failed.culprit = self->running;
    /* The time limit may meet a lane on its way back from a wait, its return address in a
     * register. */
    const void *last_wait = f.signal == SIGURG ? self->running->site : nullptr;
    self->failed.site =
        self->async_site ? self->async_site : simt_guilty_site(f.sites, f.site_count, last_wait);
    char where[512];
    switch (f.signal) {
    case SIGFPE:
        simt_note_failure(self, cudaErrorLaunchFailure,
                          "integer division by zero, or of the smallest integer by -1");
        return;
    case SIGILL:
        simt_note_failure(self, cudaErrorIllegalInstruction,
                          "illegal instruction: code that must not be reached, or a trap");
        return;
    case SIGURG:
        self->failed.show_waiting = true;
        simt_note_failure(
            self, cudaErrorLaunchTimeout,
            "time limit: this block has run for %d s (SIMT_TIMEOUT): an endless loop, "
            "or a thread waiting for what another one has yet to write%s",
            simt_settings.timeout,
            others_can_run(self) ? " (a loop of plain reads lets nobody else run; see "
                                   "cuda_runtime_api.h)"
                                 : "");
        return;
    }
    if (f.on_stack_guard) {
        simt_note_failure(self, cudaErrorHardwareStackError,
                          "stack overflow: a thread has 64 KB for its local variables and calls");
    } else if (f.signal == SIGSEGV && f.code == SI_KERNEL) {
        /* x86 does not tell which. */
        simt_note_failure(self, cudaErrorIllegalAddress,
                          "illegal address: one that no memory can have");
    } else {
        if (simt_memory_holds((const void *)f.address))
            simt_memory_describe(f.address, where, sizeof where);
        else if (f.address < 4096)
            snprintf(where, sizeof where, "a null pointer plus %zu bytes", (size_t)f.address);
        else if (f.address - (uintptr_t)self->shared_end < 1 << 20)
            snprintf(where, sizeof where,
                     "%zu bytes past the end of the block's dynamic shared memory (%zu bytes)",
                     (size_t)(f.address - (uintptr_t)self->shared) -
                         self->job->config.dynamic_shared_bytes,
                     self->job->config.dynamic_shared_bytes);
        else
            snprintf(where, sizeof where, "not device memory");
        simt_note_failure(self, cudaErrorIllegalAddress, "illegal address 0x%zx: %s",
                          (size_t)f.address, where);
    }
}

/* ---- misaligned accesses -------------------------------------------------------------------- */

/* The processor lets most of them pass, a GPU none. So the compiler checks each access
 * (-fsanitize=alignment) and calls this function, which libubsan has otherwise. */
struct type_mismatch {
    struct {
        const char *file;
        uint32_t line, column;
    } place;
    const void *type;
    unsigned char log_alignment, kind;
};

extern "C" void __ubsan_handle_type_mismatch_v1(const type_mismatch *mismatch, uintptr_t address)
{
    if (!simt_worker || !simt_worker->running) return; /* host code: as without the check */
    simt_fail(cudaErrorMisalignedAddress, SIMT_CALLER,
              "misaligned access: a vector's address must be a multiple of its size, and 0x%zx is "
              "none of %u",
              (size_t)address, 1u << mismatch->log_alignment);
}

/* ---- the watch ----------------------------------------------------------------------------- */

static timer_t watch;
static bool have_watch;

static void set_watch(long long nanoseconds)
{
    struct timespec t = {(time_t)(nanoseconds / 1000000000), (long)(nanoseconds % 1000000000)};
    struct itimerspec each = {t, t};
    timer_settime(watch, 0, &each, nullptr);
}

/* The processor time of a worker's thread: a loaded machine takes none of a block's time away. (The number is the
 * kernel's for the clock of a thread that is known by its id; pthread_getcpuclockid makes the same.) */
static long long worked(const worker *w)
{
    const unsigned thread = (unsigned)__atomic_load_n(&w->os_thread, __ATOMIC_RELAXED);
    struct timespec t = {};
    clock_gettime((clockid_t)(~thread << 3 | 6), &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Runs in whatever thread the timer's signal reached. */
static void tick(void)
{
    for (int i = 0; i < simt_settings.threads; i++) {
        worker *w = simt_worker_number(i);
        if (!w || !__atomic_load_n(&w->job, __ATOMIC_ACQUIRE)) continue;
        uint64_t block = __atomic_load_n(&w->blocks_started, __ATOMIC_RELAXED);
        const long long now = worked(w);
        if (block != w->watched_block) {
            w->watched_block = block;
            w->watched_since = now;
        } else if (now - w->watched_since >= simt_settings.timeout * 1000000000LL) {
            w->timed_out = 1;
            simt_interrupt(w);
            set_watch(10000000); /* again soon: the lane may just be inside the C library */
        }
    }
}

void simt_interrupt(const worker *other)
{
    syscall(SYS_tgkill, getpid(), __atomic_load_n(&other->os_thread, __ATOMIC_RELAXED), SIGURG);
}

static void on_interrupt(int, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    if (info->si_code == SI_TIMER) {
        tick();
        errno = saved_errno;
        return;
    }
    worker *self = simt_worker;
    ucontext_t *c = (ucontext_t *)context;
    /* Not in the C library, where the lane may hold a lock; not in the scheduler, which looks at
     * job->stop itself. Whoever sent this will send another. */
    const lane *stack_end = interrupted_lane(self, c);
    if (!simt_observer && stack_end && simt_in_program_text(code_address(c)) &&
        (self->timed_out || __atomic_load_n(&self->job->stop, __ATOMIC_RELAXED)))
        leave_lane(self, SIGURG, 0, 0, c, stack_end);
    errno = saved_errno;
}

void simt_leave_timed_out(const void *site)
{
    worker *self = simt_worker;
    self->fault.sites[0] = site;
    self->fault.site_count = 1;
    self->fault.signal = SIGURG;
    simt_leave(self->scheduler_sp);
}

void simt_watch_begin(void)
{
    if (have_watch) set_watch(simt_settings.timeout * 1000000000LL / 8);
}
void simt_watch_end(void)
{
    if (have_watch) set_watch(0);
}

/* ---- installation -------------------------------------------------------------------------- */

void simt_faults_install(void)
{
    static std::once_flag once;
    std::call_once(once, [] {
        struct sigaction action = {};
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
        sigfillset(&action.sa_mask);
        action.sa_sigaction = on_crash;
        for (int i = 0; i < 4; i++)
            sigaction(CRASHES[i], &action, &before[i]);
        action.sa_sigaction = on_interrupt;
        sigaction(SIGURG, &action, nullptr);
        struct sigevent event = {};
        event.sigev_notify = SIGEV_SIGNAL;
        event.sigev_signo = SIGURG;
        have_watch =
            simt_settings.timeout > 0 && timer_create(CLOCK_MONOTONIC, &event, &watch) == 0;
    });
}

void simt_faults_prepare_thread(worker *self)
{
    /* Handlers need a stack of their own: the lane's may be what overflowed. */
    const size_t bytes = 64 << 10;
    if (!self->signal_stack) {
        void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) return;
        self->signal_stack = p;
    }
    stack_t stack = {};
    stack.ss_sp = self->signal_stack;
    stack.ss_size = bytes;
    sigaltstack(&stack, nullptr);
}
