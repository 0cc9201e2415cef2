#include "grader/confine.h"

#include "harness/timing.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_WORDS = 96 };

static enum wall wall;
static char facts[600];
static uid_t task_uid;

/* ---- the command line ------------------------------------------------------------------------ */

typedef struct words {
    const char *word[MAX_WORDS];
    int count;
} words;

static void add(words *w, const char *word)
{
    if (w->count < MAX_WORDS - 1) w->word[w->count++] = word;
}

static void add_all(words *w, const char *const *list)
{
    for (; *list; list++)
        add(w, *list);
}

/* A folder of the system, or the link that stands in its place. */
static void add_system(words *w, const char *path)
{
    struct stat s;
    static char target[8][64];
    static int links;
    if (lstat(path, &s) != 0) return;
    if (!S_ISLNK(s.st_mode)) {
        add_all(w, (const char *const[]){"--ro-bind", path, path, NULL});
        return;
    }
    char *to = target[links++ % 8];
    const ssize_t length = readlink(path, to, sizeof target[0] - 1);
    if (length <= 0) return;
    to[length] = '\0';
    add_all(w, (const char *const[]){"--symlink", to, path, NULL});
}

static void add_bubblewrap(words *w, const task *t)
{
    static const char *const SYSTEM[] = {
        "/usr", "/bin", "/lib", "/lib64", "/sbin", "/etc/alternatives", "/etc/ld.so.cache"};
    add_all(w, (const char *const[]){"/usr/bin/bwrap", "--unshare-all", "--die-with-parent",
                                     "--proc", "/proc", NULL});
    for (size_t i = 0; i < sizeof SYSTEM / sizeof SYSTEM[0]; i++)
        add_system(w, SYSTEM[i]);
    if (t->devices)
        add_all(w, (const char *const[]){"--dev-bind", "/dev", "/dev", "--ro-bind", "/sys", "/sys",
                                         NULL});
    else
        add_all(w, (const char *const[]){"--dev", "/dev", NULL});
    if (t->folder)
        add_all(w, (const char *const[]){t->writes ? "--bind" : "--ro-bind", t->folder, t->folder,
                                         "--chdir", t->folder, NULL});
    if (t->reads) add_all(w, (const char *const[]){"--ro-bind", t->reads, t->reads, NULL});
    add_all(w, (const char *const[]){"--remount-ro", "/", "--", NULL});
}

static void add_wall(words *w, const task *t)
{
    if (wall == WALL_BUBBLEWRAP) add_bubblewrap(w, t);
    if (wall == WALL_UNSHARE || wall == WALL_NETWORK)
        add_all(w, (const char *const[]){"/usr/bin/unshare", "--user", "--map-current-user",
                                         "--net", "--ipc", NULL});
    /* Processes are numbered anew together with their /proc or not at all: CUDA's driver looks for its
     * threads by number below /proc/self, and does not start without them. The first process of a
     * namespace ignores most signals: a shell is that. */
    if (wall == WALL_UNSHARE)
        add_all(w, (const char *const[]){"--pid", "--mount-proc", "--fork", "--kill-child", "--",
                                         "/bin/sh", "-c", "\"$@\"; exit $?", "sh", NULL});
    if (wall == WALL_NETWORK) add(w, "--");
}

/* ---- the child's side ------------------------------------------------------------------------ */

uid_t confine_uid(void)
{
    return task_uid;
}

static void limit(int resource, rlim_t most)
{
    /* Past the first of the two a process dies of a signal that says why. */
    const struct rlimit r = {most, resource == RLIMIT_CPU ? most + 1 : most};
    setrlimit(resource, &r);
}

static bool step_down(void)
{
    return geteuid() != 0 ||
           (setgroups(0, NULL) == 0 && setresgid(task_uid, task_uid, task_uid) == 0 &&
            setresuid(task_uid, task_uid, task_uid) == 0);
}

/* Descriptors: 0 is empty, 1 and 2 the output, 3 the channel; no other stays open. */
static bool arrange_files(const task *t)
{
    const int nothing = open("/dev/null", O_RDONLY);
    const int channel = t->channel < 0 ? -1 : fcntl(t->channel, F_DUPFD, 10);
    const int output = fcntl(t->output, F_DUPFD, 10);
    if (nothing < 0 || output < 0 || dup2(nothing, 0) < 0 || dup2(output, 1) < 0 ||
        dup2(output, 2) < 0)
        return false;
    if (channel >= 0 && dup2(channel, 3) < 0) return false;
    return close_range(channel >= 0 ? 4 : 3, ~0U, 0) == 0;
}

