#include "results/row.h"

#include "harness/provenance.h"
#include "matrix/files.h"
#include "results/csv.h"
#include "results/json.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const char *row_status(enum status status)
{
    switch (status) {
    case STATUS_OK:
        return "ok";
    case STATUS_WRONG:
        return "wrong";
    case STATUS_MEMORY:
        return "oom";
    case STATUS_SKIPPED:
        return "skip";
    default:
        return "error";
    }
}

enum field_type { TEXT, INT, INT64, UINT64, REAL };

/* The columns, in order: the only list of them. Those of instruments name the flag, a member of the
 * row, without which they are empty. */
#define NO_FLAG ((size_t)-1)
#define ENTRY(type, name, member, flag)         \
    {                                           \
        name, type, offsetof(row, member), flag \
    }
#define FIELD(type, name) ENTRY(type, #name, name, NO_FLAG)
#define COUNTED(type, name) ENTRY(type, #name, name, offsetof(row, counted))
#define TOTAL(name, member) ENTRY(INT64, #name, total.member, offsetof(row, counted))
static const struct {
    const char *name;
    enum field_type type;
    size_t offset, flag;
} FIELDS[] = {
    FIELD(TEXT, operation),
    FIELD(INT, lab),
    FIELD(TEXT, contender),
    FIELD(TEXT, precision),
    FIELD(TEXT, dataset),
    FIELD(TEXT, origin),
    FIELD(TEXT, source),
    FIELD(INT64, rows),
    FIELD(INT64, cols),
    FIELD(INT64, nnz),
    FIELD(REAL, mean_row),
    FIELD(INT64, max_row),
    FIELD(REAL, cov_row),
    FIELD(INT, N),
    FIELD(TEXT, backend),
    FIELD(TEXT, device),
    FIELD(TEXT, driver),
    FIELD(TEXT, toolkit),
    FIELD(TEXT, commit),
    FIELD(TEXT, flags),
    FIELD(TEXT, tuning),
    FIELD(UINT64, seed),
    FIELD(TEXT, l2),
    FIELD(REAL, prepare_ms),
    FIELD(REAL, median_ms),
    FIELD(REAL, iqr_ms),
    FIELD(REAL, batch_ms),
    FIELD(INT, runs),
    FIELD(REAL, gflops),
    FIELD(REAL, compulsory_gbs),
    FIELD(REAL, gather_gbs),
    FIELD(REAL, bound_ms),
    FIELD(REAL, bound_share),
    FIELD(REAL, gather_share),
    FIELD(TEXT, vendor_best),
    FIELD(TEXT, vendor_default),
    FIELD(REAL, speedup_vendor_best),
    FIELD(REAL, speedup_vendor_default),
    FIELD(REAL, speedup_lab_before),
    FIELD(INT, ranges),
    FIELD(REAL, checked_share),
    FIELD(REAL, worst_error),
    FIELD(TEXT, status),
    FIELD(TEXT, message),
    FIELD(TEXT, model),
    COUNTED(REAL, sampled),
    COUNTED(INT64, num_kernels),
    TOTAL(ld_requests, access[GLOBAL_LOAD].requests),
    TOTAL(ld_sectors, access[GLOBAL_LOAD].cost),
    TOTAL(ld_bytes, access[GLOBAL_LOAD].bytes),
    TOTAL(st_requests, access[GLOBAL_STORE].requests),
    TOTAL(st_sectors, access[GLOBAL_STORE].cost),
    TOTAL(st_bytes, access[GLOBAL_STORE].bytes),
    TOTAL(atomic_requests, access[GLOBAL_ATOMIC].requests),
    TOTAL(atomic_sectors, access[GLOBAL_ATOMIC].cost),
    TOTAL(atomic_turns, access[GLOBAL_ATOMIC].serial),
    TOTAL(shared_ld_requests, access[SHARED_LOAD].requests),
    TOTAL(shared_ld_wavefronts, access[SHARED_LOAD].cost),
    COUNTED(INT64, shared_ld_conflicts),
    TOTAL(shared_st_requests, access[SHARED_STORE].requests),
    TOTAL(shared_st_wavefronts, access[SHARED_STORE].cost),
    COUNTED(INT64, shared_st_conflicts),
    TOTAL(shared_atomic_requests, access[SHARED_ATOMIC].requests),
    TOTAL(shared_atomic_turns, access[SHARED_ATOMIC].serial),
    TOTAL(barriers, operations[OP_BARRIER]),
    TOTAL(syncwarps, operations[OP_SYNCWARP]),
    TOTAL(shuffles, operations[OP_SHUFFLE]),
    TOTAL(votes, operations[OP_VOTE]),
    TOTAL(mma, operations[OP_MMA]),
    TOTAL(ldmatrix, operations[OP_LDMATRIX]),
    TOTAL(async_copies, operations[OP_ASYNC_COPY]),
    COUNTED(REAL, simt_efficiency),
    COUNTED(REAL, memory_simt_efficiency),
    COUNTED(REAL, warp_imbalance),
    COUNTED(REAL, block_imbalance),
    COUNTED(REAL, sm_imbalance),
    COUNTED(REAL, l1_hit_rate),
    TOTAL(l2_read_bytes, l2_read_bytes),
    TOTAL(l2_write_bytes, l2_write_bytes),
    TOTAL(dram_read_bytes, dram_read_bytes),
    TOTAL(dram_write_bytes, dram_write_bytes),
    ENTRY(REAL, "predicted_ms", predicted_ms, offsetof(row, predicted)),
    FIELD(TEXT, predicted_limit),
    ENTRY(INT64, "num_findings", num_findings, offsetof(row, checked)),
};
enum { NUM_FIELDS = sizeof FIELDS / sizeof FIELDS[0] };

