/*
 * block_pruning.c - trains a perceptron of block-sparse layers on drawn digits, and drops and grows blocks while it trains.
 */
#include "harness/timing.h"
#include "matrix/files.h"
#include "network.h"
#include "results/csv.h"
#include "results/row.h"
#include "training/arguments.h"
#include "training/try.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The largest problem that is asked for: its images take 832 * 2^20 * 4 bytes, and those held out a quarter of that. */
enum { MOST_SAMPLES = 1 << 20, WARM_STEPS = 5 };

/* A run of the program: what was asked, and what came out. */
typedef struct session {
    pruning_problem p;
    const char *curve_path, *csv_path;
    int device_number, runs;
    bool check_only;
    device_info device;
    verdict before, after; /* the gradient's, around training */
    training_result result;
    double density; /* in the end */
    spread step;    /* NAN: not timed */
    enum status status;
} session;

static enum status prepare(session *s, error_text *error)
{
    pruning_problem *p = &s->p;
    const int batches = p->samples / p->batch, held_out = (batches + 3) / 4;
    if (p->block != 8 && p->block != 16 && p->block != 32 && p->block != 64)
        return fail(error, STATUS_USAGE, "--block %d: choose one of 8, 16, 32, 64", p->block);
    if (p->hidden % p->block)
        return fail(error, STATUS_USAGE, "--hidden %d is not a multiple of --block %d", p->hidden,
                    p->block);
    if (p->target > p->start)
        return fail(error, STATUS_USAGE, "--density %g is above --start %g: blocks are pruned",
                    p->target, p->start);
    if (batches < 1)
        return fail(error, STATUS_USAGE, "--samples %d are fewer than --batch %d", p->samples,
                    p->batch);
    TRY(rows_check(s->csv_path, error));
    if (s->curve_path) TRY(output_check(s->curve_path, error));
    TRY(device_open(s->device_number, &s->device, error));
    TRY(model_make(p->hidden, p->block, p->start, p->seed, &p->m, error));
    return images_make(p->batch, p->m.features[0], batches, held_out, p->seed, &p->d, error);
}

static void print_heading(const session *s)
{
    const pruning_problem *p = &s->p;
    printf("block_pruning %d-%d-%d-%d, blocks of %d; the first two layers are pruned\n",
           p->m.features[0], p->hidden, p->hidden, p->m.features[NUM_LAYERS], p->block);
    printf("  %d drawn digits to train on, %d held out; batch %d; rate %g; seed %llu\n",
           p->d.batches * p->batch, p->d.held_out * p->batch, p->batch, p->rate,
           (unsigned long long)p->seed);
    if (p->change)
        printf("  every %d steps blocks of least norm (%s) go, and %g %% of the others move: %s; "
               "density %g to %g\n",
               p->change, p->norm, 100 * p->share, p->grow, p->start, p->target);
    printf("  fp32; %s\n", device_keeps_time()
                               ? s->device.name
                               : "CPU backend (simt): times mean nothing and are not shown");
    fflush(stdout);
}

/* ---- running ----------------------------------------------------------------------------------- */

static enum status check(network *net, amount how_much, const char *when, verdict *v,
                         error_text *error)
{
    TRY(network_check(net, how_much, v, error));
    printf("gradient %s: %s, %d derivatives, worst %.3f of its bound\n", when,
           v->passed ? "PASS" : "FAIL", v->checked, v->worst);
    if (v->passed) return STATUS_OK;
    return fail(error, STATUS_WRONG, "wrong gradient: %s is off by %.3g times its bound", v->where,
                v->worst);
}

static enum status train(session *s, network *net, error_text *error)
{
    output_file file;
    if (!s->curve_path) return network_train(net, NULL, &s->result, error);
    TRY(output_open(&file, s->curve_path, error));
    const enum status status = network_train(net, file.stream, &s->result, error);
    if (status == STATUS_OK) return output_close(&file, error);
    output_discard(&file);
    return status;
}

static enum status one_step(void *net, error_text *error)
{
    return network_step(net, error);
}

