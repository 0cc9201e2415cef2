#include "harness/profile_table.h"

#include "harness/source_text.h"
#include "harness/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Marked are lanes active below POOR, and accesses of which less than that is of use if they are MANY
 * of their kernel's. */
static const double POOR = 0.5, MANY = 0.1;

static const char *const KIND_NAMES[ACCESS_KINDS] = {
    [GLOBAL_LOAD] = "global load",     [GLOBAL_STORE] = "global store",
    [GLOBAL_ATOMIC] = "global atomic", [SHARED_LOAD] = "shared load",
    [SHARED_STORE] = "shared store",   [SHARED_ATOMIC] = "shared atomic",
};
static const char *const SHORT_NAMES[ACCESS_KINDS] = {
    [GLOBAL_LOAD] = "load",          [GLOBAL_STORE] = "store",
    [GLOBAL_ATOMIC] = "atomic",      [SHARED_LOAD] = "shared load",
    [SHARED_STORE] = "shared store", [SHARED_ATOMIC] = "shared atomic",
};

/* Global memory: useful bytes over moved ones. Shared memory: the least wavefronts over those taken. */
static double efficiency(enum access_kind kind, const access_counters *n)
{
    return is_shared(kind) ? share_of(n->ideal, n->cost) : coalescing(n);
}

/* ---- a kernel as a whole --------------------------------------------------------------------- */

/* "42336" or "12 x 8" */
static const char *extent(const unsigned v[3], char *text, size_t bytes)
{
    if (v[2] > 1)
        snprintf(text, bytes, "%u x %u x %u", v[0], v[1], v[2]);
    else if (v[1] > 1)
        snprintf(text, bytes, "%u x %u", v[0], v[1]);
    else
        snprintf(text, bytes, "%u", v[0]);
    return text;
}

static void print_kernel_heading(FILE *out, const kernel_profile *k)
{
    char grid[40], block[40];
    fprintf(out, "  %s%s%s%s", paint(out, BOLD), k->name, paint(out, PLAIN),
            k->in_prepare ? " (in prepare)" : "");
    fprintf(out, ": grid %s, block %s", extent(k->grid, grid, sizeof grid),
            extent(k->block, block, sizeof block));
    if (k->dynamic_shared_bytes)
        fprintf(out, ", %zu B of dynamic shared memory", k->dynamic_shared_bytes);
    if (k->total.launches > 1) fprintf(out, ", %" PRId64 " launches", k->total.launches);
    if (k->sampled < 1)
        fprintf(out, "\n    scaled up from %s of the blocks", percent(k->sampled).text);
    putc('\n', out);
}

/* Sectors of global memory, or wavefronts of shared memory, whichever a kind is counted in. */
static int64_t cost_of_kernel(enum access_kind kind, const counters *total)
{
    int64_t cost = 0;
    for (int k = 0; k < ACCESS_KINDS; k++)
        if (is_shared(k) == is_shared(kind)) cost += total->access[k].cost;
    return cost;
}

static void print_titles(FILE *out)
{
    fprintf(out, "    %-28s %8s %6s %8s %7s %6s %7s %7s\n", "", "requests", "lanes", "moved",
            "each", "ideal", "effic.", "share");
}

/* The columns of an access, the same for a kernel as a whole and for a line of it. */
static void print_access(FILE *out, const char *what, enum access_kind kind,
                         const access_counters *n, const counters *total)
{
    const double useful = efficiency(kind, n),
                 share = share_of(n->cost, cost_of_kernel(kind, total));
    const bool marked = useful < POOR && share > MANY;
    fprintf(out, "    %-28s %8s %6.1f %8s %7.2f %6.2f %s%7s%s %7s", what,
            amount((double)n->requests).text, per_request(n->lanes, n),
            amount((double)n->cost).text, per_request(n->cost, n), per_request(n->ideal, n),
            marked ? paint(out, YELLOW) : "", percent(useful).text, marked ? paint(out, PLAIN) : "",
            percent(share).text);
}

