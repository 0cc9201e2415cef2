/*
 * attack - random tries against readers, tables, options and programs; ends with a figure a class.
 *
 *     run --programs build/simt [--minutes M | --tries F] [--seed S] [--class NAME] [--try I] [--keep DIR]
 *
 * --tries F runs F times the short run's tries of each class; --try I one try alone, and keeps its
 * folder. Exit status: 0 nothing was found, 1 something was, 2 usage, 4 the attack itself failed.
 */
#include "attack.h"

#include "matrix/random.h"

#include <errno.h>
#include <ftw.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const attack *const ATTACKS[] = {&attack_readers, &attack_recipes, &attack_options,
                                        &attack_tables,  &attack_soak,    &attack_starved,
                                        &attack_killed};
enum { NUM_ATTACKS = sizeof ATTACKS / sizeof *ATTACKS, MOST_FINDINGS = 20, MOST_CPU_SECONDS = 120 };

const char *attack_programs;

/* Message of a child to its parent, in shared memory. */
typedef struct progress {
    int64_t next; /* the try that runs, or comes next */
    int64_t finished;
    int findings;
} progress;

typedef struct run {
    uint64_t seed;
    double minutes, tries; /* one of them; the other is 0 */
    const char *only;      /* a class; NULL: all */
    int64_t one;           /* a try; -1: all */
    char root[64];         /* where tries work */
    const char *keep;      /* where findings are kept */
} run;

/* ---- what tries use -------------------------------------------------------------------------- */

uint64_t draw(attempt *t, uint64_t below)
{
    return random_below(t->seed, t->draws++, below);
}

bool once_in(attempt *t, uint64_t n)
{
    return draw(t, n) == 0;
}

void found(attempt *t, const char *format, ...)
{
    if (*t->finding) return;
    va_list args;
    va_start(args, format);
    vsnprintf(t->finding, sizeof t->finding, format, args);
    va_end(args);
}

/* ---- folders --------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info;
    (void)type;
    (void)where;
    return remove(path);
}

static void empty_folder(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        perror(path);
        exit(4);
    }
}

static void keep(const run *r, const char *folder, const char *name, int64_t index)
{
    char command[700];
    snprintf(command, sizeof command, "mkdir -p '%s' && cp -r '%s' '%s/%s-%llu-%lld'", r->keep,
             folder, r->keep, name, (unsigned long long)r->seed, (long long)index);
    if (system(command) != 0) fprintf(stderr, "attack: a finding could not be kept\n");
}

/* ---- tries ----------------------------------------------------------------------------------- */

static void say_finding(const run *r, const attack *a, int64_t index, const char *text)
{
    printf("FINDING %s, try %lld: %s\n  again: make attack SEED=%llu CLASS=%s TRY=%lld\n", a->name,
           (long long)index, text, (unsigned long long)r->seed, a->name, (long long)index);
    fflush(stdout);
}

