/* Ranks with a device each, as threads and as processes of a launch (exchange/exchange.h): what they move, where rows are
 * at home (exchange/home.h), and how all of them end when one is lost. On the CPU backend, whose NCCL fails on demand. */
#include "fixture.h"

#include "device/cuda_try.h"
#include "exchange/home.h"
#include "exchange/launch.h"
#include "harness/device.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RANKS = 3, CALLS = 3 };

/* ---- a gather that shows what went wrong ------------------------------------------------------ */

/* Arrays of a gather: rank r has `bytes[r]` bytes of value r + 1, and room for all. */
typedef struct gathering {
    exchange *e;
    size_t bytes[RANKS];
    int fails_on; /* a rank whose step fails before it calls; -1: none */
    unsigned char *d_own[RANKS], *d_whole[RANKS];
} gathering;

static size_t all_bytes(const gathering *g)
{
    size_t sum = 0;
    for (int q = 0; q < RANKS; q++)
        sum += g->bytes[q];
    return sum;
}

static cudaError_t make_arrays(exchange_rank *r, void *context)
{
    gathering *g = context;
    const size_t own = g->bytes[r->rank], whole = all_bytes(g);
    int device;
    CUDA_TRY(cudaGetDevice(&device));
    if (device != r->device) return cudaErrorInvalidDevice;
    CUDA_TRY(cudaMalloc((void **)&g->d_own[r->rank], own + 1));
    CUDA_TRY(cudaMalloc((void **)&g->d_whole[r->rank], whole + 1));
    CUDA_TRY(cudaMemset(g->d_own[r->rank], r->rank + 1, own + 1));
    CUDA_TRY(cudaMemset(g->d_whole[r->rank], 99, whole + 1));
    return cudaDeviceSynchronize();
}

static cudaError_t free_arrays(exchange_rank *r, void *context)
{
    gathering *g = context;
    cudaFree(g->d_own[r->rank]);
    return cudaFree(g->d_whole[r->rank]);
}

static cudaError_t gather_all(exchange_rank *r, void *context)
{
    gathering *g = context;
    exchange_piece pieces[RANKS];
    size_t at = 0;
    if (r->rank == g->fails_on) return cuda_failed_as(cudaErrorMemoryAllocation, "no room");
    for (int q = 0; q < RANKS; q++) {
        pieces[q] = (exchange_piece){g->d_own[q], g->bytes[q], at};
        at += g->bytes[q];
    }
    return g->e->kind->gather(g->e, r, pieces, g->d_whole[r->rank]);
}

/* Whether the rank has all pieces, and nothing behind them. */
static bool has_all(const gathering *g, int rank)
{
    const size_t bytes = all_bytes(g);
    unsigned char *got = malloc(bytes + 1);
    bool right = got && cudaMemcpy(got, g->d_whole[rank], bytes + 1, cudaMemcpyDeviceToHost) == 0;
    size_t at = 0;
    for (int q = 0; q < RANKS && right; q++)
        for (size_t i = 0; i < g->bytes[q] && right; i++)
            right = got[at++] == q + 1;
    right = right && got[at] == 99;
    free(got);
    return right;
}

/* Opens an exchange, gathers CALLS times, and looks at the result of the local ranks. The first error, or
 * cudaErrorInvalidValue for a wrong result. */
static cudaError_t gather_some(const size_t *bytes, int fails_on)
{
    gathering g = {.fails_on = -1};
    cudaStream_t stream;
    memcpy(g.bytes, bytes, sizeof g.bytes);
    CUDA_TRY(exchange_open(RANKS, &g.e));
    CUDA_TRY(cudaStreamCreate(&stream));
    CUDA_TRY(g.e->kind->each(g.e, make_arrays, &g));
    for (int i = 0; i < CALLS; i++) {
        g.fails_on = i == CALLS - 1 ? fails_on : -1;
        CUDA_TRY(exchange_fork(g.e, stream));
        CUDA_TRY(g.e->kind->each(g.e, gather_all, &g));
        CUDA_TRY(exchange_join(g.e, stream));
        CUDA_TRY(exchange_wait(stream));
    }
    for (int i = 0; i < g.e->locals; i++)
        if (!has_all(&g, g.e->local[i].rank)) return cudaErrorInvalidValue;
    CUDA_TRY(g.e->kind->each(g.e, free_arrays, &g));
    exchange_close(g.e);
    return cudaStreamDestroy(stream);
}

static const size_t EQUAL[RANKS] = {70000, 70000, 70000}, RAGGED[RANKS] = {200000, 0, 1};

