/*
 * Lab 60 - recurrent networks: sparse weights that train through time, T steps forward and T back.
 *
 * Trains the cell with the suite's kernels, and beside it with dense products and cuSPARSE's.
 */
#include "matrix/files.h"
#include "network.h"
#include "training/arguments.h"

static void print_help(const char *program, const argument *table, int count)
{
    printf("usage: %s [DATASET] [--option ...]\n\n"
           "Trains the recurrent weights of an RNN (H x H), a GRU (3H x H) or an LSTM (4H x H): T "
           "time\n"
           "steps forward and back, gradients summed. DATASET is W's pattern, as labs take it. Its "
           "products\n"
           "are plans of the suite; beside it is the same on dense products and on those of "
           "cuSPARSE.\n\n",
           program);
    arguments_print(stdout, table, count);
    printf("\nexit status: 0 ok, 1 a wrong gradient, or a loss that does not fall, 2 usage, 3 "
           "dataset,\n"
           "4 runtime, 5 does not fit in memory, 77 no GPU\n\n"
           "  %s rnn.gru-2048-0.8 --batch 128\n"
           "  %s weights:rows=256,cols=64,sparsity=0.9 --time 5 --vs none\n",
           program, program);
}

static void print_heading(const rnn_problem *p, const device_info *device)
{
    const recurrent *r = &p->r;
    const char *const cell = cell_name(r->kind);
    printf("%s: %s\n", r->data.name, r->data.source);
    printf("  %s of %lld units, %lld recurrent weights; %d columns, %d time steps\n", cell,
           (long long)r->units, (long long)r->data.matrix.nnz, r->N, r->steps);
    printf("  input and target are made; rate %g; seed %llu; fp32; %s\n", p->rate,
           (unsigned long long)p->seed,
           device_keeps_time() ? device->name
                               : "CPU backend (simt): times mean nothing and are not shown");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    rnn_problem p = {.updates = 20, .rate = 0.02};
    contest_options o = {.rival = "best", .runs = 20};
    const char *spec = "weights:rows=256,cols=64,sparsity=0.8", *data_dir = NULL;
    device_info device;
    error_text error;
    int seed = 1, N = 32, steps = 3;
    bool help = false;
    const argument table[] = {
        {"batch", ARGUMENT_WHOLE, &N, 1, 4096, "N", "columns: sequences of a step", NULL},
        {"time", ARGUMENT_WHOLE, &steps, 2, 64, "T", "time steps; the first sees no weight", NULL},
        {"steps", ARGUMENT_WHOLE, &p.updates, 0, 1000000, "N", "steps of training", NULL},
        {"rate", ARGUMENT_NUMBER, &p.rate, 1e-9, 1e9, "R", "learning rate", NULL},
        ARGUMENT_SEED(&seed, "of weights, input, target and directions"),
        {"vs", ARGUMENT_TEXT, &o.rival, 0, 0, "RIVAL",
         "best, default (cuSPARSE's), dense, none, or an SpMM as roma", NULL},
        {"runs", ARGUMENT_WHOLE, &o.runs, 3, 10000, "N", "timed steps", NULL},
        ARGUMENT_CHECK_ONLY(&o.check_only,
                            "check the gradient more closely, train and time nothing"),
        ARGUMENT_CSV(&o.csv_path, "write a row a network as CSV"),
        ARGUMENT_DATA_DIR(&data_dir),
        ARGUMENT_DEVICE(&o.device),
        ARGUMENT_HELP(&help),
    };
    const int count = sizeof table / sizeof *table;
    enum status status = arguments_read(argc, argv, table, count, &spec, &error);
    if (status == STATUS_OK && help) {
        print_help(argv[0], table, count);
        return output_end("rnn", status, &error);
    }
    p.seed = o.seed = (uint64_t)seed;
    if (status == STATUS_OK) status = contest_check_options(&rnn_kind, &o, &error);
    if (status == STATUS_OK) status = device_open(o.device, &device, &error);
    if (status == STATUS_OK)
        status = recurrent_open(spec, data_dir, N, steps, p.seed, &p.r, &error);
    if (status == STATUS_OK) {
        print_heading(&p, &device);
        status = contest_run(&rnn_kind, &p, &o, &device, &error);
    }
    status = output_end("rnn", status, &error);
    recurrent_close(&p.r);
    return status;
}
