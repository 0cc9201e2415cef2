/*
 * formats.h - what a matrix takes in each format that competes for it, counted by the encoders themselves.
 */
#ifndef LABSTAT_FORMATS_H
#define LABSTAT_FORMATS_H

#include "matrix/csr.h"
#include "matrix/stats.h"

/* Values have 32 bits in the first ones, which are of graphs, and 16 in the others, which are of weights. Each group begins
 * with CSR, over which the others are told. */
enum counted_format {
    COUNTED_CSR_32,
    COUNTED_COO,
    COUNTED_TC_GNN,
    COUNTED_ME_TCF,
    COUNTED_BRP,    /* as published: 96 bytes a run of eight nonzeros */
    COUNTED_BRP_64, /* as lab 22 has it: 64 */
    COUNTED_CSR_16,
    COUNTED_TCA_BME,
    COUNTED_LANE_MAJOR,
    COUNTED_TILED_CSL,
    COUNTED_TWO_FOUR,
    NUM_COUNTED
};

/* "ME-TCF" */
const char *counted_name(enum counted_format format);

/* Bits of a value, 32 or 16, and the CSR that the format is told over. */
int counted_value_bits(enum counted_format format);
enum counted_format counted_base(enum counted_format format);

/* Encodes A in each format, and counts the bytes of all its arrays; -1 where the encoder refuses a matrix, since its
 * zeros would be too many. Values do not count, so all are 1. Those of labs are made on the device.
 * STATUS_MEMORY, or STATUS_RUNTIME where the device fails. */
enum status count_formats(const csr_matrix *A, const row_stats *stats, int64_t bytes[NUM_COUNTED],
                          error_text *error);

#endif
