#include "matrix/checksum.h"

#include "matrix/random.h"

#include <string.h>

enum {
    BLOCK_BYTES = 1 << 20, /* one task of the parallel loop */
    LANES = 8              /* independent chains, so that multiplications overlap */
};

/* Takes one word into a chain: xor, multiplication by an odd number and rotation can each be
 * undone, so two chains that differ in one word end up different. */
static uint64_t absorb(uint64_t chain, uint64_t word)
{
    chain = (chain ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return chain << 27 | chain >> 37;
}

static uint64_t block_checksum(const unsigned char *data, size_t bytes)
{
    uint64_t lane[LANES] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint64_t words[LANES];
    for (; bytes >= sizeof words; bytes -= sizeof words, data += sizeof words) {
        memcpy(words, data, sizeof words);
        for (int i = 0; i < LANES; i++)
            lane[i] = absorb(lane[i], words[i]);
    }
    memset(words, 0, sizeof words);
    memcpy(words, data, bytes);
    uint64_t sum = bytes;
    for (int i = 0; i < LANES; i++)
        sum = absorb(sum, absorb(lane[i], words[i]));
    return sum;
}

uint64_t checksum(const void *data, size_t bytes, uint64_t seed)
{
    size_t blocks = (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
    uint64_t sum = absorb(seed, bytes);
    /* Each block's sum is scattered by its number, so blocks may be added in any order. */
#pragma omp parallel for reduction(+ : sum)
    for (size_t i = 0; i < blocks; i++) {
        size_t begin = i * BLOCK_BYTES;
        size_t length = bytes - begin < BLOCK_BYTES ? bytes - begin : BLOCK_BYTES;
        sum += random_bits(block_checksum((const unsigned char *)data + begin, length), i);
    }
    return random_bits(sum, seed);
}
