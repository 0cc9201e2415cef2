/*
 * topology.h - another pattern for a layer that trains: some weights are dropped, and as many grow.
 *
 * Source: U. Evci, T. Gale, J. Menick, P. S. Castro, E. Elsen: Rigging the Lottery, ICML 2020.
 */
#ifndef MLP_TOPOLOGY_H
#define MLP_TOPOLOGY_H

#include "matrix/csr.h"

/* Drops round(share * nnz) weights of least |value|, and grows as many with value 0 where W has a zero: where |G| is
 * largest, or, without G, at random places of `seed`. G [rows][cols] is the loss's gradient by W, zeros included. Fewer
 * where W has fewer zeros. Of equals the earlier place is taken. W has values, and no pair twice. *next has ascending columns
 * and values; the caller frees it. */
enum status topology_change(const csr_matrix *W, double share, const float *G, uint64_t seed,
                            csr_matrix *next, error_text *error);

#endif