static void one_try(const run *r, const attack *a, int which, int64_t index, progress *p)
{
    attempt t = {
        .seed = random_substream(random_substream(r->seed, (uint64_t)which + 1), (uint64_t)index)};
    snprintf(t.folder, sizeof t.folder, "%s/%s", r->root, a->name);
    empty_folder(t.folder);
    /* Processor time, so that a loaded machine finds nothing. */
    setitimer(ITIMER_VIRTUAL, &(struct itimerval){.it_value.tv_sec = MOST_CPU_SECONDS}, NULL);
    a->run(&t);
    p->finished++;
    if (!*t.finding) return;
    p->findings++;
    say_finding(r, a, index, t.finding);
    keep(r, t.folder, a->name, index);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Runs tries in this process, a child, from p->next up to `end` or the deadline. */
static void many_tries(const run *r, const attack *a, int which, int64_t end, double deadline,
                       progress *p)
{
    for (; p->next < end && p->findings < MOST_FINDINGS; p->next++) {
        if (deadline > 0 && now() > deadline) break;
        one_try(r, a, which, p->next, p);
    }
    fflush(stdout);
    _exit(0);
}

static void crashed(const run *r, const attack *a, int status, progress *p)
{
    char text[100], folder[160];
    if (WIFSIGNALED(status))
        snprintf(text, sizeof text, "the try ended by signal %d (%s)", WTERMSIG(status),
                 WTERMSIG(status) == SIGVTALRM ? "too much processor time" : "see above");
    else
        snprintf(text, sizeof text, "the try ended with status %d: see above", WEXITSTATUS(status));
    say_finding(r, a, p->next, text);
    snprintf(folder, sizeof folder, "%s/%s", r->root, a->name);
    keep(r, folder, a->name, p->next);
    p->findings++;
    p->finished++;
    p->next++;
}

static void run_attack(const run *r, int which, double seconds, progress *p)
{
    const attack *a = ATTACKS[which];
    const double deadline = seconds > 0 ? now() + seconds : 0;
    int64_t end = seconds > 0 ? INT64_MAX : (int64_t)(a->quick * r->tries + 0.5);
    if (r->one >= 0) {
        p->next = r->one;
        end = r->one + 1;
    }
    while (p->next < end && p->findings < MOST_FINDINGS && !(deadline > 0 && now() > deadline)) {
        fflush(stdout);
        pid_t child = fork();
        if (child < 0) {
            perror("fork");
            exit(4);
        }
        if (child == 0) many_tries(r, a, which, end, deadline, p);
        int status;
        waitpid(child, &status, 0);
        if (status == 0) break;
        crashed(r, a, status, p);
    }
}

/* ---- the run --------------------------------------------------------------------------------- */

static void usage(void)
{
    fprintf(stderr, "usage: run --programs DIR [--minutes M | --tries F] [--seed S] [--class NAME] "
                    "[--try I] [--keep DIR]\n");
    exit(2);
}

static run read_options(int argc, char **argv)
{
    static const struct option known[] = {
        {"programs", 1, 0, 'p'}, {"minutes", 1, 0, 'm'}, {"tries", 1, 0, 'n'}, {"seed", 1, 0, 's'},
        {"class", 1, 0, 'c'},    {"try", 1, 0, 'i'},     {"keep", 1, 0, 'k'},  {0}};
    run r = {.seed = (uint64_t)time(NULL), .one = -1, .keep = "attack-findings"};
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (c == '?') usage();
        if (c == 'p') attack_programs = realpath(optarg, NULL);
        if (c == 'm') r.minutes = strtod(optarg, NULL);
        if (c == 'n') r.tries = strtod(optarg, NULL);
        if (c == 's') r.seed = strtoull(optarg, NULL, 10);
        if (c == 'c') r.only = optarg;
        if (c == 'i') r.one = strtoll(optarg, NULL, 10);
        if (c == 'k') r.keep = optarg;
    }
    if (optind < argc || !attack_programs || (r.one >= 0 && !r.only)) usage();
    if (r.minutes <= 0 && r.tries <= 0) r.tries = 1;
    bool known_class = !r.only;
    for (int i = 0; i < NUM_ATTACKS; i++)
        known_class = known_class || strcmp(r.only, ATTACKS[i]->name) == 0;
    if (known_class) return r;
    fprintf(stderr, "attack: no class '%s'; there are", r.only);
    for (int i = 0; i < NUM_ATTACKS; i++)
        fprintf(stderr, " %s", ATTACKS[i]->name);
    fprintf(stderr, "\n");
    exit(2);
}

static bool is_wanted(const run *r, int which)
{
    return !r->only || strcmp(r->only, ATTACKS[which]->name) == 0;
}

int main(int argc, char **argv)
{
    run r = read_options(argc, argv);
    strcpy(r.root, "/tmp/spmm-attack-XXXXXX");
    if (!mkdtemp(r.root)) {
        perror(r.root);
        return 4;
    }
    printf("attack: seed %llu\n", (unsigned long long)r.seed);
    double shares = 0;
    for (int i = 0; i < NUM_ATTACKS; i++)
        if (is_wanted(&r, i)) shares += ATTACKS[i]->share;

    progress *all = mmap(NULL, sizeof *all * NUM_ATTACKS, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int findings = 0;
    for (int i = 0; i < NUM_ATTACKS; i++) {
        if (!is_wanted(&r, i)) continue;
        printf("attack: %s, %s\n", ATTACKS[i]->name, ATTACKS[i]->what);
        run_attack(&r, i, r.minutes * 60 * ATTACKS[i]->share / shares, &all[i]);
        findings += all[i].findings;
    }
    printf("\n%-10s %9s %9s\n", "class", "tries", "findings");
    for (int i = 0; i < NUM_ATTACKS; i++)
        if (is_wanted(&r, i))
            printf("%-10s %9lld %9d  %s\n", ATTACKS[i]->name, (long long)all[i].finished,
                   all[i].findings, ATTACKS[i]->what);
    printf("attack: seed %llu, %d findings\n", (unsigned long long)r.seed, findings);
    nftw(r.root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return findings > 0;
}
