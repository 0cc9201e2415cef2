#include "shape.h"

#include "matrix/nearest.h"

#include <string.h>

static const llm_shape SHAPES[] = {
    {"tiny", 2, 256, 500, 128},
    {"13B", 40, 5120, 50272, 2048},
    {"30B", 48, 7168, 50272, 2048},
    {"66B", 64, 9216, 50272, 2048},
};
enum { NUM_SHAPES = sizeof SHAPES / sizeof *SHAPES };

static const struct {
    const char *name;
    int rows, cols; /* in hidden features */
} PRODUCTS[NUM_PRODUCTS] = {
    [PRODUCT_QKV] = {"qkv", 3, 1},
    [PRODUCT_OUT] = {"out", 1, 1},
    [PRODUCT_UP] = {"up", 4, 1},
    [PRODUCT_DOWN] = {"down", 1, 4},
};

const char *layer_product_name(enum layer_product which)
{
    return PRODUCTS[which].name;
}

int shape_rows(const llm_shape *s, enum layer_product which)
{
    return PRODUCTS[which].rows * s->hidden;
}

int shape_cols(const llm_shape *s, enum layer_product which)
{
    return PRODUCTS[which].cols * s->hidden;
}

const llm_shape *shape_at(int index)
{
    return index >= 0 && index < NUM_SHAPES ? &SHAPES[index] : NULL;
}

enum status shape_find(const char *name, const llm_shape **found, error_text *error)
{
    const char *names[NUM_SHAPES];
    for (int i = 0; i < NUM_SHAPES; i++) {
        names[i] = SHAPES[i].name;
        *found = &SHAPES[i];
        if (!strcmp(name, SHAPES[i].name)) return STATUS_OK;
    }
    const char *near = nearest_match(name, names, NUM_SHAPES);
    return fail(error, STATUS_USAGE, "--model %s: there are tiny, 13B, 30B and 66B%s%s%s", name,
                near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}
