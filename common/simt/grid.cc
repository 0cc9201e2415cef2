/*
 * grid.cc - a kernel launch: checks its configuration, deals the blocks to OS threads, collects the
 * outcome.
 *
 * Blocks are dealt in ascending order from one counter. Which OS thread runs a block does not
 * matter to it: it sees its own shared memory and global memory only. Results are the same for any
 * number of OS threads, unless blocks race or add floats atomically.
 */
#include "simt/simt.h"

#include <mutex>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread worker *simt_worker;
static __thread int os_thread; /* what the system calls this thread; 0 until asked */
worker *simt_workers[MAX_OS_THREADS];
settings simt_settings;
const observer *simt_observer;

/* Launches from different host threads take turns. Leaked: it must outlive static destructors. */
static std::mutex &one_launch = *new std::mutex;

static int whole_number(const char *name, int otherwise, int most)
{
    const char *text = getenv(name);
    if (!text || !*text) return otherwise;
    char *end;
    long value = strtol(text, &end, 10);
    if (*end == 0 && value >= 0 && value <= most) return (int)value;
    fprintf(stderr, "simt: %s=%s is not a number from 0 to %d: ignored\n", name, text, most);
    return otherwise;
}

__attribute__((constructor)) static void read_settings(void)
{
    cpu_set_t cpus;
    int processors = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
    int threads = whole_number("SIMT_THREADS", 0, MAX_OS_THREADS);
    simt_settings.threads = threads ? threads : min(processors, (int)MAX_OS_THREADS);
    const int timeout = whole_number("SIMT_TIMEOUT", -1, 1000000);
    simt_settings.timeout_chosen = timeout >= 0;
    simt_settings.timeout = timeout >= 0 ? timeout : 60;
    simt_settings.devices = max(whole_number("SIMT_DEVICES", 1, 64), 1);
    simt_settings.capability = whole_number("SIMT_CAPABILITY", 90, 999);
    const char *order = getenv("SIMT_ORDER");
    simt_settings.reverse = order && strcmp(order, "reverse") == 0;
    if (order && *order && !simt_settings.reverse && strcmp(order, "forward") != 0)
        fprintf(stderr, "simt: SIMT_ORDER=%s is neither forward nor reverse: ignored\n", order);
}

/* The worker of OS thread `index` of a launch, NULL if there is no memory for it. Workers are kept;
 * the OS threads behind them may change from launch to launch. */
static worker *enter_worker(int index, unsigned block_threads)
{
    if (!simt_workers[index]) {
        void *p = mmap(nullptr, sizeof(worker), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) return nullptr;
        worker *fresh = (worker *)p;
        if (!simt_shared_open(fresh)) {
            munmap(p, sizeof(worker));
            return nullptr;
        }
        __atomic_store_n(&simt_workers[index], fresh, __ATOMIC_RELEASE);
    }
    worker *self = simt_workers[index];
    if (!simt_stacks_open(self, block_threads)) return nullptr;
    if (!os_thread) os_thread = (int)syscall(SYS_gettid);
    /* The number alone would not do: Linux gives that of a thread which has ended to another. */
    if (simt_worker != self || self->os_thread != os_thread) {
        simt_worker = self;
        self->thread_local_block = simt_thread_local_block(&self->thread_local_bytes);
        simt_faults_prepare_thread(self);
        __atomic_store_n(&self->os_thread, os_thread, __ATOMIC_RELAXED);
    }
    return self;
}

/* Takes the other OS threads of a failed launch out of their blocks: one of them may be waiting, in
 * a loop, for something that will never come now. */
static void stop_others(const launch *job, const worker *self)
{
    for (bool busy = true; busy;) {
        busy = false;
        for (int i = 0; i < simt_settings.threads; i++) {
            const worker *other = simt_worker_number(i);
            if (!other || other == self) continue;
            if (__atomic_load_n(&other->job, __ATOMIC_SEQ_CST) != job) continue;
            simt_interrupt(other);
            busy = true;
        }
        if (busy) usleep(1000);
    }
}

