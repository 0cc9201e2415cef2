#include "matrix/generated_sets.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 48, SPEC_BYTES = 112 };

/* Texts that the names of an entry point to. */
struct registry_texts {
    char name[NAME_BYTES], stand_in[SPEC_BYTES];
};

/* Adds a rows x cols matrix of which `percent` % are zeros. Their number is rounded up, as in the
 * files of DLMC (64 x 256 at 80 %: 3276 nonzeros), in whole numbers, so that it is exact. `rows_by`
 * is how the generator shares the nonzeros among the rows. Without room only counts, so that a first
 * call of make() finds out how much there must be. */
static void add(registry *r, const char *set, const char *name, int64_t rows, int64_t cols,
                int percent, const char *rows_by, int seed)
{
    const size_t at = r->count++;
    if (!r->texts) return;
    const int64_t nnz = rows * cols * (100 - percent) / 100;
    struct registry_texts *t = &r->texts[at - r->listed];
    snprintf(t->name, sizeof t->name, "%s", name);
    snprintf(t->stand_in, sizeof t->stand_in,
             "weights:rows=%" PRId64 ",cols=%" PRId64 ",nnz=%" PRId64 ",kind=%s,seed=%d", rows,
             cols, nnz, rows_by, seed);
    r->entry[at] = (registry_entry){.name = t->name,
                                    .set = set,
                                    .rows = rows,
                                    .cols = cols,
                                    .nnz = nnz,
                                    .decoded = !strcmp(set, "llm"),
                                    .stand_in = t->stand_in};
}

/* ---- the weights of recurrent layers ---------------------------------------------------------- */

/* One matrix holds the weights of all gates of a cell: 1 of an RNN, 3 of a GRU, 4 of an LSTM. */
static void make_rnn(registry *r)
{
    static const struct {
        const char *name;
        int gates;
    } cells[] = {{"rnn", 1}, {"gru", 3}, {"lstm", 4}};
    char name[NAME_BYTES];
    int seed = 0;
    for (int c = 0; c < 3; c++)
        for (int hidden = 1024; hidden <= 8192; hidden *= 2)
            for (int percent = 70; percent <= 90; percent += 10) {
                snprintf(name, sizeof name, "rnn.%s-%d-%g", cells[c].name, hidden, percent / 100.);
                add(r, "rnn", name, (int64_t)cells[c].gates * hidden, hidden, percent, "uniform",
                    ++seed);
            }
}

/* ---- pruned layers of a transformer and of ResNet-50 ------------------------------------------ */

/* An output a row, an input a column; a 3x3 convolution after im2col has nine columns a channel. */
static const struct {
    const char *name;
    int rows, cols;
} LAYERS[] = {
    {"transformer.attention", 512, 512}, /* query, key, value and output projections */
    {"transformer.ffn1", 2048, 512},
    {"transformer.ffn2", 512, 2048},
    {"transformer.embedding", 33288, 512},
    {"rn50.g1.enter", 64, 64},   /* the first 1x1 of a group's first block */
    {"rn50.g1.reduce", 64, 256}, /* that of its other blocks */
    {"rn50.g1.3x3", 64, 576},
    {"rn50.g1.expand", 256, 64}, /* also the shape of this group's shortcut */
    {"rn50.g2.enter", 128, 256},
    {"rn50.g2.reduce", 128, 512},
    {"rn50.g2.3x3", 128, 1152},
    {"rn50.g2.expand", 512, 128},
    {"rn50.g2.shortcut", 512, 256},
    {"rn50.g3.enter", 256, 512},
    {"rn50.g3.reduce", 256, 1024},
    {"rn50.g3.3x3", 256, 2304},
    {"rn50.g3.expand", 1024, 256},
    {"rn50.g3.shortcut", 1024, 512},
    {"rn50.g4.enter", 512, 1024},
    {"rn50.g4.reduce", 512, 2048},
    {"rn50.g4.3x3", 512, 4608},
    {"rn50.g4.expand", 2048, 512},
    {"rn50.g4.shortcut", 2048, 1024},
};

/* How each kind of pruning spreads the row lengths up to 90 % zeros, and above: measured on files of
 * DLMC, or derived from that (datasets/README.md). Pruning at random asks each weight alone, which
 * fixes the spread. */
static const struct {
    const char *name, *rows_by, *rows_by_above_90;
} PRUNINGS[] = {
    {"random", "uniform", "uniform"},
    {"magnitude", "magnitude,cov=0.2", "magnitude,cov=0.4"},
    {"variational", "magnitude,cov=0.35", "magnitude,cov=0.72"},
    {"l0", "magnitude,cov=0.61", "magnitude,cov=1.28"},
};

