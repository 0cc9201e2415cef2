/*
 * topology.h - another pattern for a layer that trains: some weights are dropped, and some grow.
 *
 * Source: U. Evci, T. Gale, J. Menick, P. S. Castro, E. Elsen: Rigging the Lottery, ICML 2020.
 */
#ifndef TRAINING_TOPOLOGY_H
#define TRAINING_TOPOLOGY_H

#include "matrix/csr.h"

/* Drops `drops` weights of least |value|, and grows `grows` with value 0 where W has a zero: where |G| is
 * largest, or, without G, at random places of `seed`. G [rows][cols] is the loss's gradient by W, zeros included. Fewer grow
 * where W has fewer zeros. Of equals the earlier place is taken. W has values, and no pair twice. *next has ascending columns
 * and values; the caller frees it. W may be a layout of blocks: its values are then norms, and G is an importance. */
enum status topology_change(const csr_matrix *W, int64_t drops, int64_t grows, const float *G,
                            uint64_t seed, csr_matrix *next, error_text *error);

#endif
