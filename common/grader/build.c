#include "grader/attempt.h"
#include "grader/confine.h"
#include "harness/device.h"

#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The compiler is slower than what it compiles: so many times the patience with a program. */
enum { COMPILER = 6 };

/* A job of nvcc's is four processes at once: nvcc, a shell, gcc, cc1plus. Twice that is set aside for
 * each. So make and the walls have room, and so has what else a grader that is not root runs as the same
 * user. Memory is limited for each process: a job more is as much more that a submission may take. */
enum { COMPILE_PROCESSES = 64, JOB_PROCESSES = 2 * 4 };

/* Beyond the processors there are, jobs only wait for each other. */
static int jobs(void)
{
    const int processors = omp_get_num_procs(), most = COMPILE_PROCESSES / JOB_PROCESSES;
    return processors < most ? processors : most;
}

/* The first line of WORK/log that says what is wrong, else its last one. */
static void reason(const attempt *a, char *text, size_t bytes)
{
    char path[4096], line[500];
    FILE *f = fopen(attempt_path(a, "log", path, sizeof path), "r");
    *text = '\0';
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line) snprintf(text, bytes, "%s", line);
        if (strstr(line, "error")) break;
    }
    if (f) fclose(f);
    for (char *at = text; *at; at++)
        if (*at < ' ' || *at > '~') *at = '?';
}

static int open_log(const attempt *a)
{
    char path[4096];
    return open(attempt_path(a, "log", path, sizeof path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                0600);
}

/* A script or make of the staff's tree, which is trusted: its exit status; -1 if it has none. */
static int trusted(const attempt *a, const char *const *argv)
{
    int how = -1;
    const int log = open_log(a);
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(log, 1);
        dup2(log, 2);
        execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    if (pid > 0) waitpid(pid, &how, 0);
    close(log);
    return pid > 0 && WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

/* Settings for both makes of a build: where they differ the second compiles the staff's objects again. */
typedef struct settings {
    char backend[32];
    char arch[128]; /* in confinement no device is in sight to ask */
    char cuda_home[4200];
    char kinds[32];
} settings;

/* make in the staged tree, which holds the submission's sources: they may want to read files, or to
 * keep the compiler busy for ever. */
static bool compile(const attempt *a, const settings *s, char *how, size_t bytes)
{
    char folder[4096], parallel[16];
    confined c;
    error_text error;
    snprintf(parallel, sizeof parallel, "-j%d", jobs());
    const char *const argv[] = {"/usr/bin/make", "-s",     parallel,      s->backend, s->arch,
                                s->cuda_home,    s->kinds, "lab-objects", NULL};
    /* A listing with the instruments has up to 100 MB. */
    const task t = {.argv = argv,
                    .folder = attempt_path(a, "tree", folder, sizeof folder),
                    .writes = true,
                    .reads = a->cuda_home,
                    .channel = -1,
                    .output = open_log(a),
                    .limits = {.cpu_seconds = (int)(COMPILER * a->patience),
                               .processes = COMPILE_PROCESSES,
                               .open_files = 256,
                               .memory_bytes = (size_t)4 << 30,
                               .file_bytes = 256 << 20}};
    int status = -1;
    snprintf(how, bytes, "cannot start the compiler");
    if (confine_start(&t, &c, &error) == STATUS_OK)
        status = confine_end(&c, confine_until(COMPILER * a->patience), how, bytes);
    close(t.output);
    return status == 0;
}

/* Objects and runners for one backend, in WORK/backend, of the kinds that tests run there. */
static found build_for(const attempt *a, const char *backend, const char *kinds)
{
    char text[500], how[200], lab[32], work[4200], programs[4200];
    settings s;
    snprintf(s.backend, sizeof s.backend, "BACKEND=%s", backend);
    snprintf(s.arch, sizeof s.arch, "ARCH=%s", a->arch);
    snprintf(s.cuda_home, sizeof s.cuda_home, "CUDA_HOME=%s", a->cuda_home ? a->cuda_home : "auto");
    snprintf(s.kinds, sizeof s.kinds, "KINDS=%s", kinds);
    snprintf(lab, sizeof lab, "LAB=%d", a->lab);
    snprintf(work, sizeof work, "WORK=%s/%s", a->work, backend);
    snprintf(programs, sizeof programs, "%s/%s", a->build, backend);
    const char *const look[] = {
        "scripts/grade-look", a->work, a->lab_folder, programs, kinds, NULL};
    const char *const link[] = {"make",  "-s", s.backend, s.arch,           s.cuda_home,
                                s.kinds, lab,  work,      "graded-runners", NULL};
    if (!compile(a, &s, how, sizeof how)) {
        reason(a, text, sizeof text);
        return found_of(0, "does not compile%s%s: %s", strstr(how, "exit") ? "" : ", ",
                        strstr(how, "exit") ? "" : how, text);
    }
    if (trusted(a, look) != 0) {
        reason(a, text, sizeof text);
        return found_of(0, "refused: %s", text);
    }
    if (trusted(a, link) != 0) {
        reason(a, text, sizeof text);
        return found_of(0, "does not link: %s", text);
    }
    return found_of(1, "%s", "");
}

enum status attempt_build(const attempt *a, found *f, error_text *error)
{
    char text[500], uid[16];
    snprintf(uid, sizeof uid, "%u", (unsigned)confine_uid());
    const char *const stage[] = {
        "scripts/grade-stage", a->submission, a->lab_folder, a->work, uid, NULL};
    const int how = trusted(a, stage);
    reason(a, text, sizeof text);
    if (how == STATUS_USAGE) return fail(error, STATUS_USAGE, "%s", text);
    if (how != 0) {
        *f = found_of(0, "refused: %s", text);
        return STATUS_OK;
    }
    /* The instruments are the CPU backend's, wherever results and times come from. */
    const bool both = device_keeps_time();
    *f = build_for(a, device_backend(), both ? "plain" : "plain traced");
    if (both && f->share == 1) *f = build_for(a, "simt", "traced");
    return STATUS_OK;
}
