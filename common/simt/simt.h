/*
 * simt.h - the private structures of the CPU backend, shared by the files of this folder.
 *
 *   grid.cc            checks a launch, deals its blocks to OS threads
 *   os_threads.cc      those OS threads
 *   block.cc           runs one block: rounds over its warps, the barrier, deadlock
 *   fiber.cc, fiber.h  stacks, the start and end of a CUDA thread; handing over to the next
 *   switch_*.S         the context switch itself
 *   warp.cc            shuffles, votes, matches, reductions
 *   mma.cc, wgmma.cc, async_copy.cc, mbarrier.cc, atomics.cc   the instructions of those names
 *   tensor_core.cc, tensor_core.h   the arithmetic of mma.cc and wgmma.cc
 *   tensor_map.cc      tiles of a matrix, for bulk copies
 *   memory.cc          device memory
 *   shared_memory.cc   a block's shared memory
 *   fault.cc           signals, misaligned accesses and the time limit
 *   report.cc          the text of a failure
 *   source_line.cc     from code address to source line
 *   symbols.cc         the program's own symbol table
 *   runtime_api.cc, device.cc, stream.cc   the cuda* functions
 *
 * How it works. A CUDA thread is a fiber: a stack of its own, switched by a dozen instructions. A
 * block stays on one OS thread from start to end, so its __shared__ variables can be thread-local
 * ones. The lanes of a warp run one after the other, each until it has to wait; the last lane to
 * arrive at a warp-wide function computes the result for all. A kernel that never waits needs one
 * stack a warp: a lane that ends hands its stack to the next one. The blocks of a cluster run on one OS
 * thread, too, as one large block with a barrier and dynamic shared memory for each.
 *
 * Counters, memcheck and racecheck are in common/profiler. In the traced twin of a program they
 * stand between the kernels and this backend (include/simt/trace.h). They are told of launches, blocks
 * and device memory through `simt_observer`, and hear of every access from the compiler's
 * instrumentation of the kernels. The files here are the same in both programs.
 */
#ifndef SIMT_SIMT_H
#define SIMT_SIMT_H

#include <cuda_runtime.h>

#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim
#undef __noinline__

struct warp;
struct worker;

enum {
    WARP_LANES = 32,
    MAX_BLOCK_THREADS = 1024,
    MAX_OS_THREADS = 1024,
    MAX_CLUSTER = 8,    /* blocks */
    MAX_THREADS = 3072, /* of a block, or of a cluster together: eight blocks of 384 */
    MAX_WARPS = MAX_THREADS / WARP_LANES,
    SHARED_DEFAULT_BYTES = 48 << 10, /* without cudaFuncSetAttribute */
    SHARED_OPTIN_BYTES = 227 << 10,
    MULTIPROCESSORS = 132,
};

/* One CUDA thread. It lies at the high end of the stack it runs on, beside the frames in use. */
struct alignas(64) lane {
    void *sp; /* where it left off, while another fiber runs */
    warp *home;
    lane *successor;  /* who went on when this lane last waited: very likely the same again */
    unsigned index;   /* 0..31 in its warp */
    uint32_t bit;     /* 1 << index */
    unsigned number;  /* in its block, or cluster */
    unsigned rank;    /* of its block in the cluster */
    uint3 thread;     /* threadIdx */
    const void *site; /* where it waits, or last waited */
};

/* A function that the lanes of a warp perform together. `combine` turns w->in of the given lanes
 * into w->out. */
struct collective {
    const char *name;
    void (*combine)(warp *w, uint32_t lanes);
};

/* Lanes waiting for each other in a collective. */
struct meeting {
    uint32_t mask;
    uint32_t arrived; /* 0: nobody waits */
    const collective *what;
};