static void threads_gather_pieces_of_any_size(void **state)
{
    (void)state;
    exchange_use_devices(RANKS);
    assert_int_equal(gather_some(EQUAL, -1), cudaSuccess);
    assert_int_equal(gather_some(RAGGED, -1), cudaSuccess); /* they meet once, and gather often */
    assert_null(exchange_failure());
    exchange_part_company();
    assert_int_equal(gather_some(RAGGED, -1), cudaSuccess); /* or meet again */
    exchange_part_company();
    exchange_use_devices(0);
}

static void more_ranks_than_devices_are_refused(void **state)
{
    (void)state;
    exchange *e;
    exchange_use_devices(EXCHANGE_MOST_RANKS);
    assert_int_equal(exchange_open(1, &e), cudaErrorInvalidDevice);
    assert_non_null(strstr(cuda_failure_text(cudaErrorInvalidDevice), "this machine has 4"));
    assert_null(e);
    exchange_use_devices(0);
}

/* ---- parcels ---------------------------------------------------------------------------------- */

/* Rank r gives q + 1 bytes of value 10 r + q to each rank q, and takes r + 1 of each. */
typedef struct swapping {
    exchange *e;
    unsigned char *d_given[RANKS], *d_taken[RANKS];
} swapping;

static cudaError_t make_parcels(exchange_rank *r, void *context)
{
    swapping *s = context;
    CUDA_TRY(cudaMalloc((void **)&s->d_given[r->rank], RANKS * RANKS));
    CUDA_TRY(cudaMalloc((void **)&s->d_taken[r->rank], RANKS * RANKS));
    for (int q = 0; q < RANKS; q++)
        CUDA_TRY(cudaMemset(s->d_given[r->rank] + RANKS * q, 10 * r->rank + q, RANKS));
    return cudaMemset(s->d_taken[r->rank], 99, RANKS * RANKS);
}

static cudaError_t swap_parcels(exchange_rank *r, void *context)
{
    swapping *s = context;
    exchange_parcel parcels[RANKS];
    for (int q = 0; q < RANKS; q++)
        parcels[q] = (exchange_parcel){.give = s->d_given[r->rank] + RANKS * q,
                                       .give_bytes = q + 1,
                                       .from = s->d_given[q] + RANKS * r->rank,
                                       .take = s->d_taken[r->rank] + RANKS * q,
                                       .take_bytes = r->rank + 1};
    return s->e->kind->swap(s->e, r, parcels);
}

static cudaError_t free_parcels(exchange_rank *r, void *context)
{
    swapping *s = context;
    cudaFree(s->d_given[r->rank]);
    return cudaFree(s->d_taken[r->rank]);
}

static void ranks_swap_parcels(int devices)
{
    swapping s;
    exchange_use_devices(devices);
    assert_int_equal(exchange_open(RANKS, &s.e), cudaSuccess);
    assert_int_equal(s.e->kind->each(s.e, make_parcels, &s), cudaSuccess);
    cudaDeviceSynchronize();
    assert_int_equal(exchange_meet(s.e), cudaSuccess);
    assert_int_equal(s.e->kind->each(s.e, swap_parcels, &s), cudaSuccess);
    for (int r = 0; r < RANKS; r++) {
        unsigned char got[RANKS * RANKS];
        cudaMemcpy(got, s.d_taken[r], sizeof got, cudaMemcpyDeviceToHost);
        for (int q = 0; q < RANKS; q++)
            for (int i = 0; i < RANKS; i++)
                assert_int_equal(got[RANKS * q + i], i <= r ? 10 * q + r : 99);
    }
    s.e->kind->each(s.e, free_parcels, &s);
    exchange_close(s.e);
    exchange_part_company();
    exchange_use_devices(0);
}

static void loopback_and_threads_swap_parcels(void **state)
{
    (void)state;
    ranks_swap_parcels(0);
    ranks_swap_parcels(RANKS);
}

/* ---- rows at home ----------------------------------------------------------------------------- */

