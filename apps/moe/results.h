/*
 * results.h - what each way of running the layer has shown: as a table, as CSV and as JSON.
 */
#ifndef MOE_RESULTS_H
#define MOE_RESULTS_H

#include "check.h"
#include "harness/device.h"

enum { NUM_FACTORS = 4 };

/* Capacities of layers that drop, over the mean of an expert. */
extern const double CAPACITY_FACTORS[NUM_FACTORS];

/* One way: checked, and perhaps timed. */
typedef struct result {
    enum way way;
    const char *model; /* "own": sizes were given */
    moe_shape shape;
    layer_verdict v;
    layer_times times;
    double dropped[NUM_FACTORS]; /* shares of choices; NAN: no run was right */
    double computed_rows;        /* of both products, those that fill up among them */
    double bytes;                /* of device memory, by formula */
    int runs;                    /* timed ones; 0: none */
    enum status status;
    error_text error;
} result;

/* Time of both products, with relu where it is a kernel of its own; NAN: not timed. */
double result_products_ms(const result *r);

/* Useful operations of both products over their time; NAN: not timed. */
double result_tflops(const result *r);

/* Print the table's first line, a line of it, and behind all of them parts of the time and what dropping would save. */
void results_print_heading(void);
void result_print(const result *r);
void results_print_rest(const result *results, int count);

/* Write all of them. path: NULL, a file, or "-". */
enum status results_write_csv(const char *path, const device_info *device, const result *results,
                              int count, error_text *error);
enum status results_write_json(const char *path, const device_info *device, const result *results,
                               int count, error_text *error);

#endif
