/*
 * programs.c - the ready programs from outside: random shapes against the oracle, memory that runs
 * out, and kills at any moment.
 */
#include "attack.h"

#include "harness/tuning_cache.h"
#include "matrix/random.h"
#include "ops/spmm.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <omp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_WORDS = 24, MOST_CPU_SECONDS = 900 };

typedef struct command {
    char word[MOST_WORDS][300];
    int count;
    char preload[400], starve[64]; /* empty: none */
} command;

static void add(command *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(command *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->word[c->count++], sizeof c->word[0], format, args);
    va_end(args);
}

/* The command as a line, for findings. */
static const char *line_of(const command *c)
{
    static char line[900];
    size_t n = 0;
    for (int i = 0; i < c->count && n < sizeof line; i++)
        n += (size_t)snprintf(line + n, sizeof line - n, "%s%s", i ? " " : "", c->word[i]);
    return line;
}

/* Starts it in the try's folder, with a cache there and its output in out.txt and err.txt. */
static pid_t start(const attempt *t, const command *c)
{
    char *argv[MOST_WORDS + 1] = {NULL};
    for (int i = 0; i < c->count; i++)
        argv[i] = (char *)(uintptr_t)c->word[i];
    pid_t child = fork();
    if (child != 0) return child;
    if (chdir(t->folder) != 0) _exit(126);
    dup2(open("out.txt", O_WRONLY | O_CREAT | O_TRUNC, 0666), STDOUT_FILENO);
    dup2(open("err.txt", O_WRONLY | O_CREAT | O_TRUNC, 0666), STDERR_FILENO);
    setrlimit(RLIMIT_CPU, &(struct rlimit){MOST_CPU_SECONDS, MOST_CPU_SECONDS});
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    setenv("XDG_CACHE_HOME", t->folder, 1);
    setenv("OMP_WAIT_POLICY", "passive", 1);
    unsetenv("SPMM_NO_CACHE");
    if (*c->preload) setenv("LD_PRELOAD", c->preload, 1);
    if (*c->starve) setenv("STARVE", c->starve, 1);
    execv(argv[0], argv);
    _exit(127);
}