struct warp {
    unsigned number;
    /* Sets of lanes. Those in none of the next five wait in a meeting. */
    uint32_t present;     /* all lanes of the warp: fewer than 32 in the last warp of some blocks */
    uint32_t fresh;       /* not yet started */
    uint32_t ready;       /* can run, or runs */
    uint32_t at_barrier;  /* wait in __syncthreads */
    uint32_t at_mbarrier; /* wait for a phase of a barrier in shared memory */
    uint32_t exited;
    uint32_t open; /* meetings somebody waits in */
    lane *lanes[WARP_LANES];
    uint64_t in[WARP_LANES], out[WARP_LANES]; /* what a lane brings to and takes from a meeting */
    uint8_t from[WARP_LANES];                 /* the lane a shuffle reads from */
    /* A new one is at the number of its mask's lowest lane if that is free. */
    meeting meetings[WARP_LANES];
};

/* Why a launch was abandoned. */
struct failure {
    cudaError_t error;   /* cudaSuccess: nothing failed */
    const lane *culprit; /* NULL: the block as a whole */
    const void *site;    /* the code address to blame, NULL if there is none */
    bool show_waiting;   /* list who waits where */
    char what[1024];
};

/* A piece of the thread-local block. */
struct shared_range {
    size_t offset, bytes;
};

struct launch {
    simt_launch_config config;
    const shared_range *shared; /* the static __shared__ variables that its kernel can reach */
    size_t shared_ranges;
    void (*entry)(void *);
    void *arguments; /* argument_bytes of them, for the kernel's eyes only */
    size_t argument_bytes;
    unsigned cluster;       /* blocks that run together: all is counted in these from here on */
    unsigned block_threads; /* of a cluster */
    uint64_t blocks;        /* clusters */
    int threads;            /* OS threads that may share them */
    uint64_t next;          /* the first block nobody has taken; atomic */
    int stop;               /* set once an error has been found; atomic */
};

/* A barrier of a block or of a cluster: who waits, what they voted; and the same for those released last. */
struct thread_barrier {
    unsigned threads, exited; /* that it is for; of them */
    unsigned waiting, votes;
    unsigned released_threads, released_votes;
    const void *site;
    bool sites_differ;
};

/* A signal that arrived while a lane ran. */
struct fault {
    int signal; /* 0: none */
    int code;
    uintptr_t address;
    bool on_stack_guard; /* the address is that of a stack's guard page */
    /* Where it was, then return addresses: the kernel's own code is among them. */
    const void *sites[16];
    int site_count;
};

/* An OS thread and the block it runs. */
struct worker {
    lane *running;      /* NULL: the scheduler */
    void *scheduler_sp; /* while a lane runs */
    launch *job;        /* NULL between launches */
    uint3 block;        /* the first of a cluster */
    uint64_t block_number;
    uint64_t blocks_started; /* in this process: shows the watch that something moves */
    unsigned warps_used, threads_exited;
    unsigned atomics_since_switch; /* a lane that does nothing but atomics may be spinning */

    thread_barrier barriers[MAX_CLUSTER + 1]; /* one a block; then the cluster's */

    const void *async_site; /* the asynchronous copy being carried out, NULL if none is */
    unsigned char *shared, *shared_end; /* dynamic shared memory: one block's after the other */
    unsigned char *thread_local_block;  /* what static __shared__ variables are offsets into */
    size_t thread_local_bytes;
    struct async_queue *async_queues; /* one a thread of the block, NULL until first used */
    struct mbarrier_board *mbarriers; /* NULL until first used */
    struct wgmma_queue *wgmma_queues; /* one a warp; NULL until first used */

    lane *stacks[MAX_THREADS];      /* all there are */
    lane *idle_stacks[MAX_THREADS]; /* those no lane runs on */
    unsigned stack_count, idle_count;
    uintptr_t stack_low[MAX_WARPS], stack_high[MAX_WARPS]; /* their slabs, one for 32 stacks */

    failure failed;
    struct fault fault;
    volatile int timed_out;
    uint64_t watched_block;  /* what blocks_started was at the last tick of the watch */
    long long watched_since; /* and since when, in nanoseconds of its thread */
    int os_thread;           /* whom to send signals */
    void *signal_stack;
    warp warps[MAX_WARPS];
};

