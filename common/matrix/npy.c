#include "matrix/npy.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAGIC_BYTES = 6,
    MAX_HEADER = 1 << 16, /* numpy's own limit is 10000 */
    BLOCK_BYTES = 1 << 16 /* elements are converted in blocks of this size */
};

static enum status bad_header(const npy_source *source, const char *reason, error_text *error)
{
    return fail(error, STATUS_DATASET, "%s: %s", source->name, reason);
}

/* The text behind 'key': in the dictionary, or NULL. */
static const char *value_of(const char *dictionary, const char *key)
{
    const char *at = strstr(dictionary, key);
    if (!at) return NULL;
    at += strlen(key);
    at += strspn(at, " ");
    if (*at != ':') return NULL;
    return at + 1 + strspn(at + 1, " ");
}

/* '<i4', '|b1', '<U3' ... */
static enum status parse_type(const npy_source *source, const char *dictionary, npy_array *array,
                              error_text *error)
{
    const char *type = value_of(dictionary, "'descr'");
    if (!type || *type != '\'' || !type[1] || !type[2])
        return bad_header(source, "an array of no simple type ('descr')", error);
    char order = type[1];
    char *end;
    array->kind = type[2];
    long size = strtol(type + 3, &end, 10);
    if (end == type + 3 || *end != '\'' || size < 1 || size > 4096)
        return bad_header(source, "an array of no simple type ('descr')", error);
    array->size = (int)size;
    array->swapped = order == '>';

    bool known = false;
    switch (array->kind) {
    case 'b':
        known = size == 1;
        break;
    case 'i':
    case 'u':
        known = size == 1 || size == 2 || size == 4 || size == 8;
        break;
    case 'f':
        known = size == 2 || size == 4 || size == 8;
        break;
    case 'U':
        array->size *= 4; /* UTF-32 */
        known = true;
        break;
    case 'S':
        known = true;
        break;
    }
    if (known) return STATUS_OK;
    return fail(error, STATUS_DATASET, "%s: arrays of type '%c%ld' are not read (numbers are)",
                source->name, array->kind, size);
}

/* Reads the numbers between brackets, at most `most`, and returns how many; -1 for other text. */
static int parse_tuple(const char *shape, int64_t *side, int most)
{
    if (*shape++ != '(') return -1;
    for (int n = 0;; n++) {
        shape += strspn(shape, "L, "); /* Python 2 wrote (5L,) */
        if (*shape == ')') return n;
        char *end;
        errno = 0;
        long long number = strtoll(shape, &end, 10);
        if (n == most || end == shape || errno || number < 0) return -1;
        side[n] = number;
        shape = end;
    }
}

/* (), (n,), and (n, r, c): a scalar, a vector, and blocks one behind the other. */
static enum status parse_shape(const npy_source *source, const char *dictionary, npy_array *array,
                               error_text *error)
{
    const char *shape = value_of(dictionary, "'shape'");
    if (!shape || *shape != '(') return bad_header(source, "an array without a shape", error);
    int64_t side[3] = {1, 1, 1};
    int dimensions = parse_tuple(shape, side, 3);
    if (dimensions != 0 && dimensions != 1 && dimensions != 3)
        return bad_header(source, "an array that has neither one dimension nor three", error);
    const char *fortran = value_of(dictionary, "'fortran_order'");
    if (dimensions == 3) {
        if (!fortran || strncmp(fortran, "False", 5) != 0)
            return bad_header(source, "an array in Fortran's order", error);
        array->block_rows = side[1];
        array->block_cols = side[2];
    }
    bool overflow = __builtin_mul_overflow(side[1], side[2], &array->count) ||
                    __builtin_mul_overflow(array->count, side[0], &array->count);
    if (overflow || array->count > source->most_bytes / array->size)
        return fail(error, STATUS_DATASET,
                    "%s: %" PRId64 " elements are promised, more than the file can hold",
                    source->name, overflow ? INT64_MAX : array->count);
    return STATUS_OK;
}

enum status npy_open(const npy_source *source, npy_array *array, error_text *error)
{
    unsigned char begin[MAGIC_BYTES + 6];
    enum status status = source->read(source->from, begin, MAGIC_BYTES + 4, error);
    if (status != STATUS_OK) return status;
    if (memcmp(begin, "\x93NUMPY", MAGIC_BYTES) != 0)
        return bad_header(source, "no .npy array", error);
    int version = begin[MAGIC_BYTES];
    if (version < 1 || version > 3)
        return fail(error, STATUS_DATASET, "%s: unknown .npy version %d", source->name, version);

    /* The length has 2 bytes in version 1, and 4 later. */
    size_t length = begin[MAGIC_BYTES + 2] | (size_t)begin[MAGIC_BYTES + 3] << 8;
    if (version > 1) {
        status = source->read(source->from, begin, 2, error);
        if (status != STATUS_OK) return status;
        length |= (size_t)begin[0] << 16 | (size_t)begin[1] << 24;
    }
    if (length >= MAX_HEADER) return bad_header(source, "an absurdly long .npy header", error);
    char dictionary[MAX_HEADER];
    status = source->read(source->from, dictionary, length, error);
    if (status != STATUS_OK) return status;
    dictionary[length] = 0;
    *array = (npy_array){0};
    status = parse_type(source, dictionary, array, error);
    return status == STATUS_OK ? parse_shape(source, dictionary, array, error) : status;
}

/* ---- elements -------------------------------------------------------------------------------- */

static int64_t load_int(const npy_array *array, const unsigned char *at)
{
    uint64_t bits = 0;
    memcpy(&bits, at, (size_t)array->size);
    int unused = 64 - 8 * array->size;
    /* Shifted up and back, so that a sign is copied into the unused bits. */
    return array->kind == 'i' ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
}

