/*
 * home.h - the rows of a dense matrix that each rank has at home, on its own device.
 *
 * A caller has B and C whole, on one device. Where a rank's device is another one its rows are copies there: they are
 * distributed before a product and collected after it, and neither belongs to the product. Processes of a launch have
 * all of B each, and collect C by the exchange.
 */
#ifndef EXCHANGE_HOME_H
#define EXCHANGE_HOME_H

#include "exchange/exchange.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct exchange_home {
    int64_t first[EXCHANGE_MOST_RANKS + 1]; /* row of each rank; all have all rows: 0 */
    int64_t end[EXCHANGE_MOST_RANKS];       /* row behind its last */
    size_t row_bytes;
    char *own
        [EXCHANGE_MOST_RANKS]; /* copies on the rank's device; NULL: the caller's array will do */
} exchange_home;

/* Makes room for rows first[r] .. first[r + 1] - 1 of each rank r, where it needs any. On error exchange_home_free
 * frees what there is. */
cudaError_t exchange_home_cut(exchange_home *h, const exchange *e, const int64_t *first,
                              size_t row_bytes);
/* The same for all rows on every rank. */
cudaError_t exchange_home_whole(exchange_home *h, const exchange *e, int64_t rows,
                                size_t row_bytes);
void exchange_home_free(exchange_home *h);

/* The first row of rank r's, where it has them at home; whole: the caller's array. */
char *exchange_home_of(const exchange_home *h, int rank, const void *whole);

/* Copies rows of the caller's array to their homes, and waits. */
cudaError_t exchange_distribute(const exchange_home *h, const exchange *e, const void *whole);
/* Copies them back, and waits. Each process of a launch must call it. */
cudaError_t exchange_collect(const exchange_home *h, exchange *e, void *whole);

#ifdef __cplusplus
}
#endif
#endif