extern __thread worker *simt_worker; /* of this OS thread; NULL until it first runs a block */
extern worker *simt_workers[MAX_OS_THREADS]; /* those that have run something; atomic */

/* From the environment: SIMT_THREADS, SIMT_ORDER, SIMT_TIMEOUT, SIMT_DEVICES, SIMT_CAPABILITY; see cuda_runtime_api.h. */
struct settings {
    int threads;         /* OS threads */
    bool reverse;        /* lanes, warps and blocks in descending order */
    int timeout;         /* seconds a block may run, 0: for ever */
    bool timeout_chosen; /* by the user; else the default */
    int devices;         /* that cudaGetDeviceCount tells of */
    int capability;      /* 90: of whose limits they are, and whose instructions they have */
};
extern settings simt_settings;

/* blockIdx of a lane; of the first block of a cluster where it is NULL. */
static inline uint3 simt_block_of(const worker *self, const lane *t)
{
    return {self->block.x + (t ? t->rank : 0), self->block.y, self->block.z};
}

#define SIMT_CALLER __builtin_return_address(0)

/* Worker number i < simt_settings.threads, or NULL. */
static inline worker *simt_worker_number(int i)
{
    return __atomic_load_n(&simt_workers[i], __ATOMIC_ACQUIRE);
}

static inline unsigned lowest(uint32_t set)
{
    return (unsigned)__builtin_ctz(set);
}

/* Observer of launches, blocks and device memory; NULL in a program that is not traced. */
struct observer {
    void (*launch_begins)(const launch *job);
    void (*launch_ends)(const launch *job);
    /* Whether the block shall run: an observer may content itself with some. */
    bool (*block_begins)(worker *self);
    void (*block_ends)(worker *self);
    /* No lane of `w` goes on for now: each waits, has exited or has yielded. */
    void (*warp_stops)(worker *self, warp *w);
    /* A bulk copy has arrived; a phase of a barrier in shared memory has ended. */
    void (*bulk_arrived)(const void *shared, size_t bytes);
    /* A product of the running lane's warp, started at `site`, has read its part of an operand. */
    void (*product_done)(const struct simt_wgmma_part *part, const void *site);
    void (*phase_ended)(const void *barrier);
    /* self->failed says why the launch is abandoned. Whether the observer tells the user: else it
     * is printed. */
    bool (*failed)(const worker *self);
    /* Tells of device memory, on behalf of the host. */
    void (*allocated)(const void *start, size_t bytes);
    void (*freed)(const void *start, size_t bytes);
    void (*written)(const void *to, size_t bytes);
    void (*copied)(const void *to, const void *from, size_t bytes);
    /* The same once more, when the copy is part of a stream; from is NULL for a fill. */
    void (*moved)(const void *to, const void *from, size_t bytes, cudaStream_t stream);
};
extern const observer *simt_observer;

/* ---- running: grid.cc, os_threads.cc, block.cc, fiber.cc, warp.cc --------------------------- */

/* One OS thread's share of a launch; number 0 is the one that launched. */
void simt_work(launch *job, int index);
/* The same on all of job->threads; returns when all blocks are done. */
void simt_work_together(launch *job);

/* Runs one block; false if it failed, with the reason in self->failed. */
bool simt_run_block(worker *self, uint64_t number);

/* Gives the worker stacks for a block of that many threads; false if there is no memory left. */
bool simt_stacks_open(worker *self, unsigned threads);
/* Makes the lane `index` of `w` start on an idle stack. */
lane *simt_start_lane(worker *self, warp *w, unsigned index);
/* Forgets every lane: all stacks become idle. */
void simt_abandon_lanes(worker *self);
/* The lane at the end of the stack that holds the address, NULL if none does; and whether the
 * address is that of the stack's guard page. */
const lane *simt_stack_holding(const worker *self, uintptr_t address, bool *guard);

