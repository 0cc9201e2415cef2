/*
 * model.h - MobileNet V1 on the host: shapes, folded and pruned weights, and every layer in fp64.
 *
 * A stem (3x3, stride 2), 13 times a depthwise 3x3 and a 1x1 convolution, the average of each plane, and a classifier: 29
 * layers. Activations are [channel][image][row][column], so that a 1x1 convolution is a product: weights [out][in] times
 * activations [in][batch * pixels]. Weights are random by seed; a batch norm of each convolution is folded into them.
 *
 * Source: A. Howard et al., MobileNets, 2017; T. Gale et al., Sparse GPU Kernels for Deep Learning, SC 2020.
 */
#ifndef MOBILENET_MODEL_H
#define MOBILENET_MODEL_H

#include "matrix/status.h"
#include "ops/precision.h"

#include <stdbool.h>
#include <stdint.h>

enum { NUM_LAYERS = 29, TAPS = 9, COLORS = 3 };
enum layer_kind { STEM, DEPTHWISE, POINTWISE, POOL, CLASSIFIER };

/* One layer, all on the host. */
typedef struct layer {
    enum layer_kind kind;
    int in, out;           /* channels */
    int stride;            /* of 3x3 convolutions, whose border is one zero wide */
    int in_side, out_side; /* of an image, in pixels */
    bool relu, sparse;
    int64_t num_weights; /* that are stored */
    float *bias;         /* [out]; NULL: none */
    float *weights;   /* [out][27], [out][9] or [out][in]; of a sparse layer its nonzeros in turn */
    int64_t *row_ptr; /* of a sparse layer, out + 1 */
    int32_t *col_idx;
} layer;

typedef struct model_shape {
    double width; /* channels over those of the published net */
    int image;    /* pixels of a side */
    int batch, classes;
    double sparsity;          /* of 1x1 convolutions but the first; 0: dense */
    enum precision precision; /* of weights and activations; biases are fp32 */
} model_shape;

typedef struct model {
    model_shape shape;
    layer layers[NUM_LAYERS];
    float *images; /* [COLORS][batch][image][image], rounded to the precision */
} model;

/* Fills in the shapes of all layers, and makes nothing: what memory counts need. */
void model_describe(const model_shape *shape, model *m);

/* Makes layers and images. The caller closes it, also after an error. */
enum status model_open(const model_shape *shape, uint64_t seed, model *m, error_text *error);
void model_close(model *m);

/* "stem", "depthwise", "1x1", "pool", "classifier" */
const char *layer_name(const layer *l);

/* The products behind one of its outputs; of a sparse layer that was made, its longest row. */
int64_t layer_terms(const layer *l);

/* Pixels of all images in one channel: columns of the layer's input and output. */
int64_t layer_in_columns(const layer *l, int batch);
int64_t layer_out_columns(const layer *l, int batch);

/* Statistics of a channel that batch normalisation divides by, and what it scales and shifts by. */
typedef struct batch_norm {
    double gamma, beta, mean, variance;
} batch_norm;

static const double BATCH_NORM_EPSILON = 1e-3;

/* Folds the norm behind a convolution into its weights, `count` of one output channel, and its bias:
 * w' = w gamma / sqrt(variance + epsilon), b' = beta - mean gamma / sqrt(variance + epsilon). */
void fold_batch_norm(const batch_norm *n, int64_t count, float *weights, float *bias);

/* Marks the `keep` weights of `count` that are largest in magnitude, of equal ones those that come first. False: no memory. */
bool prune_by_magnitude(const float *weights, int64_t count, int64_t keep, bool *kept);

/* One output column in fp64: y[out], and of each output the sum of |weight| |input| and |bias|. x is the whole input. */
void layer_exact(const layer *l, int batch, const double *x, int64_t column, double *y,
                 double *size);

/* The class scores of one image, [classes], by layer_exact alone. */
enum status model_exact(const model *m, int image, double *scores, error_text *error);

#endif