static void become(const task *t)
{
    words w = {0};
    char temporary[4200] = "TMPDIR=/tmp";
    char *const environment[] = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", temporary, NULL};
    if (t->writes) snprintf(temporary, sizeof temporary, "TMPDIR=%s", t->folder);
    add_wall(&w, t);
    add_all(&w, t->argv);
    setsid();
    limit(RLIMIT_CPU, t->limits.cpu_seconds);
    limit(RLIMIT_DATA, t->limits.memory_bytes);
    limit(RLIMIT_FSIZE, t->limits.file_bytes);
    limit(RLIMIT_NOFILE, t->limits.open_files);
    limit(RLIMIT_NPROC, t->limits.processes);
    limit(RLIMIT_CORE, 0);
    if (!arrange_files(t) || !step_down() || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || (t->folder && chdir(t->folder) != 0))
        _exit(126);
    execve(w.word[0], (char *const *)w.word, environment);
    _exit(127);
}

/* ---- the parent's side ----------------------------------------------------------------------- */

enum status confine_start(const task *t, confined *c, error_text *error)
{
    *c = (confined){.pid = fork()};
    if (c->pid < 0) {
        c->pid = 0;
        return fail(error, STATUS_RUNTIME, "cannot start a process: %s", strerror(errno));
    }
    if (c->pid == 0) become(t);
    setpgid(c->pid, c->pid); /* it does that too; whoever comes first */
    return STATUS_OK;
}

/* The number of a child of this process other than those reaped; 0 if there is none. Orphans of the
 * task have become its children. */
static pid_t any_child(void)
{
    char path[64];
    int pid = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%d", &pid) != 1) pid = 0;
    if (f) fclose(f);
    return pid;
}

static void kill_all_children(void)
{
    for (pid_t pid; (pid = any_child()) > 0;) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
}

double confine_until(double cpu_seconds)
{
    return wall_ms() + 1000 * (60 + 3 * cpu_seconds);
}

static const char *signal_meaning(int signal)
{
    return signal == SIGXCPU   ? "too much processor time"
           : signal == SIGXFSZ ? "it wrote too much"
           : signal == SIGSYS  ? "a forbidden system call"
           : signal == SIGSEGV ? "host code touched memory that is not its own, or the device's"
                               : strsignal(signal);
}

int confine_end(confined *c, double until, char *text, size_t bytes)
{
    int how = 0, status = -1;
    *text = '\0';
    if (!c->pid) return -1;
    pid_t ended;
    while ((ended = waitpid(c->pid, &how, WNOHANG)) == 0 && wall_ms() < until)
        usleep(1000);
    int killer = 0;
    if (ended == 0) {
        c->out_of_time = isfinite(until) && until > 0;
        snprintf(text, bytes, "its time is over");
        kill(-c->pid, SIGKILL);
        waitpid(c->pid, &how, 0);
    } else if (WIFSIGNALED(how)) {
        killer = WTERMSIG(how);
    } else if (WIFEXITED(how)) {
        /* bubblewrap and unshare, like a shell, exit with 128 + N for a signal N. */
        status = WEXITSTATUS(how);
        if (status > 128)
            killer = status - 128;
        else if (status)
            snprintf(text, bytes, "exit status %d", status);
    }
    if (killer) snprintf(text, bytes, "killed: %s", signal_meaning(killer));
    c->out_of_time = c->out_of_time || killer == SIGXCPU;
    kill(-c->pid, SIGKILL);
    c->pid = 0;
    kill_all_children();
    return status;
}

/* ---- what this machine allows ---------------------------------------------------------------- */

static bool wall_stands(void)
{
    const char *const nothing[] = {"/bin/true", NULL};
    char text[64];
    confined c;
    const task t = {.argv = nothing,
                    .channel = -1,
                    .output = open("/dev/null", O_WRONLY | O_CLOEXEC),
                    .limits = {10, 32, 64, (size_t)1 << 30, 1 << 20}};
    const bool started = confine_start(&t, &c, NULL) == STATUS_OK;
    const bool stands = started && confine_end(&c, wall_ms() + 60000, text, sizeof text) == 0;
    close(t.output);
    return stands;
}

void confine_open(enum wall best)
{
    static const char *const FACTS[] = {
        [WALL_BUBBLEWRAP] = "bubblewrap: no network, no other processes, no files but its own",
        [WALL_UNSHARE] = "unshare: no network, no other processes; NO file system of its own: "
                         "install bubblewrap (scripts/setup --grade)",
        [WALL_NETWORK] = "unshare: no network; NO processes and files of its own: is this a "
                         "container that hides parts of /proc?",
        [WALL_NONE] = "NO namespaces here: neither network nor files are walled off (is this a "
                      "container without user namespaces?)"};
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_DUMPABLE, 0);
    /* A number of its own for each grader, so that limits on processes count nobody else's. */
    task_uid = geteuid() == 0 ? 1 << 20 | (getpid() & 0xFFFFF) : geteuid();
    wall = best;
    while (wall < WALL_NONE && !wall_stands())
        wall++;
    snprintf(facts, sizeof facts, "%s; %s; limits on time, memory, processes and files",
             FACTS[wall],
             geteuid() == 0 ? "a uid of its own"
                            : "NOT a uid of its own, because the grader is not root");
}

const char *confine_text(void)
{
    return facts;
}
