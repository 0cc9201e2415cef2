/*
 * sums_rounded.h - how many times the bound of 16-bit products the vendor's may be off.
 *
 * In 16 bits all of cuSPARSE's algorithms but CSR_ALG3 round, where a row is split, what they have added
 * up so far. An H200 shows errors up to u (n + 4) sum |a||b| with the unit roundoff u of 16 bits. That is
 * 2^13 times the fp32 part of the bound for fp16, 2^16 times for bf16. cuBLAS may do the same where it
 * splits K, unless it is told not to. It is what they are allowed, and no lab is.
 */
#ifndef BASELINES_SUMS_ROUNDED_H
#define BASELINES_SUMS_ROUNDED_H

#define FP16_SUMS_ROUNDED 0x1p13
#define BF16_SUMS_ROUNDED 0x1p16

#endif