enum status row_list_add(row_list *list, const row *rows, size_t count, error_text *error)
{
    if (list->count + count > list->capacity) {
        const size_t capacity = 2 * list->capacity + count;
        row *grown = realloc(list->rows, capacity * sizeof *grown);
        if (!grown) return fail(error, STATUS_MEMORY, "no memory for %zu result rows", capacity);
        list->rows = grown;
        list->capacity = capacity;
    }
    memcpy(list->rows + list->count, rows, count * sizeof *rows);
    list->count += count;
    return STATUS_OK;
}

void row_list_free(row_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        inspection_free(list->rows[i].inspection);
    free(list->rows);
    *list = (row_list){0};
}

/* One value as text. Returns whether there is one: NAN means none. */
static bool number_text(const row *r, int field, char *text, size_t bytes)
{
    const char *base = (const char *)r;
    const void *at = base + FIELDS[field].offset;
    const size_t flag = FIELDS[field].flag;
    if (flag != NO_FLAG && !*(const bool *)(base + flag)) return false;
    switch (FIELDS[field].type) {
    case INT:
        snprintf(text, bytes, "%d", *(const int *)at);
        return true;
    case INT64:
        snprintf(text, bytes, "%lld", (long long)*(const int64_t *)at);
        return true;
    case UINT64:
        snprintf(text, bytes, "%llu", (unsigned long long)*(const uint64_t *)at);
        return true;
    case REAL:
        snprintf(text, bytes, "%.6g", *(const double *)at);
        return isfinite(*(const double *)at);
    case TEXT:
        break;
    }
    return false;
}

void rows_write_csv(FILE *out, const row *rows, size_t count)
{
    fputs("schema", out);
    for (int f = 0; f < NUM_FIELDS; f++)
        fprintf(out, ",%s", FIELDS[f].name);
    putc('\n', out);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%d", ROW_SCHEMA);
        for (int f = 0; f < NUM_FIELDS; f++) {
            char number[32];
            putc(',', out);
            if (FIELDS[f].type == TEXT)
                csv_text(out, (const char *)&rows[i] + FIELDS[f].offset);
            else if (number_text(&rows[i], f, number, sizeof number))
                fputs(number, out);
        }
        putc('\n', out);
    }
}

void rows_write_json(FILE *out, const row *rows, size_t count)
{
    fprintf(out, "{\n  \"schema\": %d,\n  \"rows\": [", ROW_SCHEMA);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%s\n    {", i ? "," : "");
        for (int f = 0; f < NUM_FIELDS; f++) {
            char number[32];
            fprintf(out, "%s\n      \"%s\": ", f ? "," : "", FIELDS[f].name);
            if (FIELDS[f].type == TEXT)
                json_text(out, (const char *)&rows[i] + FIELDS[f].offset);
            else
                fputs(number_text(&rows[i], f, number, sizeof number) ? number : "null", out);
        }
        if (rows[i].inspection) json_inspection(out, rows[i].inspection);
        fputs("\n    }", out);
    }
    fputs("\n  ]\n}\n", out);
}

enum status rows_may_replace(const char *path, error_text *error)
{
    char head[32] = "";
    FILE *old = output_is_stream(path) ? NULL : fopen(path, "r");
    if (!old) return STATUS_OK;
    const size_t bytes = fread(head, 1, sizeof head - 1, old);
    fclose(old);
    if (bytes == 0 || strstr(head, "schema")) return STATUS_OK;
    return fail(error, STATUS_USAGE,
                "%s is there and holds no rows of this suite: remove it, or choose another name",
                path);
}

void row_add_machine(FILE *out, const device_info *device)
{
    csv_add_text(out, device_backend());
    csv_add_text(out, device->name);
    csv_add_text(out, device->driver);
    csv_add_text(out, device->toolkit);
    csv_add_text(out, provenance_commit());
}

enum status rows_check(const char *path, error_text *error)
{
    if (!path || !strcmp(path, "-")) return STATUS_OK;
    const enum status status = output_check(path, error);
    return status == STATUS_OK ? rows_may_replace(path, error) : status;
}

bool rows_older(const char *path, char **older)
{
    char *header = NULL, *line = NULL;
    size_t bytes = 0, room = 0, used = 0;
    *older = calloc(1, 1);
    if (output_is_stream(path)) return *older;
    FILE *old = fopen(path, "r"), *out = open_memstream(&header, &bytes);
    if (out) rows_write_csv(out, NULL, 0);
    if (out) fclose(out);
    bool fits = *older && header;
    if (old && fits && getline(&line, &room, old) > 0) {
        fits = !strcmp(line, header);
        for (ssize_t n; fits && (n = getline(&line, &room, old)) > 0; used += n) {
            char *more = realloc(*older, used + n + 1);
            fits = more;
            if (more) memcpy((*older = more) + used, line, n + 1);
        }
    }
    if (old) fclose(old);
    free(line);
    free(header);
    return fits;
}

enum status rows_save(const char *path, void (*write)(FILE *, const row *, size_t), const row *rows,
                      size_t count, const char *older, error_text *error)
{
    if (!strcmp(path, "-")) {
        write(stdout, rows, count);
        return output_flush(error);
    }
    output_file file;
    enum status status = output_open(&file, path, error);
    if (status != STATUS_OK) return status;
    write(file.stream, rows, count);
    fputs(older, file.stream);
    return output_close(&file, error);
}