/* Waits until all live lanes of `mask` are here, then returns this lane's w->out. */
uint64_t simt_meet(uint32_t mask, uint64_t value, const collective *what, const void *site);
/* Ends the meeting. `stay` are lanes that are ready as it is. */
void simt_conclude(warp *w, meeting *m, uint32_t stay);

/* The functions of these names in include/simt, for a call from `site`. */
extern "C" {
uint64_t simt_shuffle_at(uint32_t mask, uint64_t value, int operand, int width, simt_collective how,
                         const void *site);
uint64_t simt_vote_at(uint32_t mask, uint64_t value, simt_collective how, const void *site);
int simt_syncthreads_at(int predicate, simt_barrier how, const void *site);
void simt_cluster_sync_at(const void *site);
}
uint64_t simt_atomic_at(void *address, uint64_t operand, uint64_t compare, simt_atomic_op op,
                        const void *site);
void simt_mma_at(simt_mma_kind kind, float d[4], const uint32_t *a, const uint32_t *b,
                 const float c[4], const void *site);
void simt_mma_sp_at(simt_mma_kind kind, float d[4], const uint32_t *a, const uint32_t *b,
                    uint32_t metadata, int selector, const void *site);
void simt_ldmatrix_at(uint32_t *fragments, const void *row, int count, bool transposed,
                      const void *site);
/* "All 32 lanes must take part": a failure if they do not. */
void simt_need_all_lanes(const warp *w, uint32_t lanes, const char *what);
/* Operands of a product: descriptors of shared memory, unless A is in registers. */
struct simt_wgmma_operands {
    const uint32_t *registers; /* A's, or NULL */
    uint64_t a, b;
};
void simt_wgmma_at(float *d, const simt_wgmma_operands *operands, const simt_wgmma_shape *shape,
                   const void *site);
void simt_wgmma_wait_at(int pending, const void *site);
/* The part of an operand in shared memory that a warp reads: of each row, pieces of 16 bytes from `first` on. No rows:
 * nothing. */
struct simt_wgmma_part {
    uint64_t operand;
    bool across;
    int rows, first, pieces;
};
enum { SIMT_WGMMA_OPERANDS = 2 };
/* The parts of A and of B, for the running lane's warp. */
void simt_wgmma_parts(const simt_wgmma_operands *operands, const simt_wgmma_shape *shape,
                      simt_wgmma_part parts[SIMT_WGMMA_OPERANDS]);
/* Where piece `piece` of row `row` lies. */
const void *simt_wgmma_piece(const worker *self, const simt_wgmma_part *part, int row, int piece);
/* All threads of the block have ended: false, with the reason in self->failed, if a product is still on its way. */
bool simt_wgmma_finish(worker *self);
void simt_wgmma_forget(worker *self);
void simt_async_copy_start_at(void *shared, const void *global, int bytes, int source_bytes,
                              const void *site);
void simt_mbarrier_init_at(void *barrier, unsigned arrivals, const void *site);
void simt_mbarrier_arrive_at(void *barrier, unsigned bytes, const void *site);
void simt_mbarrier_wait_at(void *barrier, unsigned parity, const void *site);
void *simt_peer(const void *shared, unsigned rank, const char *what, const void *site);
void simt_bulk_copy_at(void *shared, const void *global, unsigned bytes, void *barrier,
                       const void *site);
void simt_tensor_copy_at(void *shared, const simt_tensor_map *map, int row, int column,
                         void *barrier, unsigned blocks, const void *site);

/* ---- memory: memory.cc, shared_memory.cc, async_copy.cc, mbarrier.cc ------------------------ */

cudaError_t simt_memory_allocate(void **pointer, size_t bytes);
cudaError_t simt_memory_free(void *pointer);
void simt_memory_free_all(void);
/* Around what launches, copies and fills do with device memory: a no-op unless the host is kept out
 * of it (simt_host_access). They nest. */