static void rows_go_home_and_come_back(void **state)
{
    (void)state;
    const int64_t first[RANKS + 1] = {0, 2, 2, 7}; /* rank 1 has none */
    int rows[14], back[14], *d_rows;
    exchange *e;
    exchange_home cut, whole;
    exchange_use_devices(RANKS);
    for (int i = 0; i < 14; i++)
        rows[i] = i;
    cudaMalloc((void **)&d_rows, sizeof rows);
    cudaMemcpy(d_rows, rows, sizeof rows, cudaMemcpyHostToDevice);
    assert_int_equal(exchange_open(RANKS, &e), cudaSuccess);
    assert_int_equal(exchange_home_cut(&cut, e, first, 2 * sizeof(int)), cudaSuccess);
    assert_int_equal(exchange_home_whole(&whole, e, 7, 2 * sizeof(int)), cudaSuccess);
    assert_int_equal(exchange_distribute(&cut, e, d_rows), cudaSuccess);
    assert_int_equal(exchange_distribute(&whole, e, d_rows), cudaSuccess);
    assert_ptr_equal(exchange_home_of(&cut, 0, d_rows),
                     d_rows); /* the caller's device is its own */
    assert_true(exchange_home_of(&cut, 2, d_rows) != (char *)(d_rows + 4));
    cudaMemcpy(back, exchange_home_of(&cut, 2, d_rows), 10 * sizeof(int), cudaMemcpyDeviceToHost);
    assert_memory_equal(back, rows + 4, 10 * sizeof(int));
    cudaMemcpy(back, exchange_home_of(&whole, 1, d_rows), sizeof rows, cudaMemcpyDeviceToHost);
    assert_memory_equal(back, rows, sizeof rows);
    cudaMemset(d_rows + 4, 0, 10 * sizeof(int));
    assert_int_equal(exchange_collect(&cut, e, d_rows), cudaSuccess);
    cudaMemcpy(back, d_rows, sizeof rows, cudaMemcpyDeviceToHost);
    assert_memory_equal(back, rows, sizeof rows);
    exchange_home_free(&cut);
    exchange_home_free(&whole);
    exchange_close(e);
    exchange_part_company();
    exchange_use_devices(0);
    cudaFree(d_rows);
}

/* ---- who is lost ------------------------------------------------------------------------------ */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Exit status of a child that gathers: 0 right, 1 a wrong result, 4 lost with a reason that holds `reason`. */
static int gather_in_child(const char *reason, int fails_on)
{
    exchange_use_devices(RANKS);
    const cudaError_t error = gather_some(RAGGED, fails_on);
    if (error == cudaSuccess) {
        exchange_part_company();
        return 0;
    }
    exchange_part_company();
    const char *lost = exchange_failure();
    if (!lost || !reason || !strstr(lost, reason)) {
        print_error("not '%s': %s\n", reason ? reason : "", lost ? lost : "no failure");
        return 1;
    }
    exchange *e; /* and no exchange works any more */
    return exchange_open(RANKS, &e) == cudaSuccess ? 1 : 4;
}