static void print_accesses(FILE *out, const counters *total)
{
    for (int k = 0; k < ACCESS_KINDS; k++) {
        const access_counters *n = &total->access[k];
        if (!n->requests) continue;
        print_access(out, KIND_NAMES[k], k, n, total);
        putc('\n', out);
    }
    const int64_t conflicts =
        bank_conflicts(&total->access[SHARED_LOAD]) + bank_conflicts(&total->access[SHARED_STORE]);
    if (conflicts)
        fprintf(out, "    bank conflicts  %s%s%s: wavefronts beyond the least\n",
                paint(out, YELLOW), in_words((double)conflicts).text, paint(out, PLAIN));
    for (int k = 0; k < ACCESS_KINDS; k++) {
        const access_counters *n = &total->access[k];
        if (n->serial)
            fprintf(out, "    %-14s  %.2f lanes a request take turns at one address\n",
                    is_shared(k) ? "shared atomics" : "atomics", per_request(n->serial, n));
    }
}

static void print_operations(FILE *out, const counters *n)
{
    static const char *const NAMES[WARP_OPERATIONS] = {
        [OP_BARRIER] = "barriers",
        [OP_SYNCWARP] = "syncwarps",
        [OP_SHUFFLE] = "shuffles",
        [OP_VOTE] = "votes",
        [OP_MMA] = "mma",
        [OP_LDMATRIX] = "ldmatrix",
        [OP_ASYNC_COPY] = "cp.async",
    };
    const char *before = "    of warps        ";
    for (int k = 0; k < WARP_OPERATIONS; k++) {
        if (!n->operations[k]) continue;
        fprintf(out, "%s%s %s", before, in_words((double)n->operations[k]).text, NAMES[k]);
        before = ", ";
    }
    if (*before == ',') putc('\n', out);
}

static void print_rest(FILE *out, const counters *n)
{
    const double active = simt_efficiency(n->memory_lanes, n->memory_steps);
    fprintf(out, "    lanes active    %s%s%s in memory accesses, %s in all steps\n",
            active < POOR ? paint(out, YELLOW) : "", percent(active).text,
            active < POOR ? paint(out, PLAIN) : "",
            percent(simt_efficiency(n->lane_steps, n->steps)).text);
    print_operations(out, n);
    fprintf(out,
            "    imbalance       longest warp %s (%s the mean), longest block %s, busiest SM %s\n",
            in_words((double)n->longest_warp).text,
            times(imbalance(n->longest_warp, n->work, n->warps)).text,
            times(imbalance(n->longest_block, n->work, n->blocks)).text,
            times(imbalance(n->busiest_sm, n->work, n->sms)).text);
    fprintf(out, "    caches          L1 %s hits; L2 %s read, %s written; ",
            percent(share_of(n->l1_hit_sectors, n->access[GLOBAL_LOAD].cost)).text,
            bytes_in_words((double)n->l2_read_bytes).text,
            bytes_in_words((double)n->l2_write_bytes).text);
    fprintf(out, "DRAM %s read, %s written\n", bytes_in_words((double)n->dram_read_bytes).text,
            bytes_in_words((double)n->dram_write_bytes).text);
}

/* ---- a kernel line by line ------------------------------------------------------------------- */

/* Splits "labs/02_warp_per_row/lab.cu:33": returns the length of the file's name. */
static int split_where(const char *where, int *line)
{
    const char *colon = strrchr(where, ':');
    *line = colon ? atoi(colon + 1) : 0;
    return colon ? (int)(colon - where) : (int)strlen(where);
}

/* The source, then what it does. */
static void print_lines(FILE *out, const kernel_profile *k)
{
    const char *before = "";
    char source[TERMINAL_WIDTH - 10], what[40];
    for (size_t i = 0; i < k->num_lines; i++) {
        const line_profile *l = &k->lines[i];
        int number, old_number;
        const int file = split_where(l->where, &number), old = split_where(before, &old_number);
        const bool new_file = file != old || strncmp(l->where, before, file) != 0;
        if (new_file) fprintf(out, "    %.*s\n", file, l->where);
        if (new_file || number != old_number) {
            fprintf(out, "    %4d", number);
            if (source_text(l->where, file, number, source, sizeof source))
                fprintf(out, "  %s%s%s", paint(out, CYAN), source, paint(out, PLAIN));
            putc('\n', out);
        }
        snprintf(what, sizeof what, "      %s %d B", SHORT_NAMES[l->kind], l->size);
        print_access(out, what, l->kind, &l->n, &k->total);
        putc('\n', out);
        before = l->where;
    }
}

