/*
 * storage.h - formulas for what a pruned matrix of 16-bit weights takes in the formats that compete for
 * it. They also give what that allows a product that reads it once. They are not measurements.
 *
 * Elements are left independently of each other, each with probability 1 - sparsity. M x K is A, K x N
 * is B. Source: R. Fan et al., "SpInfer", EuroSys 2025, sections 3 and 4; formats/lane_major.h.
 */
#ifndef OPS_STORAGE_H
#define OPS_STORAGE_H

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum storage {
    STORAGE_DENSE,     /* 2 bytes an element */
    STORAGE_CSR,       /* 2-byte values, 4-byte columns and row offsets */
    STORAGE_TILED_CSL, /* Flash-LLM: value and place in a tile in 4 bytes, an offset a tile */
    STORAGE_SPARTA, /* two of each four in the 2:4 format of sparse tensor cores, the rest in CSR */
    STORAGE_TCA_BME,    /* lab 9: a bit an element */
    STORAGE_LANE_MAJOR, /* lab 20: a bit an element, each lane's values in its own bank */
    STORAGE_OPTIMUM,    /* the values alone */
    NUM_STORAGES
};

/* "TCA-BME" */
const char *storage_name(enum storage format);

/* Expected bytes of an M x K matrix. */
double storage_bytes(enum storage format, int64_t M, int64_t K, double sparsity);

/* Bytes of the dense matrix, 2 M K, over those. */
double compression_ratio(enum storage format, int64_t M, int64_t K, double sparsity);

/* The sparsity from which on it takes no more than the dense matrix: between 0 and 1, dense 0. */
double break_even_sparsity(enum storage format, int64_t M, int64_t K);

/* FLOP per byte of A * B: 2 M K N over 2 (M K / ratio + K N), where what the store of C adds is left
 * out, as the source does. A ratio of 1 is the dense product. */
double compute_intensity(double ratio, int64_t M, int64_t N);

/* FLOP/s that a machine with this peak and this memory bandwidth, in FLOP/s and bytes/s, allows. */
double roofline(double intensity, double peak, double bandwidth);

/* All of that for sparsities of 30 to 70 %, and for each format the break-even. `bandwidth` in
 * bytes/s gives the least time of each product. */
void storage_print(FILE *out, int64_t M, int64_t K, int64_t N, double bandwidth);

#ifdef __cplusplus
}
#endif
#endif
