/*
 * readers.c - files of every format, whole and damaged. A whole one must come back as the matrix that
 * it was written from. A damaged one may be refused; what is accepted must be a matrix, and the one
 * that the text says, where reread.c can read it again.
 */
#include "triples.h"

#include "matrix/reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Part of the sanitizer's library; not every compiler ships the header that declares it. */
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                              void (*on_free)(const volatile void *));

/* The largest request for memory since a read began. */
static size_t largest_request;

static void watch_malloc(const volatile void *block, size_t bytes)
{
    (void)block;
    if (bytes > largest_request) largest_request = bytes;
}

static void watch_free(const volatile void *block)
{
    (void)block;
}

/* ---- matrices -------------------------------------------------------------------------------- */

enum structure { ANY, LOWER, STRICTLY_LOWER };

static triples make_matrix(attempt *t, bool square, bool with_values, enum structure structure)
{
    const bool large = once_in(t, 400); /* more than one window of text.h */
    triples m = {.rows = (int64_t)draw(t, large ? 5000 : 30), .with_values = with_values};
    m.cols = square ? m.rows : (int64_t)draw(t, large ? 5000 : 40);
    int64_t entries = m.rows * m.cols > 0 ? (int64_t)draw(t, large ? 60000 : 60) : 0;
    for (int64_t k = 0; k < entries; k++) {
        int64_t row = (int64_t)draw(t, (uint64_t)m.rows), col = (int64_t)draw(t, (uint64_t)m.cols);
        if (structure != ANY && col > row) {
            int64_t swap = row;
            row = col;
            col = swap;
        }
        if (structure == STRICTLY_LOWER && row == col) continue;
        triples_add(&m, row, col, with_values ? (float)((int)draw(t, 1601) - 800) / 8 : 1);
    }
    return m;
}