static enum status run_network(session *s, network *net, error_text *error)
{
    const amount usual = {1, 0}, close = {4, 20};
    const training_result *r = &s->result;
    TRY(check(net, s->check_only ? close : usual, "at the start", &s->before, error));
    if (s->check_only) return STATUS_OK;
    TRY(train(s, net, error));
    s->density = network_density(net);
    if (!isnan(r->first_loss) && !(r->last_loss < r->first_loss))
        return fail(error, STATUS_WRONG, "the loss did not fall: %.5f, and after training %.5f",
                    r->first_loss, r->last_loss);
    printf("\n");
    TRY(check(net, usual, "after training", &s->after, error));
    if (!device_keeps_time()) return STATUS_OK;
    return time_work(one_step, net, NULL, WARM_STEPS, s->runs, &s->step, error);
}

static void print_result(const session *s)
{
    const training_result *r = &s->result;
    const block_change *c = &r->cost;
    if (s->check_only) return;
    printf("%d changes of the layouts", r->changes);
    if (r->changes && device_keeps_time())
        printf(", ms each: norms and importance %.3f, choosing %.3f, layouts and plans %.3f",
               c->measure_ms / r->changes, c->choose_ms / r->changes, c->plans_ms / r->changes);
    printf("; density %.1f %% in the end\n", 100 * s->density);
    if (!isnan(s->step.median_ms))
        printf("a step takes %.4f ms (IQR %.4f)\n", s->step.median_ms, s->step.iqr_ms);
}

static void write_row(FILE *out, const void *arg)
{
    const session *s = arg;
    const pruning_problem *p = &s->p;
    const training_result *r = &s->result;
    const bool timed = r->changes && device_keeps_time();
    const double numbers[] = {s->before.worst,
                              r->first_loss,
                              r->last_loss,
                              r->held_out,
                              s->density,
                              s->step.median_ms,
                              s->step.iqr_ms,
                              timed ? r->cost.measure_ms : NAN,
                              timed ? r->cost.choose_ms : NAN,
                              timed ? r->cost.plans_ms : NAN};
    fprintf(out, "schema,app,hidden,block,batch,steps,rate,change,share,start,target,grow,norm,"
                 "seed,status,changes,runs,of_bound,first_loss,last_loss,held_out,density,step_ms,"
                 "iqr_ms,measure_ms,choose_ms,plans_ms,backend,device,driver,toolkit,commit\n");
    fprintf(out, "1,block_pruning,%d,%d,%d,%d,%.7g,%d,%.7g,%.7g,%.7g,%s,%s,%llu,%s,%d,%d",
            p->hidden, p->block, p->batch, p->steps, p->rate, p->change, p->share, p->start,
            p->target, p->grow, p->norm, (unsigned long long)p->seed, row_status(s->status),
            r->changes, isnan(s->step.median_ms) ? 0 : s->runs);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        csv_add_number(out, numbers[i]);
    row_add_machine(out, &s->device);
    fputc('\n', out);
}

static enum status run(session *s, error_text *error)
{
    network *net = NULL;
    error_text of_csv;
    s->density = NAN;
    s->step = (spread){NAN, NAN};
    s->result = (training_result){.first_loss = NAN, .last_loss = NAN, .held_out = NAN};
    enum status status = network_make(&s->p, &net, error);
    if (status == STATUS_OK) status = run_network(s, net, error);
    network_destroy(net);
    if (status == STATUS_OK) print_result(s);
    s->status = status;
    const enum status written = output_write(s->csv_path, write_row, s, &of_csv);
    if (status != STATUS_OK || written == STATUS_OK) return status;
    *error = of_csv;
    return written;
}

/* ---- the command line -------------------------------------------------------------------------- */

