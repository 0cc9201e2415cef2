/*
 * model.h - a recurrent problem: W of one cell, what goes in, what shall come out; and the loss in fp64.
 *
 * The state h begins at 0 and passes T time steps of cell.h. W [gates * H][H] is sparse, and all that trains. The input's
 * share of the gates D[t] and the target of the last h are made, uniform.
 *
 *   loss = 1 / (2 columns) * the sum of (h_T - target)^2 over the first `columns` of the N columns
 */
#ifndef RNN_MODEL_H
#define RNN_MODEL_H

#include "cell.h"
#include "matrix/dataset.h"

typedef struct recurrent {
    dataset data; /* W's pattern, without values */
    enum cell_kind kind;
    int64_t units;     /* H */
    int N, steps;      /* columns; T */
    float *W;          /* values at the start */
    float *D, *target; /* [T][gates * H][N]; [H][N] */
} recurrent;

/* "rnn", "gru", "lstm" */
const char *cell_name(enum cell_kind kind);

/* Opens the pattern that `spec` names, whose shape says which cell it is, and makes the rest. STATUS_DATASET: the shape is
 * none of the cells', or a pair is stored twice. The caller closes it, also after an error. */
enum status recurrent_open(const char *spec, const char *data_dir, int N, int steps, uint64_t seed,
                           recurrent *r, error_text *error);
void recurrent_close(recurrent *r);

/* The loss by the values W, in fp64. It shares no code with the kernels. NAN: no memory. */
double recurrent_loss(const recurrent *r, int columns, const double *W);

#endif
