/*
 * digits.h - images like handwritten digits, which are drawn and not downloaded: 28 x 28 pixels from 0 (paper) to 1 (ink).
 *
 * A digit is a few strokes: lines and arcs. Each image has its own slant, turn, size, shift, width of the pen, and noise.
 * The image and its label depend on (seed, number) alone.
 */
#ifndef MLP_DIGITS_H
#define MLP_DIGITS_H

#include <stdint.h>

enum { DIGITS_SIDE = 28, DIGITS_PIXELS = DIGITS_SIDE * DIGITS_SIDE, DIGITS_CLASSES = 10 };

/* Draws image `number`: pixel p, counted row by row, goes to image[p * stride]. Returns the digit, 0 to 9. */
int digits_draw(uint64_t seed, uint64_t number, float *image, int64_t stride);

#endif