static void print_help(const char *program, const argument *table, int count)
{
    printf("usage: %s [--option ...]\n\n"
           "Trains a perceptron of block-sparse layers on drawn digits. Blocks of least norm are "
           "dropped,\n"
           "and absent ones grow: those of greatest importance, or any.\n\n",
           program);
    arguments_print(stdout, table, count);
    printf("\nexit status: 0 ok, 1 a wrong gradient, or a loss that does not fall, 2 usage, 4 "
           "runtime,\n"
           "5 does not fit in memory, 77 no GPU\n\n"
           "  %s --hidden 256 --block 16 --density 0.1 --change 20\n"
           "  %s --start 0.1 --density 0.1 --change 20 --grow random --curve random.csv\n",
           program, program);
}

int main(int argc, char **argv)
{
    static const char *const GROWTHS[] = {"importance", "random", NULL};
    static const char *const NORMS[] = {"max", "l2", NULL};
    session s = {.p = {.hidden = 1024,
                       .block = 32,
                       .batch = 128,
                       .samples = 4096,
                       .steps = 400,
                       .change = 50,
                       .start = 1,
                       .target = 0.1,
                       .share = 0.2,
                       .rate = 0.2,
                       .grow = "importance",
                       .norm = "l2"},
                 .runs = 50};
    pruning_problem *p = &s.p;
    error_text error;
    int seed = 1;
    bool help = false;
    const argument table[] = {
        {"hidden", ARGUMENT_WHOLE, &p->hidden, 1, 65536, "N", "features of both inner layers",
         NULL},
        {"block", ARGUMENT_WHOLE, &p->block, 1, 64, "B", "side of a block: 8, 16, 32 or 64", NULL},
        {"batch", ARGUMENT_WHOLE, &p->batch, 1, 4096, "N", "images of a step", NULL},
        {"samples", ARGUMENT_WHOLE, &p->samples, 1, MOST_SAMPLES, "N", "images to train on", NULL},
        {"steps", ARGUMENT_WHOLE, &p->steps, 0, 1000000, "N", "steps of training", NULL},
        {"rate", ARGUMENT_NUMBER, &p->rate, 1e-9, 1e9, "R", "learning rate", NULL},
        {"start", ARGUMENT_NUMBER, &p->start, 0.001, 1, "D", "share of blocks at the beginning",
         NULL},
        {"density", ARGUMENT_NUMBER, &p->target, 0.001, 1, "D", "share of blocks in the end", NULL},
        {"change", ARGUMENT_WHOLE, &p->change, 0, 1000000, "N",
         "steps between changes of the layouts; 0: they stay", NULL},
        {"share", ARGUMENT_NUMBER, &p->share, 0, 1, "S",
         "of the blocks that stay: moved by a change", NULL},
        {"grow", ARGUMENT_TEXT, &p->grow, 0, 0, "HOW", "importance or random: where blocks grow",
         GROWTHS},
        {"norm", ARGUMENT_TEXT, &p->norm, 0, 0, "NORM", "max or l2: what a block is measured by",
         NORMS},
        {"curve", ARGUMENT_TEXT, &s.curve_path, 0, 0, "FILE",
         "write loss and density of each step as CSV", NULL},
        ARGUMENT_SEED(&seed, "of images, layouts, start and directions"),
        {"runs", ARGUMENT_WHOLE, &s.runs, 3, 10000, "N", "timed steps", NULL},
        ARGUMENT_CHECK_ONLY(&s.check_only,
                            "check the gradient more closely, train and time nothing"),
        ARGUMENT_CSV(&s.csv_path, "write a row as CSV"),
        ARGUMENT_DEVICE(&s.device_number),
        ARGUMENT_HELP(&help),
    };
    const int count = sizeof table / sizeof *table;
    enum status status = arguments_read(argc, argv, table, count, NULL, &error);
    if (status == STATUS_OK && help) {
        print_help(argv[0], table, count);
        return output_end("block_pruning", status, &error);
    }
    p->seed = (uint64_t)seed;
    if (status == STATUS_OK) status = prepare(&s, &error);
    if (status == STATUS_OK) {
        print_heading(&s);
        status = run(&s, &error);
    }
    status = output_end("block_pruning", status, &error);
    model_free(&p->m);
    images_free(&p->d);
    return status;
}