static void print_kernel(FILE *out, const kernel_profile *k)
{
    print_kernel_heading(out, k);
    print_titles(out);
    print_accesses(out, &k->total);
    print_rest(out, &k->total);
    print_lines(out, k);
    putc('\n', out);
}

/* ---- one contender --------------------------------------------------------------------------- */

static void print_rule(FILE *out, const char *name)
{
    int dashes = TERMINAL_WIDTH - 4 - (int)strlen(name);
    fprintf(out, "%s-- %s %s", paint(out, BOLD), name, paint(out, PLAIN));
    for (; dashes > 0; dashes--)
        putc('-', out);
    fputs("\n", out);
}

void profile_legend(FILE *out)
{
    print_folded(
        out, 2,
        "moved: 32-byte sectors of global memory, or wavefronts (passes through the 32 banks "
        "of shared memory); each: the same a request; ideal: if the bytes of its lanes lay "
        "side by side; effic.: bytes that lanes ask for over bytes moved, above 100 % where "
        "lanes ask for the same (shared memory: ideal over each); share: of the kernel.");
    putc('\n', out);
}

/* Kernels of prepare are told apart from those of run, and shown whole only if they do more. */
static bool is_minor(const inspection *i, const kernel_profile *k)
{
    return k->in_prepare && global_sectors(&k->total) <= i->run_sectors;
}

static void print_minor(FILE *out, const inspection *i)
{
    char *text = NULL;
    size_t bytes, listed = 0;
    FILE *list = open_memstream(&text, &bytes);
    if (!list) return;
    for (size_t k = 0; k < i->num_kernels; k++) {
        const kernel_profile *p = &i->kernels[k];
        if (!is_minor(i, p)) continue;
        fprintf(list, "%s%s (", listed++ ? ", " : "in prepare: ", p->name);
        if (p->total.launches > 1) fprintf(list, "%" PRId64 " launches, ", p->total.launches);
        fprintf(list, "%s sectors)", in_words((double)global_sectors(&p->total)).text);
    }
    fclose(list);
    if (listed) print_folded(out, 2, text);
    free(text);
}

void profile_print(FILE *out, const char *name, const inspection *i)
{
    print_rule(out, name);
    print_minor(out, i);
    for (size_t k = 0; k < i->num_kernels; k++)
        if (!is_minor(i, &i->kernels[k])) print_kernel(out, &i->kernels[k]);
}

/* ---- findings -------------------------------------------------------------------------------- */

static void print_source(FILE *out, const char *label, const char *where)
{
    char source[TERMINAL_WIDTH];
    int number;
    const int file = split_where(where, &number);
    if (!*where) return;
    fprintf(out, "    %-4s %s", label, where);
    if (source_text(where, file, number, source, sizeof source))
        fprintf(out, "   %.*s", TERMINAL_WIDTH - 12 - (int)strlen(where), source);
    putc('\n', out);
}

static void print_finding(FILE *out, const finding *f)
{
    char text[700];
    fprintf(out, "  %s%s%s in %s", paint(out, RED), f->kind, paint(out, PLAIN), f->kernel);
    if (f->count > 0)
        fprintf(out, ", block (%u,%u,%u), thread (%u,%u,%u)", f->block[0], f->block[1], f->block[2],
                f->thread[0], f->thread[1], f->thread[2]);
    if (f->count > 1) fprintf(out, ", the first of %" PRId64, f->count);
    putc('\n', out);
    print_folded(out, 4, f->text);
    print_source(out, "at", f->where);
    print_source(out, "and", f->other);
    snprintf(text, sizeof text, "think of: %s", f->advice);
    if (*f->advice) print_folded(out, 4, text);
}

void findings_print(FILE *out, const char *name, const inspection *i)
{
    if (!i->num_findings) return;
    print_rule(out, name);
    for (size_t k = 0; k < i->num_findings; k++) {
        print_finding(out, &i->findings[k]);
        putc('\n', out);
    }
}
