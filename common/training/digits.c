#include "training/digits.h"

#include "matrix/random.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* A stroke in the square from (0, 0), top left, to (1, 1). It is an arc of the ellipse around (x, y) with radii rx and ry.
 * It lies between two angles in eighths of a turn, where 0 is right and 2 is down. With radii of 0 it is a line from (x, y)
 * to (from, to). */
typedef struct stroke {
    float x, y, rx, ry, from, to;
} stroke;

#define LINE(x0, y0, x1, y1) \
    {                        \
        x0, y0, 0, 0, x1, y1 \
    }
#define ARC(x, y, rx, ry, from, to) \
    {                               \
        x, y, rx, ry, from, to      \
    }

enum { MAX_STROKES = 3, PIECES = 8, MAX_SEGMENTS = MAX_STROKES * PIECES };

static const struct {
    int count;
    stroke strokes[MAX_STROKES];
} DIGITS[DIGITS_CLASSES] = {
    {1, {ARC(.5f, .5f, .28f, .42f, 0, 8)}},
    {2, {LINE(.35f, .25f, .52f, .08f), LINE(.52f, .08f, .52f, .92f)}},
    {3,
     {ARC(.5f, .32f, .27f, .24f, 4, 8.8f), LINE(.7f, .46f, .22f, .92f),
      LINE(.22f, .92f, .8f, .92f)}},
    {2, {ARC(.46f, .29f, .26f, .21f, 4.6f, 10), ARC(.46f, .71f, .3f, .21f, 6, 11.4f)}},
    {3, {LINE(.6f, .08f, .2f, .62f), LINE(.2f, .62f, .82f, .62f), LINE(.64f, .4f, .64f, .94f)}},
    {3,
     {LINE(.76f, .08f, .3f, .08f), LINE(.3f, .08f, .27f, .45f),
      ARC(.47f, .66f, .29f, .26f, 4.9f, 11.2f)}},
    {2, {ARC(.78f, .56f, .54f, .5f, 4, 6), ARC(.5f, .68f, .26f, .24f, 0, 8)}},
    {2, {LINE(.2f, .08f, .8f, .08f), LINE(.8f, .08f, .4f, .92f)}},
    {2, {ARC(.5f, .29f, .22f, .21f, 0, 8), ARC(.5f, .71f, .27f, .21f, 0, 8)}},
    {2, {ARC(.5f, .32f, .26f, .24f, 0, 8), LINE(.76f, .32f, .62f, .92f)}},
};

/* A straight piece of a stroke, in pixels. */
typedef struct segment {
    float x0, y0, dx, dy;
} segment;

/* Choices of one image, in the order of its random numbers. */
enum { OF_LABEL, OF_TURN, OF_SLANT, OF_WIDTH, OF_HEIGHT, OF_X, OF_Y, OF_PEN, OF_NOISE };

/* Uniform in [low, high). */
static float between(uint64_t stream, int which, float low, float high)
{
    return low + (high - low) * (float)random_unit(stream, which);
}

/* How an image is bent: a point of the square becomes one in pixels. */
typedef struct warp {
    float xx, xy, yx, yy, x, y;
} warp;

static warp make_warp(uint64_t stream)
{
    const float turn = between(stream, OF_TURN, -.18f, .18f),
                slant = between(stream, OF_SLANT, -.2f, .3f);
    const float width = between(stream, OF_WIDTH, 14, 20),
                height = between(stream, OF_HEIGHT, 18, 22);
    const float c = cosf(turn), s = sinf(turn);
    return (warp){.xx = c * width,
                  .xy = -(c * slant + s) * height,
                  .yx = s * width,
                  .yy = (c - s * slant) * height,
                  .x = (DIGITS_SIDE - 1) / 2.0f + between(stream, OF_X, -2.5f, 2.5f),
                  .y = (DIGITS_SIDE - 1) / 2.0f + between(stream, OF_Y, -2.5f, 2.5f)};
}

static void bend(const warp *w, float x, float y, float *to_x, float *to_y)
{
    *to_x = w->x + w->xx * (x - .5f) + w->xy * (y - .5f);
    *to_y = w->y + w->yx * (x - .5f) + w->yy * (y - .5f);
}

