#include "grader/remote.h"

#include "harness/timing.h"

#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef BACKEND_CUDA
enum { NEEDS_DEVICE = true, MEMORY_GB = 64, PROCESSES = 256, OPEN_FILES = 1024 };
#else
enum { NEEDS_DEVICE = false, MEMORY_GB = 4, PROCESSES = 32, OPEN_FILES = 64 };
#endif

static bool set_back(remote *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool set_back(remote *r, const char *format, ...)
{
    va_list args;
    if (*r->why) return false;
    va_start(args, format);
    vsnprintf(r->why, sizeof r->why, format, args);
    va_end(args);
    return false;
}

void remote_clean(char *text)
{
    for (char *at = text; *at; at++)
        if (*at < ' ' || *at > '~') *at = ' ';
}

/* The channel is dead: finds out why. */
static bool lost(remote *r)
{
    char how[200];
    confine_end(&r->process, r->until, how, sizeof how);
    return set_back(r, "the submission's process ended early%s%s", *how ? ": " : "", how);
}

/* The answer's head, with exactly `bytes` to follow. */
static bool hear(remote *r, size_t bytes)
{
    message m;
    if (!channel_read(r->fd, &m, sizeof m, r->until)) return lost(r);
    m.text[sizeof m.text - 1] = '\0';
    remote_clean(m.text);
    if (m.status != STATUS_OK)
        return set_back(r, "%s", *m.text ? m.text : "the submission's process reports a failure");
    return m.bytes == bytes || set_back(r, "an answer of the wrong length");
}

static bool say(remote *r, const message *m, const void *data, size_t bytes)
{
    if (*r->why) return false;
    return (channel_write(r->fd, m, sizeof *m, r->until) &&
            channel_write(r->fd, data, bytes, r->until)) ||
           lost(r);
}

bool remote_open(remote *r, const char *program, int instruments, const char *log, double seconds)
{
    char number[16], folder[4096];
    int ends[2];
    error_text error;
    *r = (remote){.fd = -1, .until = confine_until(seconds)};
    snprintf(number, sizeof number, "%d", instruments);
    snprintf(folder, sizeof folder, "%s", program);
    *strrchr(folder, '/') = '\0';
    const char *const argv[] = {program, number, NULL};
    const int output = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (output < 0) return set_back(r, "%s: cannot be written", log);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        close(output);
        return set_back(r, "no socket");
    }
    const task t = {.argv = argv,
                    .folder = folder,
                    .devices = NEEDS_DEVICE,
                    .channel = ends[1],
                    .output = output,
                    .limits = {.cpu_seconds = (int)seconds + 1,
                               .processes = PROCESSES,
                               .open_files = OPEN_FILES,
                               .memory_bytes = (size_t)MEMORY_GB << 30,
                               .file_bytes = 1 << 20}};
    const enum status status = confine_start(&t, &r->process, &error);
    r->fd = ends[0];
    close(ends[1]);
    close(output);
    return status == STATUS_OK ? hear(r, 0) : set_back(r, "%.300s", error.text);
}

void remote_close(remote *r)
{
    char how[200];
    confine_end(&r->process, 0, how, sizeof how);
    if (r->fd >= 0) close(r->fd);
    r->fd = -1;
}

bool remote_put(remote *r, int array, const void *image, size_t bytes, const char *name,
                size_t element, bool read_only)
{
    message m = {.command = CHANNEL_PUT,
                 .array = array,
                 .element = (int)element,
                 .read_only = read_only,
                 .bytes = bytes};
    strncpy(m.text, name, sizeof m.text - 1);
    return say(r, &m, image, bytes) && hear(r, 0);
}

bool remote_get(remote *r, int array, void *image, size_t bytes)
{
    const message m = {.command = CHANNEL_GET, .array = array};
    return say(r, &m, NULL, 0) && hear(r, bytes) &&
           (channel_read(r->fd, image, bytes, r->until) || lost(r));
}

bool remote_prepare(remote *r, const prepare_request *request, const csr_matrix *A,
                    const char *settings)
{
    const size_t row_ptr = (A->rows + 1) * sizeof *A->row_ptr,
                 col_idx = A->nnz * sizeof *A->col_idx;
    message m = {.command = CHANNEL_PREPARE, .bytes = sizeof *request + row_ptr + col_idx};
    strncpy(m.text, settings, sizeof m.text - 1);
    return say(r, &m, request, sizeof *request) &&
           ((channel_write(r->fd, A->row_ptr, row_ptr, r->until) &&
             channel_write(r->fd, A->col_idx, col_idx, r->until)) ||
            lost(r)) &&
           hear(r, 0);
}

/* Asks for `bytes` to be answered, and takes the time. */
static bool ask(remote *r, const message *m, const run_step *steps, double *ms, void *answer,
                size_t bytes)
{
    const double start = wall_ms();
    const bool done = say(r, m, steps, m->bytes) && hear(r, bytes) &&
                      (channel_read(r->fd, answer, bytes, r->until) || lost(r));
    *ms = wall_ms() - start;
    return done;
}

bool remote_run(remote *r, const run_step *steps, int count, uint64_t key, double *ms, look *seen,
                trace_report *report)
{
    const message m = {.command = CHANNEL_RUN, .bytes = count * sizeof *steps, .key = key};
    return report ? ask(r, &m, steps, ms, report, sizeof *report)
                  : ask(r, &m, steps, ms, seen, sizeof *seen);
}

bool remote_look(remote *r, const run_step *steps, int count, uint64_t key, double *ms, look *seen)
{
    const message m = {.command = CHANNEL_LOOK, .bytes = count * sizeof *steps, .key = key};
    return ask(r, &m, steps, ms, seen, sizeof *seen);
}
