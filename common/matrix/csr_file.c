#include "matrix/csr_file.h"

#include "matrix/checksum.h"
#include "matrix/files.h"
#include "matrix/mapping.h"
#include "matrix/reader.h"

#include <inttypes.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the format is little-endian memory");

typedef struct file_header {
    char magic[CSR_FILE_MAGIC_BYTES];
    int64_t rows, cols, nnz;
    uint64_t with_values; /* 0 or 1 */
    uint64_t source_key;
    uint64_t reserved; /* 0 */
    uint64_t checksum; /* of the header before this field, then of the arrays */
} file_header;
_Static_assert(sizeof(file_header) == 64, "one cache line, and the arrays stay aligned");

/* Sizes in bytes; 4-byte arrays are padded so that each begins at a multiple of 8. */
typedef struct file_layout {
    size_t offsets, columns, values, total;
} file_layout;

static size_t padded(int64_t elements)
{
    return ((size_t)elements * 4 + 7) / 8 * 8;
}

static file_layout layout_of(const file_header *h)
{
    file_layout l = {.offsets = ((size_t)h->rows + 1) * sizeof(int64_t),
                     .columns = padded(h->nnz),
                     .values = h->with_values ? padded(h->nnz) : 0};
    l.total = sizeof *h + l.offsets + l.columns + l.values;
    return l;
}

static uint64_t checksum_of(const file_header *h, const csr_matrix *A)
{
    uint64_t sum = checksum(h, offsetof(file_header, checksum), 0);
    sum = checksum(A->row_ptr, ((size_t)A->rows + 1) * sizeof *A->row_ptr, sum);
    sum = checksum(A->col_idx, (size_t)A->nnz * sizeof *A->col_idx, sum);
    if (A->values) sum = checksum(A->values, (size_t)A->nnz * sizeof *A->values, sum);
    return sum;
}

/* Writes `elements` of 4 bytes and the padding behind them. */
static void write_padded(const void *array, int64_t elements, FILE *stream)
{
    static const char zeros[8];
    if (elements == 0) return; /* there may be no array either */
    size_t bytes = (size_t)elements * 4;
    fwrite(array, 1, bytes, stream);
    fwrite(zeros, 1, padded(elements) - bytes, stream);
}

enum status csr_file_write(const csr_matrix *A, const char *path, uint64_t source_key,
                           error_text *error)
{
    file_header h = {.rows = A->rows,
                     .cols = A->cols,
                     .nnz = A->nnz,
                     .with_values = A->values != NULL,
                     .source_key = source_key};
    memcpy(h.magic, CSR_FILE_MAGIC, sizeof h.magic);
    h.checksum = checksum_of(&h, A);

    output_file out;
    enum status status = output_open(&out, path, error);
    if (status != STATUS_OK) return status;
    fwrite(&h, sizeof h, 1, out.stream);
    fwrite(A->row_ptr, sizeof *A->row_ptr, (size_t)A->rows + 1, out.stream);
    write_padded(A->col_idx, A->nnz, out.stream);
    if (A->values) write_padded(A->values, A->nnz, out.stream);
    return output_close(&out, error); /* which reports a failure of any write above */
}

enum status csr_write(const csr_matrix *A, const char *path, error_text *error)
{
    return csr_file_write(A, path, 0, error);
}

static enum status check_header(const file_header *h, size_t bytes, const char *path,
                                error_text *error)
{
    if (bytes < sizeof *h || memcmp(h->magic, CSR_FILE_MAGIC, sizeof h->magic - 1) != 0)
        return fail(error, STATUS_DATASET, "%s: no .csr file of this suite", path);
    if (h->magic[sizeof h->magic - 1] != CSR_FILE_MAGIC[sizeof h->magic - 1])
        return fail(error, STATUS_DATASET,
                    "%s: version %d of the .csr format, but this program reads version %d", path,
                    h->magic[sizeof h->magic - 1], CSR_FILE_MAGIC[sizeof h->magic - 1]);
    /* Limits first, so that the sum of sizes cannot overflow. */
    bool possible = h->rows >= 0 && h->rows <= INT32_MAX && h->cols >= 0 && h->cols <= INT32_MAX &&
                    h->nnz >= 0 && (uint64_t)h->nnz <= bytes / 4 && h->with_values <= 1;
    if (!possible || layout_of(h).total != bytes)
        return fail(error, STATUS_DATASET,
                    "%s: the file has %zu bytes, which is not what its header promises (%" PRId64
                    " x %" PRId64 ", %" PRId64 " nonzeros)",
                    path, bytes, h->rows, h->cols, h->nnz);
    return STATUS_OK;
}

enum status csr_file_map(const char *path, uint64_t source_key, csr_matrix *A, error_text *error)
{
    void *address;
    size_t bytes;
    *A = (csr_matrix){0};
    enum status status = mapping_open(path, &address, &bytes, error);
    if (status != STATUS_OK) return status;
    const file_header *h = address;
    status = check_header(h, bytes, path, error);
    if (status != STATUS_OK) goto cleanup;

    file_layout l = layout_of(h);
    char *arrays = (char *)address + sizeof *h;
    *A = (csr_matrix){.rows = h->rows,
                      .cols = h->cols,
                      .nnz = h->nnz,
                      .row_ptr = (int64_t *)arrays,
                      .mapping = address,
                      .mapping_bytes = bytes};
    /* Without nonzeros the arrays would begin at the end of the mapping, which is not inside it. */
    if (h->nnz == 0) l.offsets = l.columns = 0;
    A->col_idx = (int32_t *)(arrays + l.offsets);
    if (h->with_values) A->values = (float *)(arrays + l.offsets + l.columns);

    if (checksum_of(h, A) != h->checksum)
        status = fail(error, STATUS_DATASET, "%s: the checksum differs: the file is damaged", path);
    else if (h->source_key != source_key)
        status = fail(error, STATUS_DATASET, "%s: a cache entry, made from another file", path);

cleanup:
    if (status != STATUS_OK) {
        mapping_close(address, bytes);
        *A = (csr_matrix){0};
    }
    return status;
}