void simt_memory_open(void);
void simt_memory_close(void);
/* Whether copies between host and device are forbidden. */
bool simt_memory_is_sealed(void);
bool simt_memory_holds(const void *pointer);
/* Whether the range lies in one live allocation. */
bool simt_memory_valid(const void *pointer, size_t bytes);
/* The live or freed allocation at or around the address; its number is 0 if there is none. */
struct device_array {
    uintptr_t start;
    size_t bytes;
    unsigned number; /* 1, 2, ... in order of allocation */
    bool freed;
};
device_array simt_memory_find(uintptr_t address);
/* All device memory lies in `bytes` from here; 0 until the first allocation. */
uintptr_t simt_memory_begin(size_t *bytes);
/* "8 bytes after the end of allocation 3 (512 bytes)" */
void simt_memory_describe(uintptr_t address, char *text, size_t size);
/* Host memory the machine has, and has left. */
void simt_host_memory(size_t *available, size_t *total);

/* Gives the worker its dynamic shared memory; false if the machine has no memory left. */
bool simt_shared_open(worker *self);
/* Fills the block's shared memory with 0xFF, so that nothing of the last block can be read. */
void simt_shared_poison(worker *self);
bool simt_shared_holds(const worker *self, const void *pointer, size_t bytes);
/* Dynamic shared memory of one block of the cluster. */
static inline unsigned char *simt_block_shared(const worker *self, unsigned rank)
{
    return self->shared + (size_t)(self->shared_end - self->shared) / self->job->cluster * rank;
}

/* The running thread has ended: what it copied arrives. Only if there are queues. */
void simt_async_finish(worker *self);
void simt_async_forget(worker *self);
/* All threads of the block have ended: false, with the reason in self->failed, if a bulk copy is
 * still on its way. */
bool simt_mbarriers_finish(worker *self);
void simt_mbarriers_forget(worker *self);

/* Tiles of a matrix: tensor_map.cc. Bytes of a box; what is wrong with a copy of it, by the running lane; the copy. */
size_t simt_tensor_bytes(const simt_tensor_map *map);
void simt_tensor_check(const worker *self, const void *shared, const simt_tensor_map *map,
                       int column, const void *site);
void simt_tensor_box(const worker *self, void *shared, const simt_tensor_map *map, int row,
                     int column);

/* ---- failures: report.cc, fault.cc, source_line.cc, symbols.cc ----------------------------- */

