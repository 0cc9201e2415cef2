/*
 * planted.c - bugs that the attack must find: a reader of .mtx, and functions that the linker puts before
 * the real ones (--wrap), are wrong as $PLANT says. Linked into a program of its own.
 *
 *     wrong     the second entry of some matrices changes its sign: the file says otherwise
 *     overrun   one byte behind the values is read: AddressSanitizer sees it
 *     greedy    memory for 2^31 rows is asked for, whatever the file holds
 *     refuses   a whole file of more than 20 rows is refused
 *     recipe    a generator's matrix differs where its seed is spelled out
 *     option    the second of several widths becomes 0
 *     table     the points of a rubric's first test become NaN
 */
#include "grader/rubric.h"
#include "harness/options.h"
#include "matrix/generate.h"
#include "matrix/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const matrix_reader *real_mtx(void)
{
    const matrix_reader *r = matrix_readers();
    while (strcmp(r->name, "mtx") != 0)
        r = r->next;
    return r;
}

static int recognise(const char *path, const char *head, size_t head_bytes)
{
    return real_mtx()->recognise(path, head, head_bytes) ? 101 : 0;
}

static bool plants(const char *bug)
{
    const char *plant = getenv("PLANT");
    return plant && strcmp(plant, bug) == 0;
}

static enum status read_badly(const char *path, csr_matrix *A, error_text *error)
{
    if (plants("greedy")) {
        void *volatile rows = calloc((size_t)1 << 31, 8);
        free(rows);
    }
    enum status status = real_mtx()->read(path, A, error);
    if (status != STATUS_OK) return status;
    if (plants("wrong") && A->values && A->nnz > 30) A->values[1] = -A->values[1];
    if (plants("overrun") && A->values && A->nnz > 30) {
        volatile char *behind = (char *)(A->values + A->nnz);
        behind[1] = behind[1];
    }
    if (plants("refuses") && A->rows > 20) {
        csr_free(A);
        return fail(error, STATUS_DATASET, "%s: planted", path);
    }
    return STATUS_OK;
}

enum status __real_generate(const char *spec, csr_matrix *A, char *source, size_t bytes,
                            error_text *error);
enum status __wrap_generate(const char *spec, csr_matrix *A, char *source, size_t bytes,
                            error_text *error)
{
    enum status status = __real_generate(spec, A, source, bytes, error);
    if (status == STATUS_OK && plants("recipe") && strstr(spec, "seed=") && A->nnz > 0 &&
        A->cols > 1)
        A->col_idx[0] = (int32_t)((A->col_idx[0] + 1) % A->cols);
    return status;
}

enum status __real_options_parse(int argc, char **argv, options *o, error_text *error);
enum status __wrap_options_parse(int argc, char **argv, options *o, error_text *error)
{
    enum status status = __real_options_parse(argc, argv, o, error);
    if (plants("option") && o->num_widths > 1) o->widths[1] = 0;
    return status;
}

enum status __real_rubric_read(const char *path, rubric *p, error_text *error);
enum status __wrap_rubric_read(const char *path, rubric *p, error_text *error)
{
    enum status status = __real_rubric_read(path, p, error);
    if (plants("table")) p->tests[0].points = NAN;
    return status;
}

static matrix_reader planted = {
    .name = "planted", .description = "bugs", .recognise = recognise, .read = read_badly};
REGISTER_MATRIX_READER(planted)
