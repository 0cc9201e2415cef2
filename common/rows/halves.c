/*
 * halves.c - a rule is fitted to one half of the matrices and judged by the other.
 *
 *     rows split seed=29 report/split.tsv     draws the halves, and prints the file with them
 *     rows table halves report/split.tsv spmm-real.csv ...
 *
 * A line of split.tsv has a name, its group and, once drawn, its half, between tabs; comments begin with #. Half of a
 * group is drawn, each choice equally likely: that of the least hashes of seed and name. So neither the order of
 * the lines nor the other groups matter, and the same seed gives the same halves everywhere.
 */
#include "matrix/random.h"
#include "rows/study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the split -------------------------------------------------------------------------------- */

typedef struct member {
    const char *name, *group;
    uint64_t order;
    bool fits; /* the rule is fitted to it */
} member;

static uint64_t hash_of(const char *name)
{
    uint64_t hash = 0;
    for (; *name; name++)
        hash = random_bits(hash, (unsigned char)*name);
    return hash;
}

/* Members in the order of the lines; comments go to `out` at once. */
static member *read_members(const char *path, uint64_t seed, long *count)
{
    FILE *in = fopen(path, "r");
    char *line = NULL;
    size_t bytes = 0, cells;
    member *list = NULL;
    names seen = {0};
    if (!in) refuse(STATUS_DATASET, "%s: cannot be read", path);
    *count = 0;
    for (long number = 1; getline(&line, &bytes, in) >= 0; number++) {
        line[strcspn(line, "\n")] = 0;
        if (*line == '#') fprintf(out, "%s\n", line);
        if (*line == '#' || !*line) continue;
        char **cell = parts_of(line, '\t', &cells);
        if (cells < 2 || cells > 3 || !*cell[0] || !*cell[1])
            refuse(STATUS_DATASET, "%s:%ld: not a name, a group and a half", path, number);
        if (names_find(&seen, cell[0]) != NONE)
            refuse(STATUS_DATASET, "%s:%ld: a second %s", path, number, cell[0]);
        names_add(&seen, cell[0]);
        list = realloc(list, (size_t)(*count + 1) * sizeof *list);
        if (!list) refuse(STATUS_MEMORY, "out of memory");
        list[(*count)++] = (member){cell[0], cell[1], random_bits(seed, hash_of(cell[0])), false};
    }
    free(line);
    fclose(in);
    if (!*count) refuse(STATUS_DATASET, "%s: no names", path);
    return list;
}

/* A member fits if fewer than half of its group come before it; of an odd number the greater half fits. */
static void draw_halves(member *list, long count)
{
    for (long i = 0; i < count; i++) {
        long before = 0, of_group = 0;
        for (long j = 0; j < count; j++) {
            if (strcmp(list[j].group, list[i].group)) continue;
            of_group++;
            before += list[j].order < list[i].order;
        }
        list[i].fits = 2 * before < of_group;
    }
}

enum status run_split(const request *q)
{
    const char *seed = option(q, "seed", "29");
    char *end;
    const unsigned long long number = strtoull(seed, &end, 10);
    if (end == seed || *end || *seed == '-') refuse(STATUS_USAGE, "seed=%s: no number", seed);
    long count;
    member *list = read_members(q->files[0], number, &count);
    draw_halves(list, count);
    for (long i = 0; i < count; i++)
        fprintf(out, "%s\t%s\t%s\n", list[i].name, list[i].group, list[i].fits ? "fit" : "judge");
    free(list);
    return STATUS_OK;
}

/* ---- the table -------------------------------------------------------------------------------- */

/* Cases of one line of the table. */
typedef struct line {
    mean over, share;
    names matrices, stand_ins;
    const problem *least_at;
} line;

static const double LARGE = 1e6; /* nonzeros */

/* The share of the speed of the fastest lab in the same rows that a lab reaches. */
static double share_on(study *s, const problem *p, double own)
{
    double fastest = own;
    for (int lab = 1; lab <= s->last_lab; lab++) {
        const double ms = time_of(s, p, text("lab%d", lab));
        if (ms && ms < fastest) fastest = ms;
    }
    return fastest / own;
}

static void add_case(study *s, line *l, const problem *p, double own, double other)
{
    const double ratio = other / own;
    if (!l->over.count || ratio < l->over.least) l->least_at = p;
    mean_add(&l->over, ratio);
    names_add(&l->matrices, p->dataset);
    if (!strcmp(p->origin, "stand-in")) names_add(&l->stand_ins, p->dataset);
    mean_add(&l->share, share_on(s, p, own));
}

static void print_line(const line *l, const char *half, const char *what)
{
    if (!l->over.count) return;
    fprintf(out, "| %s | %s | %ld (%ld) | %ld of %ld | %.2f | %s (%s) | %.1f %%, least %.1f %% |\n",
            strcmp(half, "fit") ? "unseen" : "fitted to", what, l->matrices.count,
            l->stand_ins.count, l->over.ahead, l->over.count, mean_of(&l->over),
            show_ratio(l->over.least), problem_name(l->least_at), 100 * mean_of(&l->share),
            100 * l->share.least);
}

/* Options: of (lab99), over (best). Groups but `real` have a line each; `real` has one for matrices of more than a
 * million nonzeros, and one for the others. A matrix of no half is in no line. */
void halves_table(study *s)
{
    static const char *const HALVES[] = {"fit", "judge"};
    const char *of = option(s->request, "of", "lab99"), *over = option(s->request, "over", "best");
    names groups = {0};
    long shown = 0;
    if (!s->half.key.count) nothing(s, "a split (split.tsv)");
    if (!is_known(s, of)) nothing(s, "%s", of);
    for (long i = 0; i < s->half.key.count; i++) {
        const char *group = key_part(s->half.value[i], 0);
        if (strcmp(group, "real")) names_add(&groups, group);
    }
    fprintf(
        out,
        "| half | matrices of | number (stand-ins) | ahead | %s over %s, mean | least (where) | "
        "share of the fastest lab |\n|---|---|---:|---:|---:|---|---|\n",
        heading(of), over);
    for (int h = 0; h < 2; h++) {
        line real[2] = {0};
        line *others = calloc((size_t)groups.count + 1, sizeof *others);
        if (!others) refuse(STATUS_MEMORY, "out of memory");
        for (long i = 0; i < s->problems; i++) {
            const problem *p = &s->problem[i];
            const char *where = texts_find(&s->half, without(p->dataset, "stand-in:"));
            if (!where || strcmp(key_part(where, 1), HALVES[h])) continue;
            if (!timing_of(s, p, of) || !timing_of(s, p, over)) continue;
            const long place = names_find(&groups, key_part(where, 0));
            const double own = time_of(s, p, of), other = time_of(s, p, over);
            add_case(s, place == NONE ? &real[p->nnz > LARGE] : &others[place], p, own, other);
            shown++;
        }
        print_line(&real[1], HALVES[h], "more than 1 M nonzeros");
        print_line(&real[0], HALVES[h], "up to 1 M nonzeros");
        for (long g = 0; g < groups.count; g++)
            print_line(&others[g], HALVES[h], groups.name[g]);
        free(others);
    }
    if (!shown) nothing(s, "%s and %s on a matrix of the split", of, over);
}