static int finish(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

/* Judges how a command that nobody killed came to its end: a finding unless its status is one of
 * `allowed` and, where it is an error, it says something about it: a line, or a word of the table. */
static void judge(attempt *t, const command *c, int status, const char *allowed)
{
    bytes errors = read_file(attempt_path(t, "err.txt")),
          table = read_file(attempt_path(t, "out.txt"));
    char code[8];
    snprintf(code, sizeof code, " %d ", WEXITSTATUS(status));
    if (WIFSIGNALED(status))
        found(t, "%s [%s]: signal %d: %.300s", line_of(c), c->starve, WTERMSIG(status), errors.at);
    else if (!strstr(allowed, code))
        found(t, "%s [%s]: status%s: %.300s", line_of(c), c->starve, code, errors.at);
    else if (status != 0 && WEXITSTATUS(status) != 77 && errors.count + table.count == 0)
        found(t, "%s [%s]: status%s without a word", line_of(c), c->starve, code);
    free(errors.at);
    free(table.at);
}

/* ---- soak ------------------------------------------------------------------------------------ */

static void add_lab(attempt *t, command *c)
{
    char pattern[600];
    glob_t labs;
    snprintf(pattern, sizeof pattern, "%s/lab[0-9]*", attack_programs);
    if (glob(pattern, 0, NULL, &labs) != 0) {
        fprintf(stderr, "attack: no labs in %s\n", attack_programs);
        exit(4);
    }
    const char *lab;
    do
        lab = labs.gl_pathv[draw(t, labs.gl_pathc)];
    while (strchr(strrchr(lab, '/'), '.'));
    add(c, "%s", lab);
    globfree(&labs);
}

static void add_recipe(attempt *t, command *c, uint64_t most_rows)
{
    static const char *const skews[] = {"0", "0", "0.8", "1.5", "2.5"};
    static const char *const empties[] = {"0", "0", "0.3", "0.9", "1"};
    static const char *const sparsities[] = {"0", "0.5", "0.9", "0.99"};
    int rows = 1 + (int)draw(t, most_rows), cols = 1 + (int)draw(t, most_rows);
    if (once_in(t, 3)) {
        add(c, "weights:rows=%d,cols=%d,sparsity=%s,seed=%d", rows, cols, PICK(t, sparsities),
            (int)draw(t, 1000));
        return;
    }
    int degree = (int)draw(t, once_in(t, 6) ? (uint64_t)cols + 1
                              : cols < 12   ? (uint64_t)cols + 1
                                            : 12);
    add(c, "rand:rows=%d,cols=%d,deg=%d,skew=%s,empty=%s,seed=%d", rows, cols, degree,
        PICK(t, skews), PICK(t, empties), (int)draw(t, 1000));
}

static void attempt_soak(attempt *t)
{
    command c = {0};
    bool traced = once_in(t, 8);
    add_lab(t, &c);
    add_recipe(t, &c, traced ? 40 : once_in(t, 10) ? 3000 : 300);
    add(&c, "%d", 1 + (int)draw(t, traced ? 20 : 140));
    add(&c, "--seed");
    add(&c, "%d", (int)draw(t, 100000));
    if (traced) {
        add(&c, once_in(t, 2) ? "--memcheck" : "--racecheck");
    } else {
        add(&c, "--check-only");
        if (once_in(t, 12)) add(&c, "--sweep");
    }
    /* 2: too many settings for a sweep. 3: rand: refuses some sizes. Both are said. */
    bool sweeps = strcmp(c.word[c.count - 1], "--sweep") == 0;
    judge(t, &c, finish(start(t, &c)), sweeps ? " 0 2 3 77 " : " 0 3 77 ");
}

/* ---- memory that runs out -------------------------------------------------------------------- */

static void write_matrix(attempt *t, const char *name)
{
    bytes b;
    FILE *out = open_memstream(&b.at, &b.count);
    fprintf(out, "%%%%MatrixMarket matrix coordinate real general\n20 30 60\n");
    for (int k = 0; k < 60; k++)
        fprintf(out, "%d %d 0.5\n", 1 + (int)draw(t, 20), 1 + (int)draw(t, 30));
    fclose(out);
    if (strstr(name, ".gz")) {
        bytes packed = pack_gzip(t, &b);
        free(b.at);
        b = packed;
    }
    write_file(t, name, &b);
    free(b.at);
}

static void attempt_starved(attempt *t)
{
    static const char *const names[] = {"A.mtx", "A.mtx.gz"};
    command c = {0};
    const char *name = PICK(t, names);
    write_matrix(t, name);
    switch (draw(t, 4)) {
    case 0:
        add(&c, "%s/convert", attack_programs);
        add(&c, "%s", name);
        add(&c, "B.csr");
        break;
    case 1:
        add(&c, "%s/labstat", attack_programs);
        add(&c, "%s", name);
        break;
    default:
        add_lab(t, &c);
        if (once_in(t, 3))
            add_recipe(t, &c, 60);
        else
            add(&c, "%s", name);
        add(&c, "%d", 1 + (int)draw(t, 40));
        add(&c, "--check-only");
        if (once_in(t, 3)) {
            add(&c, "--csv");
            add(&c, "rows.csv");
            add(&c, "--json");
            add(&c, "rows.json");
        }
    }
    snprintf(c.preload, sizeof c.preload, "%s/tests/attack/starve.so", attack_programs);
    uint64_t most = (uint64_t)4 << draw(t, 8);
    snprintf(c.starve, sizeof c.starve, "%d%s", 1 + (int)draw(t, most), once_in(t, 3) ? "+" : "");
    judge(t, &c, finish(start(t, &c)), " 0 3 4 5 77 ");
}

/* ---- kills ----------------------------------------------------------------------------------- */

/* Whether the text is whole lines of rows: the column names, and as many cells in each line. */
static bool is_whole_csv(const bytes *b)
{
    if (b->count == 0 || b->at[b->count - 1] != '\n' || strncmp(b->at, "schema,", 7) != 0)
        return false;
    int commas = 0, wanted = -1;
    bool quoted = false;
    for (size_t i = 0; i < b->count; i++) {
        if (b->at[i] == '"') quoted = !quoted;
        if (b->at[i] == ',' && !quoted) commas++;
        if (b->at[i] != '\n' || quoted) continue;
        if (wanted < 0) wanted = commas;
        if (commas != wanted) return false;
        commas = 0;
    }
    return !quoted;
}

/* Whether every line is a key with nine bars, a tab, and numbers; or half a key that a kill left, alone
 * on its line. Empty lines say nothing. */
static bool is_whole_cache(const bytes *b)
{
    char *rest = b->at;
    for (char *line; (line = strsep(&rest, "\n")) && rest;) {
        int bars = 0;
        size_t key = strcspn(line, "\t");
        for (size_t i = 0; i < key; i++)
            bars += line[i] == '|';
        if (!*line) continue;
        if (!line[key] && bars <= 9 && !strstr(line + 1, "GPU|")) continue;
        if (bars != 9 || !line[key] || line[key + 1 + strspn(line + key + 1, "-0123456789\t")])
            return false;
    }
    return true;
}

static bool is_prefix(const bytes *before, const bytes *after)
{
    return before->count <= after->count && memcmp(before->at, after->at, before->count) == 0;
}

/* Kills the child after a while, and waits for it. */
static void kill_later(attempt *t, pid_t child)
{
    usleep((useconds_t)draw(t, (uint64_t)1000 << draw(t, 10)));
    kill(child, once_in(t, 3) ? SIGTERM : once_in(t, 2) ? SIGINT : SIGKILL);
    finish(child);
}

/* Runs a lab that writes rows, kills it, and looks at what is left: the rows that were there, or whole
 * new ones. */
static void try_rows(attempt *t)
{
    command c = {0};
    write_matrix(t, "A.mtx");
    add_lab(t, &c);
    add(&c, "A.mtx");
    add(&c, "%d", 1 + (int)draw(t, 40));
    add(&c, "--csv");
    add(&c, "rows.csv");
    judge(t, &c, finish(start(t, &c)), " 0 77 ");
    bytes rows = read_file(attempt_path(t, "rows.csv"));
    if (!is_whole_csv(&rows)) found(t, "%s: rows.csv is not whole", line_of(&c));
    for (int turn = 0; turn < 4 && !*t->finding; turn++) {
        kill_later(t, start(t, &c));
        bytes now = read_file(attempt_path(t, "rows.csv"));
        bool same = now.count == rows.count && memcmp(now.at, rows.at, rows.count) == 0;
        if (!same && !is_whole_csv(&now)) found(t, "%s: rows.csv is torn or lost", line_of(&c));
        free(rows.at);
        rows = now;
    }
    free(rows.at);
}

/* Remembers a setting for a matrix of no entries that has so many rows, by its statistics. */
static void remember(int64_t rows)
{
    static contender lab = {
        .lab = 1, .name = "killed", .tunables = {{"D", "", {1, 2, 4}, 3}, {"C", "", {1, 2}, 2}}};
    lab.operation = &spmm_operation;
    const options o = {.tune = true};
    const device_info device = {.name = "GPU"};
    int64_t offset = 0;
    const csr_matrix A = {.row_ptr = &offset};
    const problem p = {.width = 32, .A = &A, .stats.rows = rows};
    const workbench w = {.options = &o, .device = &device, .problem = &p};
    error_text error;
    tuning_remember(&w, &lab, (const int[]){2, 1}, &error);
}

static void remember_for_ever(uint64_t seed)
{
    omp_set_num_threads(1); /* the parent's threads are not there after fork */
    for (uint64_t k = 0;; k++)
        remember((int64_t)random_below(seed, k, 1000000));
}

/* Two processes fill the tuning cache and are killed: it holds what it held, and whole lines behind. */
static void try_cache(attempt *t)
{
    bytes cache = {strdup(""), 0};
    setenv("XDG_CACHE_HOME", t->folder, 1);
    remember(0); /* so that the checksum of the program is known before the first fork */
    for (int turn = 0; turn < 3 && !*t->finding; turn++) {
        pid_t child[2];
        for (int i = 0; i < 2; i++) {
            const uint64_t seed = draw(t, UINT64_MAX);
            child[i] = fork();
            if (child[i] == 0) remember_for_ever(seed);
        }
        usleep((useconds_t)draw(t, 30000));
        for (int i = 0; i < 2; i++) {
            kill(child[i], SIGKILL);
            finish(child[i]);
        }
        bytes now = read_file(attempt_path(t, "spmm-lab/tuning.tsv"));
        if (!is_prefix(&cache, &now)) found(t, "the tuning cache lost lines");
        free(cache.at);
        cache = (bytes){memcpy(malloc(now.count + 1), now.at, now.count + 1), now.count};
        if (!is_whole_cache(&now)) found(t, "the tuning cache is torn");
        free(now.at);
    }
    free(cache.at);
}

static void attempt_killed(attempt *t)
{
    once_in(t, 4) ? try_cache(t) : try_rows(t);
}

const attack attack_soak = {"soak", "random shapes on all labs, against the oracle", attempt_soak,
                            6, 6};
const attack attack_starved = {"starved", "programs whose n-th allocation fails", attempt_starved,
                               2, 40};
const attack attack_killed = {"killed", "programs killed while they write rows or the tuning cache",
                              attempt_killed, 1, 4};
