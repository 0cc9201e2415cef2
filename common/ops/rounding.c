#include "ops/rounding.h"

#include <math.h>

/*
 * Always. Add up n products in fp32, in any order, with or without fused multiply-add. The sum is
 * off by at most (n + small) u sum |ab| (Higham, Accuracy and Stability of Numerical Algorithms,
 * section 3.1). The 4 covers the product's own rounding and the splitting of a row; n 2^-149 covers
 * products that underflow to subnormals. An empty sum gives bound 0: exactly zero.
 *
 * This grows like n^2 for products of like size: with 8192 of them it forgives a lost one.
 *
 * With random signs. Call the products p_1 ... p_n. The harness draws one factor of each, from -1 to 1
 * and independently of all others. So partial sums are a random walk: the square of partial sum k is
 * p_1^2 + ... + p_k^2 in the mean, at most Q = sum of p^2. Adding p_k rounds the partial sum: an error
 * of at most u |partial sum|, spread evenly, whose square is u^2 Q / 3 in the mean. The n of them
 * have no common sign. Their sum has a standard deviation of at most u sqrt(n Q / 3). Six times
 * u sqrt(n Q) is more than ten such deviations.
 *
 * What has no random sign comes on top. A product's own rounding is at most u |p|. For the largest
 * product 2 u max |p| covers that, once before and once after a split of its factors. 4 leaves room for
 * a kernel that rounds the pieces of a split factor. The last additions put the parts of a split row
 * together and round the result itself, 2 u |result|.
 *
 * A kernel on tensor cores that forms each product of three has errors of about 2 u |p| each, of
 * random sign, too: 2 u sqrt(Q). That is within the first term from n = 1 on.
 *
 * Products that share the random factor are one product of the sum of their other factors: the caller
 * adds them up before it squares. The largest error seen over all labs is 0.49 of this bound.
 */
double rounding_bound(const product_sum *s)
{
    const double C1 = 6, C2 = 4, C3 = 2;
    const double always = (s->n + 4) * s->size;
    const double random = C1 * sqrt(s->n * s->squares) + C2 * s->largest + C3 * fabs(s->result);
    return ROUNDOFF * fmin(always, random) + 0x1p-149 * s->n;
}

/* fp32 holds whole numbers up to 2^24. Tensor cores add with a few bits less beside the largest term: 2^22 leaves them
 * two. fp16 ends at 65504. */
int rounding_whole_limit(enum precision precision, double terms, int factors)
{
    enum { MOST = 8 };
    const double sum = fmin(0x1p22, precision_format(precision)->largest);
    int most = MOST;
    while (most > 0 && terms * pow(most, factors) > sum)
        most--;
    return most;
}

/* In fp16 and bf16 the inputs are what they are after rounding. The product of two of them is exact in
 * fp32 (11 + 11 bits at most, of 24). So a kernel that adds in fp32 has the same error e, and rounds
 * once more, at the store. That adds at most half a unit in the last place of what it stores. It is
 * u16 (|c| + e), or half of the least subnormal where c is that small. Altogether the error is e + u16
 * (|c| + e) + least / 2, with u16 = 2^-11 or 2^-8. For long rows this is far below u16 (n + 4) sum
 * |ab|, which sums formed in 16 bits would need. */
double rounding_stored(enum precision precision, double result, double error)
{
    const number_format *format = precision_format(precision);
    if (precision == PRECISION_FP32) return error;
    return error + format->unit_roundoff * (fabs(result) + error) + format->least / 2;
}
