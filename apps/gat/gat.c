/*
 * gat.c - trains a GAT or a GCN on the suite's kernels, and beside it on those of cuSPARSE.
 */
#include "matrix/files.h"
#include "network.h"
#include "training/arguments.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static enum status prepare(gat_problem *p, const char *spec, const char *data_dir, int features,
                           int classes, const contest_options *o, device_info *device,
                           error_text *error)
{
    enum status status = contest_check_options(&gat_kind, o, error);
    if (status == STATUS_OK) status = device_open(o->device, device, error);
    if (status == STATUS_OK)
        status = graph_open(spec, data_dir, features, classes, p->seed, &p->g, error);
    if (status != STATUS_OK) return status;
    const enum model_kind kind = strcmp(p->model, "gcn") ? MODEL_GAT : MODEL_GCN;
    p->m = model_make(kind, p->layers, p->heads, p->hidden, features, classes);
    p->start = malloc(p->m.floats * sizeof *p->start);
    if (!p->start) return fail(error, STATUS_MEMORY, "no memory for the parameters");
    model_start(&p->m, p->seed, p->start);
    return STATUS_OK;
}

static void print_heading(const gat_problem *p, const device_info *device)
{
    const graph *g = &p->g;
    printf("%s: %s\n", g->name, g->source);
    if (g->origin == ORIGIN_STAND_IN)
        printf("  A STAND-IN, not the real graph: generated with its counts and row lengths\n");
    printf("  %" PRId64 " vertices, %" PRId64
           " edges: both directions of each, and one from every vertex to itself\n",
           g->A.rows, g->A.nnz);
    printf("  %d features and labels of %d classes are made, not the data's; %" PRId64
           " vertices are trained on; seed %" PRIu64 "\n",
           g->features, g->classes, g->num_trained, p->seed);
    printf("  %s of %d layers, ", p->model, p->layers);
    if (p->m.kind == MODEL_GAT)
        printf("%d heads of %d features", p->heads, p->hidden);
    else
        printf("%d hidden features", p->heads * p->hidden);
    printf(", %" PRId64 " parameters; fp32; %s\n", model_parameters(&p->m),
           device_keeps_time() ? device->name
                               : "CPU backend (simt): times mean nothing and are not shown");
    fflush(stdout);
}

static void print_help(const char *program, const argument *table, int count)
{
    printf(
        "usage: %s [DATASET] [--option ...]\n\n"
        "Trains a graph attention network, or a graph convolutional network, on a graph. Every "
        "sparse\n"
        "product is a plan of the suite, every dense one cuBLAS's; beside it the same network "
        "with the\n"
        "sparse products of cuSPARSE. Features and labels are made. DATASET is a name, a file or "
        "a\n"
        "generator, as labs take it; without it a sample.\n\n",
        program);
    arguments_print(stdout, table, count);
    printf("\nexit status: 0 ok, 1 a wrong gradient, or a loss that does not fall, 2 usage, 3 "
           "dataset,\n"
           "4 runtime, 5 does not fit in memory, 77 no GPU\n\n"
           "  %s arxiv\n"
           "  %s datasets/samples/market.mtx --model gcn --steps 100\n"
           "  %s rand:rows=300,deg=5 --check-only --heads 3\n",
           program, program, program);
}

int main(int argc, char **argv)
{
    static const char *const MODELS[] = {"gat", "gcn", NULL};
    gat_problem p = {
        .model = "gat", .layers = 2, .heads = 8, .hidden = 8, .steps = 50, .rate = 0.01};
    contest_options o = {.rival = "best", .runs = 20};
    const char *spec = NULL, *data_dir = NULL;
    device_info device;
    error_text error;
    int seed = 1, features = 64, classes = 8;
    bool help = false;
    const argument table[] = {
        {"model", ARGUMENT_TEXT, &p.model, 0, 0, "M", "gat or gcn", MODELS},
        {"layers", ARGUMENT_WHOLE, &p.layers, 1, MAX_LAYERS, "N", "layers of the network", NULL},
        {"heads", ARGUMENT_WHOLE, &p.heads, 1, 8, "N", "heads of each hidden layer", NULL},
        {"hidden", ARGUMENT_WHOLE, &p.hidden, 1, 256, "N", "features of a head in hidden layers",
         NULL},
        {"features", ARGUMENT_WHOLE, &features, 1, 4096, "N",
         "features of a vertex, which are made", NULL},
        {"classes", ARGUMENT_WHOLE, &classes, 2, 256, "N", "classes of vertices, which are made",
         NULL},
        {"steps", ARGUMENT_WHOLE, &p.steps, 0, 1000000, "N", "steps of training", NULL},
        {"rate", ARGUMENT_NUMBER, &p.rate, 1e-9, 1e9, "R", "learning rate of Adam", NULL},
        ARGUMENT_SEED(&seed, "of features, labels, parameters and directions"),
        {"vs", ARGUMENT_TEXT, &o.rival, 0, 0, "RIVAL",
         "best (of cuSPARSE), default, none, or SpMMs as roma, with commas", NULL},
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
        return output_end("gat", status, &error);
    }
    p.seed = o.seed = (uint64_t)seed;
    if (status == STATUS_OK)
        status = prepare(&p, spec, data_dir, features, classes, &o, &device, &error);
    if (status == STATUS_OK) {
        print_heading(&p, &device);
        status = contest_run(&gat_kind, &p, &o, &device, &error);
    }
    status = output_end("gat", status, &error);
    free(p.start);
    graph_close(&p.g);
    return status;
}
