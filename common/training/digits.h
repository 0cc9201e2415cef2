/*
 * digits.h - images like handwritten digits, which are drawn and not downloaded: 28 x 28 pixels from 0 (paper) to 1 (ink).
 *
 * A digit is a few strokes: lines and arcs. Each image has its own slant, turn, size, shift, width of the pen, and noise.
 * The image and its label depend on (seed, number) alone.
 */
#ifndef TRAINING_DIGITS_H
#define TRAINING_DIGITS_H

#include "matrix/status.h"

#include <stdint.h>

enum { DIGITS_SIDE = 28, DIGITS_PIXELS = DIGITS_SIDE * DIGITS_SIDE, DIGITS_CLASSES = 10 };

/* Draws image `number`: pixel p, counted row by row, goes to image[p * stride]. Returns the digit, 0 to 9. */
int digits_draw(uint64_t seed, uint64_t number, float *image, int64_t stride);

/* Images and labels on the host: `batches` of N for training, and then `held_out` batches that nobody trains on. */
typedef struct images {
    int N, batches, held_out;
    int64_t
        stride; /* floats from a batch to the next: a multiple of 64, as plans want arrays to begin */
    float *X;   /* of each batch [rows][N], an image a column; rows from DIGITS_PIXELS on are 0 */
    int *label; /* [batch][N] */
} images;

/* Draws them. rows: DIGITS_PIXELS, or more. The caller frees them, also after an error. */
enum status images_make(int N, int rows, int batches, int held_out, uint64_t seed, images *d,
                        error_text *error);
void images_free(images *d);

/* The cross entropy of one of N columns of logits[classes][N] in fp64: minus the logarithm of the softmax at the label. */
double digits_entropy(const double *logits, int N, int label);

/* How many of N columns of logits[classes][N] are largest at their label. */
int images_right(const float *logits, const int *label, int N);

#endif
