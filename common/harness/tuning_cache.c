#include "harness/tuning_cache.h"

#include "harness/provenance.h"
#include "matrix/checksum.h"
#include "matrix/files.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* One line a choice: the key, then the values of the tunables in order, all separated by tabs. */
static const char CACHE_FILE[] = "tuning.tsv";

/* All settings fit: keys that were cut short would be equal. */
enum { KEY_BYTES = 700 + FLAGS_BYTES, LINE_BYTES = KEY_BYTES + MAX_TUNABLES * 12 + 2 };

/* Checksum of this program's bytes: of the same sources and settings the compiler makes the same program again. A
 * student's kernel is hardly ever that of its commit. 0 where the program cannot be read. */
static uint64_t program_checksum(void)
{
    static uint64_t sum;
    static char piece[1 << 20];
    FILE *in = sum ? NULL : fopen("/proc/self/exe", "r");
    if (!in) return sum;
    for (size_t bytes; (bytes = fread(piece, 1, sizeof piece, in)) > 0;)
        sum = checksum(piece, bytes, sum);
    fclose(in);
    return sum;
}

/* Checksum of where the nonzeros stand: locality, which no statistic of rows tells, decides as well. */
static uint64_t structure_checksum(const csr_matrix *A)
{
    const uint64_t rows = checksum(A->row_ptr, (size_t)(A->rows + 1) * sizeof *A->row_ptr, 0);
    return checksum(A->col_idx, (size_t)A->nnz * sizeof *A->col_idx, rows);
}

/* The same words mean the same measurement. */
static void cache_key(const workbench *w, const contender *c, char key[KEY_BYTES])
{
    const row_stats *s = &w->problem->stats;
    char flags[FLAGS_BYTES];
    options_flags(w->options, flags, sizeof flags); /* with what --set fixes */
    snprintf(key, KEY_BYTES,
             "%s, driver %s, CUDA %s|%s@%016" PRIx64 "|%s %s %s|%d|%lldx%lld|nnz=%lld|max=%lld|"
             "cov=%.4f|structure=%016" PRIx64 "|%s|%s",
             w->device->name, w->device->driver, w->device->toolkit, provenance_commit(),
             program_checksum(), c->operation->name, c->name, precision_name(c->precision),
             w->problem->width, (long long)s->rows, (long long)s->cols, (long long)s->nnz,
             (long long)s->max, s->cov, structure_checksum(w->problem->A), flags,
             w->options->l2 == L2_COLD ? "cold" : "warm");
}

/* Reads one value a tunable from "\t2\t4\n". */
static bool parse_values(const char *text, const contender *c, int *value)
{
    int used = 0;
    for (int i = 0; i < contender_num_tunables(c); i++, text += used)
        if (sscanf(text, "\t%d%n", &value[i], &used) != 1 ||
            !tunable_takes(&c->tunables[i], value[i]))
            return false;
    return *text == '\n';
}

bool tuning_recall(const workbench *w, const contender *c, int *tuning)
{
    char path[4096], key[KEY_BYTES], line[LINE_BYTES];
    bool found = false;
    if (cache_path(CACHE_FILE, path, sizeof path, NULL) != STATUS_OK) return false;
    FILE *in = fopen(path, "r");
    if (!in) return false;
    cache_key(w, c, key);
    while (fgets(line, sizeof line, in)) {
        const size_t length = strcspn(line, "\t");
        int value[MAX_TUNABLES];
        if (strlen(key) != length || strncmp(line, key, length) != 0) continue;
        if (!parse_values(line + length, c, value)) continue;
        memcpy(tuning, value, contender_num_tunables(c) * sizeof *tuning);
        found = true; /* unless a later line has it, too */
    }
    fclose(in);
    return found;
}

/* A program that was killed may have left half a line, which must not swallow the next one. Asked with
 * a stream of its own: one that reads and appends writes its line in pieces. */
static bool ends_in_half_a_line(const char *path)
{
    FILE *in = fopen(path, "r");
    if (!in) return false;
    const bool half = fseek(in, -1, SEEK_END) == 0 && fgetc(in) != '\n';
    fclose(in);
    return half;
}

enum status tuning_remember(const workbench *w, const contender *c, const int *tuning,
                            error_text *error)
{
    char path[4096], key[KEY_BYTES];
    enum status status = cache_path(CACHE_FILE, path, sizeof path, error);
    if (status != STATUS_OK) return status;
    const bool half = ends_in_half_a_line(path);
    FILE *out = fopen(path, "a");
    if (!out) return fail(error, STATUS_RUNTIME, "%s: %s", path, strerror(errno));
    if (half) fputc('\n', out);
    cache_key(w, c, key);
    fputs(key, out);
    for (int i = 0; i < contender_num_tunables(c); i++)
        fprintf(out, "\t%d", tuning[i]);
    fputc('\n', out);
    const bool written = !ferror(out);
    if (fclose(out) != 0 || !written)
        return fail(error, STATUS_RUNTIME, "%s: %s", path, strerror(errno));
    return STATUS_OK;
}