/* The point of a stroke at t, from 0 to 1. */
static void point_at(const stroke *s, float t, float *x, float *y)
{
    const float eighth = 0.785398163f;
    if (s->rx == 0) { /* a line: from, to are its end */
        *x = s->x + t * (s->from - s->x);
        *y = s->y + t * (s->to - s->y);
        return;
    }
    const float angle = eighth * (s->from + t * (s->to - s->from));
    *x = s->x + s->rx * cosf(angle);
    *y = s->y + s->ry * sinf(angle);
}

static int make_segments(int digit, const warp *w, segment *to)
{
    int count = 0;
    for (int i = 0; i < DIGITS[digit].count; i++) {
        const stroke *s = &DIGITS[digit].strokes[i];
        const int pieces = s->rx == 0 ? 1 : PIECES;
        for (int k = 0; k < pieces; k++, count++) {
            float x, y, x0, y0, x1, y1;
            point_at(s, (float)k / pieces, &x, &y);
            bend(w, x, y, &x0, &y0);
            point_at(s, (float)(k + 1) / pieces, &x, &y);
            bend(w, x, y, &x1, &y1);
            to[count] = (segment){x0, y0, x1 - x0, y1 - y0};
        }
    }
    return count;
}

/* The square of the distance from a pixel to the nearest point of a segment. */
static float squared_distance(const segment *s, float x, float y)
{
    const float length = s->dx * s->dx + s->dy * s->dy;
    float t = length > 0 ? ((x - s->x0) * s->dx + (y - s->y0) * s->dy) / length : 0;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    const float ex = x - s->x0 - t * s->dx, ey = y - s->y0 - t * s->dy;
    return ex * ex + ey * ey;
}

static float ink(float distance, float pen)
{
    const float x = pen + 0.5f - distance; /* an edge a pixel wide */
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

int digits_draw(uint64_t seed, uint64_t number, float *image, int64_t stride)
{
    const uint64_t stream = random_substream(seed, number);
    const int digit = (int)random_below(stream, OF_LABEL, DIGITS_CLASSES);
    const float pen = between(stream, OF_PEN, .7f, 1.5f), noise = .25f;
    const warp w = make_warp(stream);
    segment segments[MAX_SEGMENTS];
    const int count = make_segments(digit, &w, segments);
    for (int p = 0; p < DIGITS_PIXELS; p++) {
        const float x = (float)(p % DIGITS_SIDE), y = (float)(p / DIGITS_SIDE);
        float least = squared_distance(&segments[0], x, y);
        for (int i = 1; i < count; i++)
            least = fminf(least, squared_distance(&segments[i], x, y));
        const float shade =
            ink(sqrtf(least), pen) * (1 - noise) + noise * (float)random_unit(stream, OF_NOISE + p);
        image[p * stride] = shade;
    }
    return digit;
}

enum status images_make(int N, int rows, int batches, int held_out, uint64_t seed, images *d,
                        error_text *error)
{
    const int64_t count = (int64_t)(batches + held_out) * N;
    *d = (images){.N = N, .batches = batches, .held_out = held_out};
    d->stride = ((int64_t)rows * N + 63) / 64 * 64;
    d->X = calloc((batches + held_out) * d->stride, sizeof *d->X);
    d->label = malloc(count * sizeof *d->label);
    if (!d->X || !d->label) return fail(error, STATUS_MEMORY, "no memory for the images");
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++)
        d->label[i] = digits_draw(seed, i, d->X + i / N * d->stride + i % N, N);
    return STATUS_OK;
}

void images_free(images *d)
{
    free(d->X);
    free(d->label);
}

double digits_entropy(const double *logits, int N, int label)
{
    double most = logits[0], sum = 0;
    for (int c = 1; c < DIGITS_CLASSES; c++)
        most = fmax(most, logits[(int64_t)c * N]);
    for (int c = 0; c < DIGITS_CLASSES; c++)
        sum += exp(logits[(int64_t)c * N] - most);
    return most + log(sum) - logits[(int64_t)label * N];
}

int images_right(const float *logits, const int *label, int N)
{
    int right = 0;
    for (int n = 0; n < N; n++) {
        int best = 0;
        for (int c = 1; c < DIGITS_CLASSES; c++)
            if (logits[(int64_t)c * N + n] > logits[(int64_t)best * N + n]) best = c;
        right += best == label[n];
    }
    return right;
}