static float load_half(const unsigned char *at)
{
    int bits = at[0] | at[1] << 8;
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float size = exponent == 0    ? ldexpf((float)fraction, -24)
                 : exponent == 31 ? (fraction ? NAN : INFINITY)
                                  : ldexpf((float)(fraction + 1024), exponent - 25);
    return bits >> 15 ? -size : size;
}

static float load_float(const npy_array *array, const unsigned char *at)
{
    if (array->kind == 'i') return (float)load_int(array, at);
    if (array->kind == 'u') return (float)(uint64_t)load_int(array, at);
    if (array->size == 2) return load_half(at);
    if (array->size == 4) {
        float value;
        memcpy(&value, at, sizeof value);
        return value;
    }
    double value;
    memcpy(&value, at, sizeof value);
    return (float)value;
}

/* Stores elements [first, first + n) of the array, which lie at `block`; returns the first that
 * does not fit, or first + n. */
typedef int64_t store_fn(const npy_array *array, const unsigned char *block, int64_t n, void *out,
                         int64_t first);

static int64_t store_int32(const npy_array *array, const unsigned char *block, int64_t n, void *out,
                           int64_t first)
{
    int32_t *numbers = (int32_t *)out + first;
    for (int64_t i = 0; i < n; i++) {
        int64_t number = load_int(array, block + i * array->size);
        if (number < INT32_MIN || number > INT32_MAX) return first + i;
        numbers[i] = (int32_t)number;
    }
    return first + n;
}

static int64_t store_int64(const npy_array *array, const unsigned char *block, int64_t n, void *out,
                           int64_t first)
{
    int64_t *numbers = (int64_t *)out + first;
    for (int64_t i = 0; i < n; i++) {
        numbers[i] = load_int(array, block + i * array->size);
        if (array->kind == 'u' && numbers[i] < 0) return first + i;
    }
    return first + n;
}

static int64_t store_float(const npy_array *array, const unsigned char *block, int64_t n, void *out,
                           int64_t first)
{
    float *numbers = (float *)out + first;
    for (int64_t i = 0; i < n; i++)
        numbers[i] = load_float(array, block + i * array->size);
    return first + n;
}

/* The bytes and numpy's kind of each target, how it is converted to, and from which kinds. */
static const struct {
    const char *name;
    size_t bytes;
    char kind;
    store_fn *store;
    const char *from, *wanted;
} targets[] = {
    [NPY_INT32] = {"int32", sizeof(int32_t), 'i', store_int32, "iu", "integers are expected"},
    [NPY_INT64] = {"int64", sizeof(int64_t), 'i', store_int64, "iu", "integers are expected"},
    [NPY_FLOAT] = {"float", sizeof(float), 'f', store_float, "fiu", "numbers are expected"},
    [NPY_BOOL] = {"bool", 1, 'b', NULL, "b", "bools are expected"},
};

size_t npy_target_bytes(enum npy_target target)
{
    return targets[target].bytes;
}

/* Turns the bytes of each element round. */
static void swap(unsigned char *block, int64_t n, int size)
{
    for (unsigned char *at = block; at < block + n * size; at += size)
        for (int low = 0, high = size - 1; low < high; low++, high--) {
            unsigned char byte = at[low];
            at[low] = at[high];
            at[high] = byte;
        }
}

static enum status convert(const npy_source *source, const npy_array *array, enum npy_target target,
                           void *out, error_text *error)
{
    unsigned char block[BLOCK_BYTES];
    int64_t at_once = BLOCK_BYTES / array->size;
    for (int64_t first = 0; first < array->count; first += at_once) {
        int64_t n = array->count - first < at_once ? array->count - first : at_once;
        enum status status = source->read(source->from, block, (size_t)(n * array->size), error);
        if (status != STATUS_OK) return status;
        if (array->swapped) swap(block, n, array->size);
        int64_t stored = targets[target].store(array, block, n, out, first);
        if (stored < first + n)
            return fail(error, STATUS_DATASET, "%s: element %" PRId64 " is outside the range of %s",
                        source->name, stored, targets[target].name);
    }
    return STATUS_OK;
}

enum status npy_read(const npy_source *source, const npy_array *array, enum npy_target target,
                     void *out, error_text *error)
{
    if (!strchr(targets[target].from, array->kind))
        return bad_header(source, targets[target].wanted, error);
    /* The usual case: nothing to convert. */
    if (array->kind == targets[target].kind && (size_t)array->size == targets[target].bytes &&
        !(array->swapped && array->size > 1))
        return source->read(source->from, out, (size_t)(array->count * array->size), error);
    return convert(source, array, target, out, error);
}

enum status npy_read_string(const npy_source *source, const npy_array *array, char *out,
                            size_t capacity, error_text *error)
{
    unsigned char letters[64];
    int width = array->kind == 'U' ? 4 : 1;
    bool is_string = array->kind == 'U' || array->kind == 'S';
    if (!is_string || array->count != 1 || array->size > (int)sizeof letters ||
        (size_t)(array->size / width) >= capacity)
        return bad_header(source, "a short string is expected", error);
    enum status status = source->read(source->from, letters, (size_t)array->size, error);
    if (status != STATUS_OK) return status;
    int n = array->size / width;
    int low = array->swapped ? width - 1 : 0; /* which byte of a letter holds ASCII */
    for (int i = 0; i < n; i++)
        out[i] = (char)letters[i * width + low];
    out[n] = 0;
    return STATUS_OK;
}
