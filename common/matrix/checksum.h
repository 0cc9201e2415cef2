/*
 * checksum.h - a 64-bit checksum that keeps up with memory.
 */
#ifndef MATRIX_CHECKSUM_H
#define MATRIX_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of `bytes` at `data`, continued from `seed` (0, or the checksum of what came
 * before). The same for any number of threads. Detects damage, not malice. */
uint64_t checksum(const void *data, size_t bytes, uint64_t seed);

#endif