/* Abandons the block: the running lane did what `format` says at code address `site`. */
[[noreturn]] void simt_fail(cudaError_t error, const void *site, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same where devices have less than this compute capability. */
void simt_need_capability(int least, const void *site, const char *what);
/* The same, blaming another lane of its warp. */
[[noreturn]] void simt_fail_lane(cudaError_t error, const lane *culprit, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Notes a failure that the scheduler found. */
void simt_note_failure(worker *self, cudaError_t error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Prints and keeps the report of self->failed. */
void simt_report(worker *self);

/* Once a process; once a thread. */
void simt_faults_install(void);
void simt_faults_prepare_thread(worker *self);
/* Turns self->fault into self->failed. */
void simt_fault_to_failure(worker *self);
/* Starts and stops the watch over the workers of a launch. */
void simt_watch_begin(void);
void simt_watch_end(void);
/* Takes a lane of this worker off its stack if one runs on and on. */
void simt_interrupt(const worker *other);
/* Abandons the block: the running lane has seen at code address `site` that self->timed_out. */
[[noreturn]] void simt_leave_timed_out(const void *site);

/* "labs/02_warp_per_row/lab.cu:41"; false: "an unknown line (0x... in the program)". */
bool simt_source_line(const void *site, char *text, size_t size);
/* Whether a code address belongs to a kernel, not to this backend or the device wrappers. */
bool simt_is_kernel_code(const void *site);
/* Picks, among the places where a lane stopped, innermost first, the one in the kernel. If there is none,
 * `otherwise`, or if that is NULL the first place of which nothing is known, or NULL. */
const void *simt_guilty_site(const void *const *sites, int count, const void *otherwise);
/* Whether two code addresses come from one place in the source, inlining included. */
bool simt_same_source_line(const void *a, const void *b);

/* Where the program was loaded: address in memory less address in its file. */
uintptr_t simt_load_address(void);
bool simt_in_program_text(uintptr_t address);
bool simt_in_program_data(uintptr_t address);
/* "results[3]", of a variable of the program, counted in elements of `element` bytes. False: none is there. */
bool simt_variable_at(uintptr_t address, unsigned element, char *text, size_t size);
/* Whether a variable of the program is in global memory: a kernel stores to it, now or before, or it is
 * larger than constant memory can be. Of others nothing tells __device__ from __constant__. */
bool simt_is_device_variable(uintptr_t address, bool stores);
/* Where the program begins in memory: what lies in it is as far from there in every run. */
uintptr_t simt_program_begin(void);

/* The static __shared__ variables that a kernel can reach, as offsets into the thread-local block: those of its
 * source file, since nvcc links no __device__ function of another one, and those of inline functions. All of the
 * program's where the kernel is NULL or its file unknown. */
const shared_range *simt_static_shared(const void *kernel, size_t *count);
/* All of the program one by one, in ascending order: "tile" of "void f<4>(float*)". */
struct shared_variable {
    size_t offset, bytes;
    const char *name, *function;
};
const shared_variable *simt_shared_variables(size_t *count);
/* Whether this is a byte by which g++ tells if a variable has been constructed (it does so for some
 * arrays of __half). The program's source knows nothing of it. */
bool simt_is_shared_guard(size_t offset);
/* "reduce<256>": the name of the kernel at that address, or `otherwise` if it is NULL or
 * unknown. */
void simt_kernel_name(const void *kernel, const char *otherwise, char *text, size_t size);
/* The size of a kernel's own ones, 0 if it is NULL. Those of the __device__ functions that it calls
 * are not in it: nothing here tells which these are. */
size_t simt_static_shared_bytes(const void *kernel);
/* This OS thread's thread-local block of the program. */
unsigned char *simt_thread_local_block(size_t *bytes);

/* ---- runtime_api.cc ------------------------------------------------------------------------ */

/* Records an error of a call and returns it. */
cudaError_t simt_error(cudaError_t error);
/* Shared memory that a block of these devices may ask for, and what a multiprocessor has; threads that it holds. */
struct capability_limits {
    int shared_optin_bytes, sm_shared_bytes, sm_threads;
};
const capability_limits &simt_limits(void);
/* Notes a call that is no launch: see simt/host_calls.h. */
void simt_count_host_call(void);
/* The error a failed kernel left, cudaSuccess if none did. */
cudaError_t simt_sticky_error(void);
void simt_set_sticky_error(cudaError_t error);
/* The dynamic shared memory a kernel may ask for. */
size_t simt_dynamic_limit(const void *kernel);

/* ---- stream.cc ----------------------------------------------------------------------------- */

/* Notes one more piece of work in the stream: a launch, a copy or a fill. An error: there is no such
 * stream. */
cudaError_t simt_enqueued(cudaStream_t stream);
/* The number of the stream's last piece of work, counted from 1. */
uint64_t simt_work_number(cudaStream_t stream);
/* Whether what is enqueued on `stream` now comes after piece `number` of `other`: the stream waits for it, or the host has
 * waited. */
bool simt_comes_after(cudaStream_t stream, cudaStream_t other, uint64_t number);

/* ---- switch_*.S ---------------------------------------------------------------------------- */

extern "C" {
/* Saves the running context in *save and goes on where `to` was saved. */
void simt_switch(void **save, void *to);
/* The same without a way back. */
[[noreturn]] void simt_leave(void *to);
/* The same, to be entered from a signal handler's changed context. */
[[noreturn]] void simt_escape(void *to);
/* A context that, when switched to, calls entry() on an empty stack ending at `top`. */
void *simt_prepare(void *top, void (*entry)(void));
}

#endif