/* Sorts and drops what stands at one place twice. */
static void drop_repeats(triples *m)
{
    triples_sort(m);
    int64_t kept = 0;
    for (int64_t k = 0; k < m->count; k++)
        if (kept == 0 || m->entry[kept - 1].row != m->entry[k].row ||
            m->entry[kept - 1].col != m->entry[k].col)
            m->entry[kept++] = m->entry[k];
    m->count = kept;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* How this file ends its lines and separates its words. */
typedef struct manner {
    const char *end, *between, *mark;
    int comments; /* a comment once in so many lines; 0: none */
} manner;

static manner draw_manner(attempt *t, bool commas)
{
    static const char *const betweens[] = {" ", "\t", "  ", " \t ", ",", ", "};
    return (manner){.end = once_in(t, 4) ? "\r\n" : "\n",
                    .between = betweens[draw(t, commas ? 6 : 4)],
                    .mark = once_in(t, 6) ? "\xef\xbb\xbf" : "",
                    .comments = once_in(t, 3) ? 5 : 0};
}

static void put_value(attempt *t, FILE *out, float value)
{
    static const char *const formats[] = {"%.9g", "%.3f", "%+.10e", "%.8E", "%.30g"};
    char text[80];
    snprintf(text, sizeof text, formats[draw(t, 5)], (double)value);
    char *e = strpbrk(text, "eE");
    if (e && once_in(t, 2)) *e = once_in(t, 2) ? 'D' : 'd';
    fputs(text, out);
}

static void put_comment(attempt *t, FILE *out, const manner *w, char sign)
{
    if (w->comments && once_in(t, (uint64_t)w->comments))
        fprintf(out, "%s%c said %d, not 1 2 3%s", once_in(t, 2) ? "\n" : "", sign, (int)draw(t, 9),
                w->end);
}

static bytes make_mtx(attempt *t, triples *m, bool damaged)
{
    (void)damaged; /* the text is damaged when it is whole */
    static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric"};
    int symmetry = (int)draw(t, 3), field = (int)draw(t, symmetry == 2 ? 2 : 3);
    *m = make_matrix(t, symmetry > 0, field != 2,
                     symmetry == 0   ? ANY
                     : symmetry == 1 ? LOWER
                                     : STRICTLY_LOWER);
    if (field == 1)
        for (int64_t k = 0; k < m->count; k++) {
            m->entry[k].value = (float)(int)m->entry[k].value;
            if (m->entry[k].value == 0)
                m->entry[k].value = 1; /* of a whole number there is no -0 */
        }
    bool upper = symmetry > 0 && once_in(t, 2);
    manner w = draw_manner(t, false);
    bytes b;
    FILE *out = open_memstream(&b.at, &b.count);
    fprintf(out, "%s%%%%MatrixMarket matrix coordinate %s %s%s", w.mark,
            (const char *[]){"real", "integer", "pattern"}[field], symmetries[symmetry], w.end);
    put_comment(t, out, &w, '%');
    fprintf(out, "%lld%s%lld%s%lld%s", (long long)m->rows, w.between, (long long)m->cols, w.between,
            (long long)m->count, w.end);
    int64_t stored = m->count;
    for (int64_t k = 0; k < stored; k++) {
        put_comment(t, out, &w, '%');
        triple e = m->entry[k];
        if (symmetry > 0 && e.row != e.col)
            triples_add(m, e.col, e.row, symmetry == 2 ? -e.value : e.value);
        /* The value that is written stands in the triangle that is written. */
        int64_t row = upper ? e.col : e.row, col = upper ? e.row : e.col;
        float value = upper && symmetry == 2 ? -e.value : e.value;
        fprintf(out, "%lld%s%lld", (long long)row + 1, w.between, (long long)col + 1);
        if (field == 1) fprintf(out, "%s%d", w.between, (int)value);
        if (field == 0) {
            fputs(w.between, out);
            put_value(t, out, value);
        }
        fputs(k + 1 < stored || once_in(t, 2) ? w.end : "", out);
    }
    fclose(out);
    return b;
}

static bytes make_edges(attempt *t, triples *m, bool damaged)
{
    (void)damaged; /* the text is damaged when it is whole */
    int columns = 2 + (int)draw(t, 3);
    *m = make_matrix(t, true, columns > 2, ANY);
    if (m->count == 0) triples_add(m, 0, 0, 1);
    m->rows = 0;
    manner w = draw_manner(t, true);
    bytes b;
    FILE *out = open_memstream(&b.at, &b.count);
    fputs(w.mark, out);
    put_comment(t, out, &w, '#');
    if (once_in(t, 3)) fprintf(out, "source%starget%s", w.between, w.end);
    for (int64_t k = 0; k < m->count; k++) {
        triple e = m->entry[k];
        put_comment(t, out, &w, once_in(t, 2) ? '#' : '%');
        fprintf(out, "%lld%s%lld", (long long)e.row, w.between, (long long)e.col);
        if (columns > 2) {
            fputs(w.between, out);
            put_value(t, out, e.value);
        }
        if (columns > 3)
            fprintf(out, "%s%lld.25", w.between, 1300000000 + (long long)draw(t, 9999));
        fputs(w.end, out);
        if (e.row >= m->rows) m->rows = e.row + 1;
        if (e.col >= m->rows) m->rows = e.col + 1;
    }
    m->cols = m->rows;
    fclose(out);
    return b;
}

/* The offsets and columns of CSR as text; entries are sorted. */
static void put_csr(FILE *out, const triples *m, const char *end)
{
    int64_t k = 0;
    for (int64_t i = 0; i <= m->rows; i++) {
        fprintf(out, "%lld ", (long long)k);
        while (k < m->count && m->entry[k].row == i)
            k++;
    }
    fputs(end, out);
    for (k = 0; k < m->count; k++)
        fprintf(out, "%lld ", (long long)m->entry[k].col);
    fputs(end, out);
}

static bytes make_smtx(attempt *t, triples *m, bool damaged)
{
    (void)damaged; /* the text is damaged when it is whole */
    *m = make_matrix(t, false, false, ANY);
    triples_sort(m);
    manner w = draw_manner(t, true);
    bytes b;
    FILE *out = open_memstream(&b.at, &b.count);
    fputs(w.mark, out);
    put_comment(t, out, &w, '%');
    fprintf(out, "%lld%s%lld%s%lld%s", (long long)m->rows, w.between, (long long)m->cols, w.between,
            (long long)m->count, w.end);
    put_csr(out, m, w.end);
    fclose(out);
    return b;
}

/* A layout of blocks: an entry that is there twice is one digit. */
static bytes make_blocks(attempt *t, triples *m, bool damaged)
{
    (void)damaged; /* the text is damaged when it is whole */
    *m = (triples){.rows = (int64_t)draw(t, 30), .cols = (int64_t)draw(t, 30)};
    manner w = draw_manner(t, false);
    bytes b;
    FILE *out = open_memstream(&b.at, &b.count);
    fputs(w.mark, out);
    put_comment(t, out, &w, '#');
    fprintf(out, "%lld%s%lld%s%d%s", (long long)m->rows, w.between, (long long)m->cols, w.between,
            8 << draw(t, 4), w.end);
    for (int64_t i = 0; i < m->rows; i++) {
        for (int64_t j = 0; j < m->cols; j++) {
            const bool on = once_in(t, 3);
            if (on) triples_add(m, i, j, 0);
            fprintf(out, "%d%s", on, once_in(t, 9) ? " " : "");
        }
        fputs(w.end, out);
        put_comment(t, out, &w, '#');
    }
    fclose(out);
    return b;
}

/* ---- binary formats -------------------------------------------------------------------------- */

static void put_number(FILE *out, int64_t number, int size, bool big)
{
    for (int i = 0; i < size; i++)
        fputc((int)(number >> 8 * (big ? size - 1 - i : i)) & 255, out);
}

/* Adds a member to an archive. Of a try that damages members, which zip's checksums cannot notice, one
 * in three is. */
static void add_member(attempt *t, struct archive *archive, const char *name, bytes *b,
                       bool damaged)
{
    if (damaged && once_in(t, 3)) mutate(t, b);
    struct archive_entry *entry = archive_entry_new();
    archive_entry_set_pathname(entry, name);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_size(entry, (la_int64_t)b->count);
    archive_entry_set_perm(entry, 0644);
    archive_write_header(archive, entry);
    archive_write_data(archive, b->at, b->count);
    archive_entry_free(entry);
}

/* Adds an array of whole numbers, of a drawn size and byte order. */
static void add_numbers(attempt *t, struct archive *zip, const char *name, const int64_t *number,
                        int64_t count, bool damaged)
{
    bytes b;
    FILE *out = open_memstream(&b.at, &b.count);
    int size = 1 << (1 + draw(t, 3));
    for (int64_t i = 0; i < count; i++)
        if (number[i] > INT16_MAX && size < 4) size = 4;
    bool big = once_in(t, 3);
    char head[128];
    int n = snprintf(head, sizeof head,
                     "{'descr': '%c%c%d', 'fortran_order': False, 'shape': (%lld,), }\n",
                     big ? '>' : '<', once_in(t, 3) ? 'u' : 'i', size, (long long)count);
    fwrite("\x93NUMPY\1\0", 1, 8, out);
    put_number(out, n, 2, false);
    fputs(head, out);
    for (int64_t i = 0; i < count; i++)
        put_number(out, number[i], size, big);
    fclose(out);
    add_member(t, zip, name, &b, damaged);
    free(b.at);
}

static void add_values(attempt *t, struct archive *zip, const triples *m, int64_t R, int64_t C,
                       bool damaged)
{
    bytes b;
    FILE *out = open_memstream(&b.at, &b.count);
    bool big = once_in(t, 3), wide = once_in(t, 2);
    char head[160], shape[60];
    if (R)
        snprintf(shape, sizeof shape, "%lld, %lld, %lld", (long long)(m->count / (R * C)),
                 (long long)R, (long long)C);
    else
        snprintf(shape, sizeof shape, "%lld,", (long long)m->count);
    int n =
        snprintf(head, sizeof head, "{'descr': '%c%s', 'fortran_order': False, 'shape': (%s), }\n",
                 big ? '>' : '<', wide ? "f8" : "f4", shape);
    fwrite("\x93NUMPY\1\0", 1, 8, out);
    put_number(out, n, 2, false);
    fputs(head, out);
    for (int64_t k = 0; k < m->count; k++) {
        double value = (double)m->entry[k].value;
        int64_t bits = 0;
        if (wide)
            memcpy(&bits, &value, 8);
        else
            memcpy(&bits, &m->entry[k].value, 4);
        put_number(out, bits, wide ? 8 : 4, big);
    }
    fclose(out);
    add_member(t, zip, "data.npy", &b, damaged);
    free(b.at);
}

/* Each entry of `m` in blocks of R x C: in the order of block rows, blocks, and rows inside. */
static triples in_blocks(attempt *t, int64_t R, int64_t C, triples *pattern)
{
    *pattern = make_matrix(t, false, false, ANY);
    drop_repeats(pattern);
    triples m = {.rows = pattern->rows * R, .cols = pattern->cols * C, .with_values = true};
    for (int64_t b = 0; b < pattern->count; b++)
        for (int64_t i = 0; i < R * C; i++)
            triples_add(&m, pattern->entry[b].row * R + i / C, pattern->entry[b].col * C + i % C,
                        (float)((int)draw(t, 33) - 16) / 4);
    return m;
}

static void transpose(triples *m)
{
    int64_t rows = m->rows;
    m->rows = m->cols;
    m->cols = rows;
    for (int64_t k = 0; k < m->count; k++) {
        int64_t row = m->entry[k].row;
        m->entry[k].row = m->entry[k].col;
        m->entry[k].col = row;
    }
}

static bytes make_npz(attempt *t, triples *m, bool damaged)
{
    static const char *const formats[] = {"csr", "csc", "bsr", "coo"};
    const int format = (int)draw(t, 4);
    int64_t R = 0, C = 0;
    triples pattern = {0};
    if (format == 2) {
        R = 1 + (int64_t)draw(t, 3);
        C = 1 + (int64_t)draw(t, 3);
        *m = in_blocks(t, R, C, &pattern);
    } else {
        *m = make_matrix(t, false, once_in(t, 3) ? false : true, ANY);
        if (format != 3) triples_sort(m);
    }
    const triples *of = format == 2 ? &pattern : m;
    int64_t *offset = calloc((size_t)of->rows + 2, sizeof *offset);
    int64_t *row = calloc((size_t)of->count + 1, sizeof *row);
    int64_t *col = calloc((size_t)of->count + 1, sizeof *col);
    for (int64_t k = 0; k < of->count; k++) {
        row[k] = of->entry[k].row;
        col[k] = of->entry[k].col;
        offset[row[k] + 1]++;
    }
    for (int64_t i = 0; i < of->rows; i++)
        offset[i + 1] += offset[i];

    const char *path = attempt_path(t, "made.zip");
    struct archive *zip = archive_write_new();
    archive_write_set_format_zip(zip);
    once_in(t, 2) ? archive_write_zip_set_compression_store(zip)
                  : archive_write_zip_set_compression_deflate(zip);
    archive_write_open_filename(zip, path);
    add_numbers(t, zip, format == 3 ? "col.npy" : "indices.npy", col, of->count, damaged);
    if (format == 3)
        add_numbers(t, zip, "row.npy", row, of->count, damaged);
    else
        add_numbers(t, zip, "indptr.npy", offset, of->rows + 1, damaged);
    bytes word;
    FILE *out = open_memstream(&word.at, &word.count);
    const char head[] = "{'descr': '|S3', 'fortran_order': False, 'shape': (), }\n";
    fwrite("\x93NUMPY\1\0", 1, 8, out);
    put_number(out, sizeof head - 1, 2, false);
    fprintf(out, "%s%s", head, formats[format]);
    fclose(out);
    add_member(t, zip, "format.npy", &word, damaged);
    free(word.at);
    add_numbers(t, zip, "shape.npy",
                format == 1 ? (int64_t[]){m->cols, m->rows} : (int64_t[]){m->rows, m->cols}, 2,
                damaged);
    if (m->with_values) add_values(t, zip, m, R, C, damaged);
    archive_write_close(zip);
    archive_write_free(zip);
    if (format == 1) transpose(m);
    free(offset);
    free(row);
    free(col);
    triples_free(&pattern);
    bytes b = read_file(path);
    remove(path);
    return b;
}

static csr_matrix as_csr(triples *m)
{
    error_text error;
    csr_matrix A;
    triples_sort(m);
    if (csr_alloc(&A, m->rows, m->cols, m->count, m->with_values, &error) != STATUS_OK) exit(4);
    for (int64_t k = 0; k < m->count; k++) {
        A.row_ptr[m->entry[k].row + 1]++;
        A.col_idx[k] = (int32_t)m->entry[k].col;
        if (m->with_values) A.values[k] = m->entry[k].value;
    }
    for (int64_t i = 0; i < m->rows; i++)
        A.row_ptr[i + 1] += A.row_ptr[i];
    return A;
}

static bytes make_csr(attempt *t, triples *m, bool damaged)
{
    *m = make_matrix(t, false, once_in(t, 2), ANY);
    csr_matrix A = as_csr(m);
    /* Behind a right checksum, too. */
    if (damaged) A.row_ptr[draw(t, (uint64_t)A.rows + 1)] = (int64_t)draw(t, 50) - 5;
    if (damaged && A.nnz > 0) A.col_idx[draw(t, (uint64_t)A.nnz)] = (int32_t)draw(t, 50) - 5;
    const char *path = attempt_path(t, "made.tmp");
    if (csr_write(&A, path, NULL) != STATUS_OK) exit(4);
    csr_free(&A);
    bytes b = read_file(path);
    remove(path);
    return b;
}

/* ---- formats of several files ---------------------------------------------------------------- */

static void read_and_check(attempt *t, const char *name, const char *format, bool damaged,
                           triples *m, int64_t size, const bytes *text);

static bytes draw_packing(attempt *t, bytes b, bool *packed)
{
    *packed = once_in(t, 4);
    if (!*packed) return b;
    bytes p = pack_gzip(t, &b);
    free(b.at);
    return p;
}

static bytes text_of(const char *text)
{
    return (bytes){strdup(text), strlen(text)};
}

/* The lab's format: counts, and offsets and columns as text or as two dumps. */
static void try_lab(attempt *t, bool damaged)
{
    triples m = make_matrix(t, true, false, ANY);
    triples_sort(&m);
    char counts[64];
    snprintf(counts, sizeof counts, "%lld %lld\n", (long long)m.rows, (long long)m.count);
    bytes part[3] = {text_of(counts)};
    static const char *const dumps[] = {"A.config", "A.graph.ptrdump", "A.graph.edgedump"};
    const char *names[3] = {"A.config", "A.graph"};
    int parts = 2;
    if (once_in(t, 2)) {
        memcpy(names, dumps, sizeof names);
        parts = 3;
        csr_matrix A = as_csr(&m);
        FILE *out = open_memstream(&part[1].at, &part[1].count);
        for (int64_t i = 0; i <= A.rows; i++)
            put_number(out, A.row_ptr[i], 4, false);
        fclose(out);
        out = open_memstream(&part[2].at, &part[2].count);
        for (int64_t k = 0; k < A.nnz; k++)
            put_number(out, A.col_idx[k], 4, false);
        fclose(out);
        csr_free(&A);
    } else {
        FILE *out = open_memstream(&part[1].at, &part[1].count);
        put_csr(out, &m, "\n");
        fclose(out);
    }
    if (damaged) mutate(t, &part[draw(t, (uint64_t)parts)]);
    int64_t size = 0;
    for (int i = 0; i < parts; i++) {
        write_file(t, names[i], &part[i]);
        size += (int64_t)part[i].count;
    }
    long long rows = 0, nnz = 0;
    if (damaged && parts == 2 &&
        sscanf(part[0].at, "%*1[\xef]%*2[\xbb\xbf]%lld %lld", &rows, &nnz) != 2)
        sscanf(part[0].at, "%lld %lld", &rows, &nnz);
    if (damaged) {
        m.rows = m.cols = rows;
        m.count = nnz;
    }
    read_and_check(t, once_in(t, 2) ? "A" : "A.config", parts == 2 ? "graph" : "", damaged, &m,
                   size, &part[1]);
    for (int i = 0; i < parts; i++)
        free(part[i].at);
    triples_free(&m);
}

/* OGB's folder: edges and two counts. */
static void try_ogb(attempt *t, bool damaged)
{
    triples m = make_matrix(t, true, false, ANY);
    bytes part[3];
    char counts[2][32];
    snprintf(counts[0], sizeof counts[0], "%lld\n", (long long)m.rows);
    snprintf(counts[1], sizeof counts[1], "%lld\n", (long long)m.count);
    FILE *out = open_memstream(&part[0].at, &part[0].count);
    for (int64_t k = 0; k < m.count; k++)
        fprintf(out, "%lld,%lld\n", (long long)m.entry[k].row, (long long)m.entry[k].col);
    fclose(out);
    part[1] = text_of(counts[0]);
    part[2] = text_of(counts[1]);
    if (damaged) mutate(t, &part[draw(t, 3)]);
    static const char *const names[] = {"edge.csv", "num-node-list.csv", "num-edge-list.csv"};
    int64_t size = 0;
    bool empty = part[0].count == 0;
    for (int i = 0; i < 3; i++) {
        bool packed;
        char name[40];
        part[i] = draw_packing(t, part[i], &packed);
        snprintf(name, sizeof name, "%s%s", names[i], packed ? ".gz" : "");
        write_file(t, name, &part[i]);
        size += (int64_t)part[i].count;
        free(part[i].at);
    }
    read_and_check(t, ".", "", damaged || empty, &m, size, NULL);
    triples_free(&m);
}

/* As SuiteSparse ships them: A.mtx in a folder A, with a companion. */
static void try_tar(attempt *t)
{
    triples m = {0};
    bytes b = make_mtx(t, &m, false), other = text_of("no matrix\n");
    struct archive *tar = archive_write_new();
    archive_write_set_format_pax_restricted(tar);
    const bool packed = once_in(t, 2);
    if (packed) archive_write_add_filter_gzip(tar);
    const char *name = packed ? "A.tar.gz" : "A.tar";
    archive_write_open_filename(tar, attempt_path(t, name));
    if (once_in(t, 2)) add_member(t, tar, "A/A_b.mtx", &other, false);
    add_member(t, tar, "A/A.mtx", &b, false);
    if (once_in(t, 2)) add_member(t, tar, "A/A_c.mtx", &other, false);
    archive_write_close(tar);
    archive_write_free(tar);
    free(b.at);
    free(other.at);
    b = read_file(attempt_path(t, name));
    const bool damaged = once_in(t, 2);
    if (damaged) mutate(t, &b);
    write_file(t, name, &b);
    read_and_check(t, name, "", damaged, &m, (int64_t)b.count, NULL);
    free(b.at);
    triples_free(&m);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads the file and judges. Undamaged it must be *m. Damaged it may be refused; else it must be what
 * `text` says in `format`, if that is one of reread.c's. `size` is the bytes of all its files. */
static void read_and_check(attempt *t, const char *name, const char *format, bool damaged,
                           triples *m, int64_t size, const bytes *text)
{
    static bool watching;
    if (!watching) __sanitizer_install_malloc_and_free_hooks(watch_malloc, watch_free);
    watching = true;
    csr_matrix A;
    error_text error = {""};
    largest_request = 0;
    enum status status = matrix_read(attempt_path(t, name), &A, &error);
    /* 64 MB of row offsets, and as much again for sorting on each thread. */
    if (largest_request > ((size_t)1 << 28) + 16000 * (size_t)size)
        found(t, "%s: %zu bytes of memory asked for at once, for a file of %lld", name,
              largest_request, (long long)size);
    if (status != STATUS_OK) {
        if (status != STATUS_DATASET && status != STATUS_MEMORY)
            found(t, "%s: status %d: %s", name, status, error.text);
        if (!damaged) found(t, "%s: refused: %s", name, error.text);
        if (!*error.text || strchr(error.text, '\n'))
            found(t, "%s: message '%s'", name, error.text);
        return;
    }
    check_invariants(t, &A, size);
    if (!damaged) {
        check_equal(t, &A, m);
    } else if (text && *format) {
        triples again = {0};
        if (strcmp(format, "graph") == 0) {
            again.rows = again.cols = m->rows;
            again.count = m->count;
        }
        if (reread(format, text, &again))
            check_equal(t, &A, &again);
        else
            found(t, "%s: accepted, but the plain reader makes no sense of it", name);
        triples_free(&again);
    }
    csr_free(&A);
}

static void try_one_file(attempt *t, bool damaged)
{
    typedef bytes maker(attempt *, triples *, bool damaged);
    static const struct {
        const char *name, *format;
        maker *make;
    } kinds[] = {{"A.mtx", "mtx", make_mtx},    {"A.txt", "edges", make_edges},
                 {"A.smtx", "smtx", make_smtx}, {"A.blocks", "blocks", make_blocks},
                 {"A.npz", "", make_npz},       {"A.csr", "", make_csr}};
    const int kind = (int)draw(t, 6);
    const bool is_text = *kinds[kind].format;
    triples m = {0};
    const bool inside = damaged && !is_text && once_in(t, 2);
    bytes b = kinds[kind].make(t, &m, inside), text = {0};
    bool packed = false, late = damaged && once_in(t, 3);
    if (damaged && !late && !inside) mutate(t, &b);
    if (is_text) {
        text = (bytes){memcpy(malloc(b.count + 1), b.at, b.count + 1), b.count};
        b = draw_packing(t, b, &packed);
    }
    /* Behind the packing, gzip's checksum notices, or nothing changed: then the text holds. */
    if (late && !inside) {
        mutate(t, &b);
        if (!packed && is_text) {
            free(text.at);
            text = (bytes){memcpy(malloc(b.count + 1), b.at, b.count + 1), b.count};
        }
    }
    char name[32];
    snprintf(name, sizeof name, "%s%s", kinds[kind].name, packed ? ".gz" : "");
    write_file(t, name, &b);
    read_and_check(t, name, kinds[kind].format, damaged, &m, (int64_t)b.count,
                   is_text ? &text : NULL);
    free(b.at);
    free(text.at);
    triples_free(&m);
}

/* The samples of the suite, damaged. */
static void try_sample(attempt *t)
{
    char path[600];
    triples m = {0};
    snprintf(path, sizeof path, "%s/../../datasets/samples/market.mtx", attack_programs);
    bytes b = read_file(path);
    if (b.count == 0) found(t, "there is no %s", path);
    mutate(t, &b);
    write_file(t, "A.mtx", &b);
    read_and_check(t, "A.mtx", "mtx", true, &m, (int64_t)b.count, &b);
    free(b.at);
}

static void attempt_readers(attempt *t)
{
    bool damaged = once_in(t, 2);
    setenv("SPMM_NO_CACHE", "1", 1);
    switch (draw(t, 10)) {
    case 0:
        try_lab(t, damaged);
        break;
    case 1:
        try_ogb(t, damaged);
        break;
    case 2:
        try_sample(t);
        break;
    case 3:
        try_tar(t);
        break;
    default:
        try_one_file(t, damaged);
    }
}

const attack attack_readers = {"readers", "files of every format, whole and damaged",
                               attempt_readers, 6, 1500};