static void make_dlmc_like(registry *r)
{
    static const int percents[] = {50, 60, 70, 80, 90, 95, 98};
    char name[NAME_BYTES];
    int seed = 0;
    for (size_t l = 0; l < sizeof LAYERS / sizeof LAYERS[0]; l++)
        for (size_t k = 0; k < sizeof PRUNINGS / sizeof PRUNINGS[0]; k++)
            for (size_t p = 0; p < sizeof percents / sizeof percents[0]; p++) {
                snprintf(name, sizeof name, "%s-%s-%g", LAYERS[l].name, PRUNINGS[k].name,
                         percents[p] / 100.);
                add(r, "dlmc-like", name, LAYERS[l].rows, LAYERS[l].cols, percents[p],
                    percents[p] > 90 ? PRUNINGS[k].rows_by_above_90 : PRUNINGS[k].rows_by, ++seed);
            }
}

/* ---- the weights of language models ------------------------------------------------------------ */

/* Rows and columns of the layers of language models on which SpInfer was measured. */
static const int LLM_SHAPES[][2] = {
    {8192, 29568},  {4096, 4096},  {32000, 5120}, {32000, 8192},  {28672, 8192},  {5120, 5120},
    {5120, 13824},  {3584, 20480}, {4096, 11008}, {13824, 5120},  {8192, 8192},   {18944, 3584},
    {14336, 4096},  {4096, 14336}, {8192, 28672}, {11008, 4096},  {32000, 4096},  {20480, 3584},
    {3584, 18944},  {21504, 7168}, {7168, 7168},  {28672, 7168},  {7168, 28672},  {27648, 9216},
    {9216, 9216},   {36864, 9216}, {9216, 36864}, {36864, 12288}, {12288, 12288}, {49152, 12288},
    {12288, 49152},
};

const int (*generated_llm_shapes(size_t *count))[2]
{
    *count = sizeof LLM_SHAPES / sizeof LLM_SHAPES[0];
    return LLM_SHAPES;
}

/* "random": each weight is kept or not by itself. "quota": as many in each row, as Wanda prunes. */
static void make_llm(registry *r)
{
    static const char *const prunings[][2] = {{"random", "uniform"}, {"quota", "quota"}};
    char name[NAME_BYTES];
    int seed = 0;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof LLM_SHAPES / sizeof LLM_SHAPES[0]; i++)
            for (int percent = 40; percent <= 70; percent += 10) {
                const int rows = LLM_SHAPES[i][0], cols = LLM_SHAPES[i][1];
                snprintf(name, sizeof name, "llm.%dx%d-%s-%g", rows, cols, prunings[k][0],
                         percent / 100.);
                add(r, "llm", name, rows, cols, percent, prunings[k][1], ++seed);
            }
}

/* ---- one shape, one property varied ----------------------------------------------------------- */

/* The weights of an LSTM with 2048 hidden units: where does sparse overtake dense? */
static void make_sweep(registry *r)
{
    char name[NAME_BYTES];
    for (int percent = 50; percent <= 98; percent += 2) {
        snprintf(name, sizeof name, "sweep-%.2f", percent / 100.);
        add(r, "sweep", name, 8192, 2048, percent, "uniform", percent);
    }
}

/* The same shape, 90 % zeros, from equal rows to rows of very different lengths: more variation than
 * 1 does not fit, as no row can be longer than 2048, ten times the mean. */
static void make_cov(registry *r)
{
    char name[NAME_BYTES], rows_by[32];
    for (int tenths = 0; tenths <= 10; tenths++) {
        snprintf(name, sizeof name, "cov-%.1f", tenths / 10.);
        snprintf(rows_by, sizeof rows_by, "magnitude,cov=%g", tenths / 10.);
        add(r, "cov", name, 8192, 2048, 90, rows_by, tenths + 1);
    }
}

/* ---- all of them ------------------------------------------------------------------------------ */

static const generated_set SETS[] = {
    {"rnn", "rnn.{rnn,gru,lstm}-{1024,2048,4096,8192}-{0.7,0.8,0.9}", "32,128", make_rnn},
    {"dlmc-like", "LAYER-{random,magnitude,variational,l0}-{0.5,0.6,0.7,0.8,0.9,0.95,0.98}",
     "see datasets/README.md", make_dlmc_like},
    {"llm", "llm.ROWSxCOLS-{random,quota}-{0.4,0.5,0.6,0.7}, 31 shapes", "8,16,32, L2 cold",
     make_llm},
    {"sweep", "sweep-0.50, sweep-0.52 ... sweep-0.98", "128", make_sweep},
    {"cov", "cov-0.0, cov-0.1 ... cov-1.0", "128", make_cov},
};
enum { NUM_SETS = sizeof SETS / sizeof SETS[0] };

const generated_set *generated_sets(size_t *count)
{
    *count = NUM_SETS;
    return SETS;
}

static void make_all(registry *r)
{
    r->count = r->listed;
    for (int i = 0; i < NUM_SETS; i++)
        SETS[i].make(r);
}

enum status generated_sets_append(registry *r, error_text *error)
{
    r->listed = r->count;
    make_all(r);
    registry_entry *entry = realloc(r->entry, r->count * sizeof *entry);
    if (entry) r->entry = entry;
    r->texts = entry ? malloc((r->count - r->listed) * sizeof *r->texts) : NULL;
    if (r->texts) {
        make_all(r);
        return STATUS_OK;
    }
    r->count = r->listed;
    return fail(error, STATUS_MEMORY, "no memory for the list of datasets");
}
