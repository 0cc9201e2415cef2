/*
 * check.h - a decoder against fp64, part by part: each on the device's own inputs, as it rounded them, within the bound of
 * its own roundings. So errors do not pile up, and each fault is found where it is.
 *
 * The host knows weights and parameters by their seeds. The cache it never reads: it keeps K and V itself, from what the
 * products returned. So a cache that is read or written at the wrong place is found.
 */
#ifndef LLM_DECODE_CHECK_H
#define LLM_DECODE_CHECK_H

#include "decoder.h"

/* The largest error of each part over its bound; at most 1 is right. NAN: the part was not seen. */
typedef struct verdict {
    double worst[NUM_PARTS];
} verdict;

/* Runs `passes` passes from the beginning of the sequences. Parts of small models are checked in full, of others a sample.
 * logits, NULL or room for [passes][columns][vocabulary] numbers, gets those of the device. STATUS_WRONG names the first
 * wrong number. */
enum status check_decoder(decoder *d, int passes, float *logits, verdict *v, error_text *error);

/* How far logits of two decoders of the same weights may lie apart, that round at different places: derived in check.c.
 * rms: of all logits. */
double check_apart(const llm_shape *s, double rms);

/* Two decoders' logits: [rows][vocabulary]. */
typedef struct agreement {
    double rms, most, allowed; /* of all logits; the largest difference, and its bound */
    int decided, rows;         /* rows whose two largest logits lie further apart than 2 allowed */
} agreement;

/* Compares. STATUS_WRONG: a difference is beyond the bound, or a decided row has another largest logit. `whose` begins
 * the message. */
enum status check_agreement(const llm_shape *s, int rows, const float *expected, const float *got,
                            const char *whose, agreement *a, error_text *error);

#endif