/* All ranks are threads of one process. Returns its exit status; *took: seconds. */
static int threads_with(const char *fault, const char *reason, int fails_on, double *took)
{
    const double start = seconds();
    const pid_t child = fork();
    int status;
    if (child == 0) {
        /* Time enough for a busy machine, where nobody shall wait for it to be up. */
        const bool waits = fault && !strncmp(fault, "miss", 4);
        setenv("EXCHANGE_TIMEOUT", waits ? "3" : "60", 1);
        if (fault) setenv("SIMT_NCCL_FAULT", fault, 1);
        _exit(gather_in_child(reason, fails_on));
    }
    waitpid(child, &status, 0);
    *took = seconds() - start;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void threads_that_lose_a_rank_end(void **state)
{
    (void)state;
    double took;
    assert_int_equal(threads_with(NULL, NULL, -1, &took), 0);
    assert_int_equal(threads_with("error:1:2", "unhandled system error", -1, &took), 4);
    assert_in_range((int)took, 0, 40); /* at once, not when time is up */
    assert_int_equal(threads_with("async:2:1", "remote process exited", -1, &took), 4);
    assert_in_range((int)took, 0, 40);
    assert_int_equal(threads_with(NULL, "no room", 2, &took), 4); /* the step fails, others wait */
    assert_in_range((int)took, 0, 40);
    assert_int_equal(threads_with("miss:0:3", "waited 3 s for another rank", -1, &took), 4);
    assert_in_range((int)took, 2, 40);
    assert_int_equal(threads_with("error:2:0", "unhandled system error", -1, &took), 4);
    assert_int_equal(threads_with("miss:1:0", "waited 3 s for another rank", -1, &took), 4);
}

/* Each rank is a process of a launch, and waits `timeout` seconds. The step of rank fails_on fails. Fills the exit status
 * of each. */
static void processes_with(const char *fault, const char *timeout, const char *reason, int missing,
                           int fails_on, int *status)
{
    char file[] = "/tmp/exchange.XXXXXX";
    pid_t child[RANKS];
    close(mkstemp(file));
    unlink(file);
    for (int r = 0; r < RANKS; r++) {
        child[r] = r == missing ? -1 : fork();
        if (child[r] != 0) continue;
        char number[8];
        snprintf(number, sizeof number, "%d", r);
        setenv("EXCHANGE_FILE", file, 1);
        setenv("EXCHANGE_RANK", number, 1);
        snprintf(number, sizeof number, "%d", RANKS);
        setenv("EXCHANGE_RANKS", number, 1);
        setenv("EXCHANGE_TIMEOUT", timeout, 1);
        if (fault) setenv("SIMT_NCCL_FAULT", fault, 1);
        cudaSetDevice(r);
        _exit(gather_in_child(r == fails_on ? "no room" : reason, fails_on));
    }
    for (int r = 0; r < RANKS; r++) {
        int how = 0;
        if (child[r] > 0) waitpid(child[r], &how, 0);
        status[r] = child[r] < 0 ? -1 : WIFEXITED(how) ? WEXITSTATUS(how) : -2;
    }
    unlink(file);
}

static void processes_gather_and_end_alike(void **state)
{
    (void)state;
    int status[RANKS];
    processes_with(NULL, "60", NULL, -1, -1, status);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(status[r], 0);
    /* A rank dies, once all have met: a busy machine has its time for that. */
    processes_with("exit:1:2", "10", "waited 10 s", -1, -1, status);
    assert_int_equal(status[0], 4);
    assert_int_equal(status[1], 9);
    assert_int_equal(status[2], 4);
    /* A rank has less to say than the others. */
    processes_with("miss:0:3", "3", "waited 3 s", -1, -1, status);
    assert_int_equal(status[1], 4);
    assert_int_equal(status[2], 4);
    /* The step of a rank fails: that one has its own reason. */
    processes_with(NULL, "10", "waited 10 s", -1, 2, status);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(status[r], 4);
    processes_with(NULL, "3", "waited 3 s", 2, -1, status); /* a rank never comes */
    assert_int_equal(status[0], 4);
    assert_int_equal(status[1], 4);
    processes_with(NULL, "3", "for EXCHANGE_FILE", 0, -1,
                   status); /* nor does the one with the id */
    assert_int_equal(status[1], 4);
    assert_int_equal(status[2], 4);
}

/* ---- a launch --------------------------------------------------------------------------------- */

static void a_launch_is_read_from_the_environment(void **state)
{
    (void)state;
    launch_place place;
    char text[200];
    assert_true(launch_find(&place, text, sizeof text));
    assert_false(place.is_launch);
    assert_int_equal(place.ranks, 1);
    setenv("EXCHANGE_FILE", "/tmp/none", 1);
    assert_false(launch_find(&place, text, sizeof text));
    setenv("OMPI_COMM_WORLD_RANK", "2", 1);
    assert_false(launch_find(&place, text, sizeof text)); /* of how many? */
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    setenv("OMPI_COMM_WORLD_LOCAL_RANK", "0", 1);
    assert_true(launch_find(&place, text, sizeof text));
    assert_int_equal(place.rank, 2);
    assert_int_equal(place.ranks, 4);
    assert_int_equal(place.local, 0);
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    assert_false(launch_find(&place, text, sizeof text));
    unsetenv("EXCHANGE_FILE");
    unsetenv("OMPI_COMM_WORLD_RANK");
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
}

static void an_id_gets_round_by_a_file_that_was_not_there(void **state)
{
    (void)state;
    char file[] = "/tmp/exchange.XXXXXX", read_back[6];
    close(mkstemp(file));
    const launch_place place = {.is_launch = true, .ranks = 2, .file = file};
    assert_false(launch_tell(&place, "hello", 6)); /* of an earlier launch */
    unlink(file);
    assert_false(launch_ask(&place, read_back, 6, 0.05));
    assert_true(launch_tell(&place, "hello", 6));
    assert_true(launch_ask(&place, read_back, 6, 0.05));
    assert_string_equal(read_back, "hello");
    launch_met(&place);
    assert_int_equal(access(file, F_OK), -1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_lose_a_rank_end),
        cmocka_unit_test(processes_gather_and_end_alike),
        cmocka_unit_test(threads_gather_pieces_of_any_size),
        cmocka_unit_test(more_ranks_than_devices_are_refused),
        cmocka_unit_test(loopback_and_threads_swap_parcels),
        cmocka_unit_test(rows_go_home_and_come_back),
        cmocka_unit_test(a_launch_is_read_from_the_environment),
        cmocka_unit_test(an_id_gets_round_by_a_file_that_was_not_there),
    };
    (void)argc;
    if (device_keeps_time()) return 0; /* a GPU neither multiplies nor fails on demand */
    if (!getenv("SIMT_DEVICES")) {     /* which is read when the program starts */
        setenv("SIMT_DEVICES", "4", 1);
        execv("/proc/self/exe", argv);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
