#include "shape.h"

#include <stdio.h>
#include <string.h>

/* Tokens are those of one GPU's step. dmoe-*: T. Gale, D. Narayanan, C. Young, M. Zaharia, MegaBlocks, 2023, tables 1 and
 * 3; mixtral: A. Jiang and others, Mixtral of Experts, 2024, with two matrices an expert instead of three. */
static const struct {
    const char *name;
    int tokens, features, hidden, experts, chosen;
} MODELS[] = {
    {"tiny", 300, 64, 192, 5, 1},         {"dmoe-xs", 65536, 512, 2048, 64, 1},
    {"dmoe-s", 32768, 768, 3072, 64, 1},  {"dmoe-m", 8192, 1024, 4096, 64, 1},
    {"mixtral", 8192, 4096, 14336, 8, 2},
};
enum { NUM_MODELS = sizeof MODELS / sizeof *MODELS };

enum status shape_of_model(const char *name, moe_shape *s, error_text *error)
{
    for (int i = 0; i < NUM_MODELS; i++) {
        if (strcmp(name, MODELS[i].name)) continue;
        s->tokens = MODELS[i].tokens;
        s->features = MODELS[i].features;
        s->hidden = MODELS[i].hidden;
        s->experts = MODELS[i].experts;
        s->chosen = MODELS[i].chosen;
        return STATUS_OK;
    }
    return fail(error, STATUS_USAGE,
                "--model %s: there are tiny, dmoe-xs, dmoe-s, dmoe-m and mixtral", name);
}

enum status shape_check(const moe_shape *s, error_text *error)
{
    if (s->features % FEATURE_STEP || s->hidden % FEATURE_STEP)
        return fail(error, STATUS_USAGE,
                    "--features %d and --hidden %d must be multiples of %d, the depth of a step",
                    s->features, s->hidden, FEATURE_STEP);
    if (s->block != 16 && s->block != 32 && s->block != 64 && s->block != 128)
        return fail(error, STATUS_USAGE, "--block %d: choose one of 16, 32, 64, 128", s->block);
    if (s->chosen > s->experts)
        return fail(error, STATUS_USAGE, "--chosen %d is more than the %d experts", s->chosen,
                    s->experts);
    return STATUS_OK;
}

int shape_most_rows(const moe_shape *s)
{
    return shape_slots(s) + s->experts * (s->block - 1);
}

int shape_most_tiles(const moe_shape *s)
{
    return shape_slots(s) / TILE_ROWS + s->experts;
}

double shape_flops(const moe_shape *s, double rows)
{
    return 4 * rows * s->features * s->hidden;
}

double shape_weight_bytes(const moe_shape *s)
{
    return 2. * 2 * s->experts * s->features * s->hidden;
}