void simt_work(launch *job, int index)
{
    worker *self = enter_worker(index, job->block_threads);
    if (!self) return;      /* others will do its share; see simt_launch for the first */
    self->blocks_started++; /* for the watch: this is not the block of some launch long ago */
    __atomic_store_n(&self->job, job, __ATOMIC_SEQ_CST);
    /* Several blocks at a time, while there are plenty: fewer visits to the shared counter. */
    uint64_t chunk = job->blocks / (8 * (uint64_t)job->threads);
    chunk = chunk < 1 ? 1 : chunk > 64 ? 64 : chunk;
    while (!__atomic_load_n(&job->stop, __ATOMIC_SEQ_CST)) {
        uint64_t begin = __atomic_fetch_add(&job->next, chunk, __ATOMIC_RELAXED);
        if (begin >= job->blocks) break;
        uint64_t end = begin + chunk < job->blocks ? begin + chunk : job->blocks;
        for (uint64_t b = begin; b < end; b++) {
            uint64_t number = simt_settings.reverse ? job->blocks - 1 - b : b;
            if (simt_run_block(self, number)) continue;
            /* The first failure is the launch's; the other OS threads are made to stop. */
            bool first = !__atomic_exchange_n(&job->stop, 1, __ATOMIC_SEQ_CST);
            if (first) {
                simt_report(self);
                stop_others(job, self);
            }
            simt_abandon_lanes(self);
            break;
        }
    }
    self->running = nullptr;
    __atomic_store_n(&self->job, nullptr, __ATOMIC_RELEASE);
}

/* Allows the launches that the programming guide's table of compute capabilities allows. */
static cudaError_t check_launch(const simt_launch_config *c)
{
    const uint3 &g = c->grid, &b = c->block;
    uint64_t threads = (uint64_t)b.x * b.y * b.z;
    if (!g.x || !g.y || !g.z || !threads) return cudaErrorInvalidConfiguration;
    if (g.x > 0x7fffffffu || g.y > 65535 || g.z > 65535) return cudaErrorInvalidConfiguration;
    if (b.x > 1024 || b.y > 1024 || b.z > 64 || threads > MAX_BLOCK_THREADS)
        return cudaErrorInvalidConfiguration;
    size_t static_bytes = simt_static_shared_bytes(c->kernel);
    if (static_bytes > SHARED_DEFAULT_BYTES) {
        fprintf(
            stderr,
            "simt: error: kernel %s has %zu bytes of static shared memory: nvcc compiles no more "
            "than %d; more has to be dynamic\n    launched at %s:%d\n",
            c->name, static_bytes, SHARED_DEFAULT_BYTES, c->file, c->line);
        return cudaErrorInvalidValue;
    }
    if (c->dynamic_shared_bytes > simt_dynamic_limit(c->kernel)) return cudaErrorInvalidValue;
    if (c->cluster > 1) {
        /* Static shared memory is the OS thread's, and blocks of a cluster share that. */
        if (simt_settings.capability < 90) return cudaErrorNotSupported;
        if (c->cluster > MAX_CLUSTER || g.x % c->cluster) return cudaErrorInvalidConfiguration;
        if (threads % WARP_LANES || threads * c->cluster > MAX_THREADS || static_bytes)
            return cudaErrorNotSupported;
    }
    return cudaSuccess;
}

extern "C" void simt_launch(const simt_launch_config *config, void (*entry)(void *),
                            void *arguments, size_t argument_bytes)
{
    cudaError_t error = simt_sticky_error();
    if (!error) error = check_launch(config);
    if (!error) error = simt_enqueued(config->stream);
    if (error) {
        simt_error(error);
        return;
    }
    std::lock_guard<std::mutex> turn(one_launch);
    launch job = {};
    job.config = *config;
    job.shared = simt_static_shared(config->kernel, &job.shared_ranges);
    job.entry = entry;
    job.arguments = arguments;
    job.argument_bytes = argument_bytes;
    job.cluster = config->cluster ? config->cluster : 1;
    job.block_threads = config->block.x * config->block.y * config->block.z * job.cluster;
    job.blocks = (uint64_t)config->grid.x * config->grid.y * config->grid.z / job.cluster;

    simt_faults_install();
    if (!enter_worker(0, job.block_threads)) {
        simt_error(cudaErrorMemoryAllocation);
        return;
    }
    /* Waking other OS threads takes longer than 1024 empty CUDA threads do. */
    bool small = job.blocks == 1 || job.blocks * job.block_threads <= 1024;
    job.threads = small ? 1 : (int)min(job.blocks, (uint64_t)simt_settings.threads);
    simt_memory_open();
    if (simt_observer) simt_observer->launch_begins(&job);
    simt_watch_begin();
    if (job.threads == 1)
        simt_work(&job, 0);
    else
        simt_work_together(&job);
    simt_watch_end();
    if (simt_observer) simt_observer->launch_ends(&job);
    simt_memory_close();
}
