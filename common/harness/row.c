#include "harness/row.h"

#include "matrix/files.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum field_type { TEXT, INT, INT64, UINT64, REAL };

/* The columns, in order: the only list of them. */
#define FIELD(type, name)                \
    {                                    \
#name, type, offsetof(row, name) \
    }
static const struct {
    const char *name;
    enum field_type type;
    size_t offset;
} FIELDS[] = {
    FIELD(INT, lab),
    FIELD(TEXT, contender),
    FIELD(TEXT, operation),
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
    FIELD(REAL, roofline_share),
    FIELD(TEXT, vendor_best),
    FIELD(TEXT, vendor_default),
    FIELD(REAL, speedup_vendor_best),
    FIELD(REAL, speedup_vendor_default),
    FIELD(REAL, speedup_lab_before),
    FIELD(REAL, worst_error),
    FIELD(TEXT, status),
    FIELD(TEXT, message),
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
    free(list->rows);
    *list = (row_list){0};
}

/* One value as text. Returns whether there is one: NAN means none. */
static bool number_text(const row *r, int field, char *text, size_t bytes)
{
    const void *at = (const char *)r + FIELDS[field].offset;
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

/* RFC 4180: a cell with a comma, a quote or a line break is quoted, quotes are doubled. */
static void csv_text(FILE *out, const char *text)
{
    if (!text[strcspn(text, ",\"\r\n")]) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"') putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
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

/* The bytes of the UTF-8 character at `s`, or 0 if there is none (RFC 3629: overlong forms,
 * surrogates and numbers above 0x10FFFF are none). */
static int utf8_length(const unsigned char *s)
{
    const int length = s[0] < 0x80                    ? 1
                       : s[0] >= 0xC2 && s[0] <= 0xDF ? 2
                       : s[0] >= 0xE0 && s[0] <= 0xEF ? 3
                       : s[0] >= 0xF0 && s[0] <= 0xF4 ? 4
                                                      : 0;
    for (int i = 1; i < length; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    const int second = length > 2 ? s[0] << 8 | s[1] : 0;
    if ((length == 3 && second < 0xE0A0) || (second >= 0xEDA0 && second <= 0xEDBF)) return 0;
    if (length == 4 && (second < 0xF090 || second > 0xF48F)) return 0;
    return length;
}

static void json_text(FILE *out, const char *text)
{
    putc('"', out);
    while (*text) {
        const int length = utf8_length((const unsigned char *)text);
        if (length == 0)
            fputs("\\ufffd", out);
        else if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if (length == 1 && *text < 0x20)
            fprintf(out, "\\u%04x", *text);
        else
            fwrite(text, 1, length, out);
        text += length ? length : 1;
    }
    putc('"', out);
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

enum status rows_save(const char *path, void (*write)(FILE *, const row *, size_t), const row *rows,
                      size_t count, error_text *error)
{
    if (!strcmp(path, "-")) {
        write(stdout, rows, count);
        return output_flush(error);
    }
    output_file file;
    enum status status = output_open(&file, path, error);
    if (status != STATUS_OK) return status;
    write(file.stream, rows, count);
    return output_close(&file, error);
}
