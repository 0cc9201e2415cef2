/*
 * mlp.c - trains a sparse perceptron on drawn digits with the suite's kernels, and beside it with dense ones and cuSPARSE's.
 */
#include "matrix/files.h"
#include "network.h"
#include "training/arguments.h"

#include <stdlib.h>

/* The largest problem that is asked for: its images take 784 * 2^20 * 4 bytes, and those held out a quarter of that. */
enum { MOST_SAMPLES = 1 << 20 };

static enum status prepare(mlp_problem *p, device_info *device, const contest_options *o,
                           error_text *error)
{
    const int batches = p->samples / p->batch, held_out = (batches + 3) / 4;
    enum status status = contest_check_options(&mlp_kind, o, error);
    if (status == STATUS_OK && batches < 1)
        status = fail(error, STATUS_USAGE, "--samples %d are fewer than --batch %d", p->samples,
                      p->batch);
    if (status == STATUS_OK && p->curve_path) status = output_check(p->curve_path, error);
    if (status == STATUS_OK) status = device_open(o->device, device, error);
    if (status == STATUS_OK) status = model_make(p->hidden, p->sparsity, p->seed, &p->m, error);
    if (status == STATUS_OK)
        status = model_images(p->batch, batches, held_out, p->seed, &p->d, error);
    if (status != STATUS_OK) return status;
    p->start = malloc(p->m.parameters * sizeof *p->start);
    if (!p->start) return fail(error, STATUS_MEMORY, "no memory for the parameters");
    model_start(&p->m, p->seed, p->start);
    return STATUS_OK;
}

static void print_heading(const mlp_problem *p, const device_info *device)
{
    const csr_matrix *W = p->m.W;
    printf("mlp %d-%d-%d: %lld + %lld weights, %g %% zeros\n", DIGITS_PIXELS, p->hidden,
           DIGITS_CLASSES, (long long)W[0].nnz, (long long)W[1].nnz, 100 * p->sparsity);
    printf("  %d drawn digits to train on, %d held out; batch %d; rate %g; seed %llu\n",
           p->d.batches * p->batch, p->d.held_out * p->batch, p->batch, p->rate,
           (unsigned long long)p->seed);
    if (p->change)
        printf("  every %d steps %g %% of the weights are dropped, and as many grow: %s\n",
               p->change, 100 * p->share, p->grow);
    printf("  fp32; %s\n", device_keeps_time()
                               ? device->name
                               : "CPU backend (simt): times mean nothing and are not shown");
    fflush(stdout);
}

static void print_help(const char *program, const argument *table, int count)
{
    printf("usage: %s [--option ...]\n\n"
           "Trains a perceptron of two sparse layers on drawn digits. Its products are plans of "
           "the suite;\n"
           "beside it is the same network on dense products and on those of cuSPARSE.\n\n",
           program);
    arguments_print(stdout, table, count);
    printf("\nexit status: 0 ok, 1 a wrong gradient, or a loss that does not fall, 2 usage, 4 "
           "runtime,\n"
           "5 does not fit in memory, 77 no GPU\n\n"
           "  %s --hidden 64 --steps 100 --vs none\n"
           "  %s --change 50 --grow random --curve loss.csv\n",
           program, program);
}

int main(int argc, char **argv)
{
    static const char *const GROWTHS[] = {"gradient", "random", NULL};
    mlp_problem p = {.hidden = 1024,
                     .batch = 128,
                     .samples = 4096,
                     .steps = 300,
                     .sparsity = 0.9,
                     .rate = 0.5,
                     .share = 0.2,
                     .grow = "gradient"};
    contest_options o = {.rival = "best", .runs = 50};
    device_info device;
    error_text error;
    int seed = 1;
    bool help = false;
    const argument table[] = {
        {"hidden", ARGUMENT_WHOLE, &p.hidden, 1, 65536, "N", "numbers between the layers", NULL},
        {"batch", ARGUMENT_WHOLE, &p.batch, 1, 4096, "N", "images of a step", NULL},
        {"sparsity", ARGUMENT_NUMBER, &p.sparsity, 0, 0.999, "S", "share of zeros", NULL},
        {"samples", ARGUMENT_WHOLE, &p.samples, 1, MOST_SAMPLES, "N", "images to train on", NULL},
        {"steps", ARGUMENT_WHOLE, &p.steps, 0, 1000000, "N", "steps of training", NULL},
        {"rate", ARGUMENT_NUMBER, &p.rate, 1e-9, 1e9, "R", "learning rate", NULL},
        {"change", ARGUMENT_WHOLE, &p.change, 0, 1000000, "N",
         "steps between changes of the pattern; 0: it stays", NULL},
        {"share", ARGUMENT_NUMBER, &p.share, 0, 1, "S", "of the weights, dropped by a change",
         NULL},
        {"grow", ARGUMENT_TEXT, &p.grow, 0, 0, "HOW", "gradient or random: where weights grow",
         GROWTHS},
        {"curve", ARGUMENT_TEXT, &p.curve_path, 0, 0, "FILE", "write the loss of each step as CSV",
         NULL},
        ARGUMENT_SEED(&seed, "of images, pattern, start and directions"),
        {"vs", ARGUMENT_TEXT, &o.rival, 0, 0, "RIVAL",
         "best, default (cuSPARSE's), dense, none, or an SpMM as roma", NULL},
        {"runs", ARGUMENT_WHOLE, &o.runs, 3, 10000, "N", "timed steps", NULL},
        ARGUMENT_CHECK_ONLY(&o.check_only,
                            "check the gradient more closely, train and time nothing"),
        ARGUMENT_CSV(&o.csv_path, "write a row a network as CSV"),
        ARGUMENT_DEVICE(&o.device),
        ARGUMENT_HELP(&help),
    };
    const int count = sizeof table / sizeof *table;
    enum status status = arguments_read(argc, argv, table, count, NULL, &error);
    if (status == STATUS_OK && help) {
        print_help(argv[0], table, count);
        return output_end("mlp", status, &error);
    }
    p.seed = o.seed = (uint64_t)seed;
    if (status == STATUS_OK) status = prepare(&p, &device, &o, &error);
    if (status == STATUS_OK) {
        print_heading(&p, &device);
        status = contest_run(&mlp_kind, &p, &o, &device, &error);
    }
    status = output_end("mlp", status, &error);
    model_free(&p.m);
    images_free(&p.d);
    free(p.start);
    return status;
}
