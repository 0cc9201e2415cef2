#include "results/results.h"

#include "harness/provenance.h"
#include "harness/tuning.h"
#include "results/bound.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Copies text that is cut where it is too long. */
#define COPY_TEXT(to, from) snprintf(to, sizeof to, "%.*s", (int)sizeof to - 1, from)

/* The columns that come from instruments. */
static void add_inspection(row *r, inspection *i)
{
    const counters *n = &i->run;
    r->inspection = i;
    r->counted = i->counted;
    r->predicted = i->predicted;
    r->checked = *checks_text(i->which);
    r->num_findings = (int64_t)i->num_findings;
    if (i->predicted) {
        r->predicted_ms = i->prediction.ms;
        COPY_TEXT(r->predicted_limit, RESOURCE_NAMES[i->prediction.limit]);
    }
    if (!i->counted) return;
    COPY_TEXT(r->model, i->model);
    r->sampled = i->sample;
    r->num_kernels = (int64_t)i->run_kernels;
    r->total = *n;
    r->shared_ld_conflicts = bank_conflicts(&n->access[SHARED_LOAD]);
    r->shared_st_conflicts = bank_conflicts(&n->access[SHARED_STORE]);
    r->simt_efficiency = simt_efficiency(n->lane_steps, n->steps);
    r->memory_simt_efficiency = simt_efficiency(n->memory_lanes, n->memory_steps);
    r->warp_imbalance = imbalance(n->longest_warp, n->work, n->warps);
    r->block_imbalance = imbalance(n->longest_block, n->work, n->blocks);
    r->sm_imbalance = imbalance(n->busiest_sm, n->work, n->sms);
    r->l1_hit_rate = share_of(n->l1_hit_sectors, n->access[GLOBAL_LOAD].cost);
}

/* The columns that hold the time against the machine's limits. A dense product gathers nothing. */
static void add_bound(row *r, const problem *p, const contender *c, const outcome *out,
                      const options *o, const device_info *device, const machine_limits *limits,
                      const cost_model *model)
{
    machine_limits l = *limits;
    if (!l.l2_bytes) l.l2_bytes = (double)device->l2_bytes;
    if (p->operation->least) {
        r->bound_ms = bound_ms(&l, &out->least, p->precision, o->l2 != L2_COLD);
        r->bound_share = r->bound_ms / r->median_ms;
        bound_lacks(&l, &out->least, p->precision, r->bound_lacks, sizeof r->bound_lacks);
    }
    if (!c->dense) r->gather_share = gather_ms(&l, model) / r->median_ms;
}

row result_row(const dataset *d, const problem *p, const contender *c, const int *tuning,
               const outcome *out, const options *o, const device_info *device,
               const machine_limits *limits)
{
    row r = {
        .lab = c->lab,
        .is_vendor_default = c->vendor_default,
        .is_dense = c->dense,
        .rows = p->A->rows,
        .cols = p->A->cols,
        .nnz = p->A->nnz,
        .mean_row = p->stats.mean,
        .max_row = p->stats.max,
        .cov_row = p->stats.cov,
        .N = p->width,
        .seed = o->seed,
        .prepare_ms = out->prepare_ms,
        .median_ms = out->timing.median_ms,
        .iqr_ms = out->timing.iqr_ms,
        .batch_ms = out->timing.batch_ms,
        .runs = out->timing.runs,
        .speedup_vendor_best = NAN,
        .speedup_vendor_default = NAN,
        .speedup_lab_before = NAN,
        .bound_ms = NAN,
        .bound_share = NAN,
        .gather_share = NAN,
        .ranges = p->num_ranges > 1 ? p->num_ranges : 1,
        .checked_share = out->comparison.elements
                             ? (double)out->comparison.elements / (double)problem_elements(p)
                             : NAN,
        .worst_error = out->comparison.elements ? out->comparison.worst : NAN,
    };
    COPY_TEXT(r.contender, c->name);
    COPY_TEXT(r.operation, c->operation->name);
    COPY_TEXT(r.precision, precision_name(c->precision));
    COPY_TEXT(r.dataset, d->name);
    COPY_TEXT(r.origin, dataset_origin_name(d->origin));
    COPY_TEXT(r.source, d->source);
    COPY_TEXT(r.backend, device_backend());
    COPY_TEXT(r.device, device->name);
    COPY_TEXT(r.driver, device->driver);
    COPY_TEXT(r.toolkit, device->toolkit);
    COPY_TEXT(r.commit, provenance_commit());
    COPY_TEXT(r.l2, options_l2(o));
    const bool sampled = out->status == STATUS_OK && options_sampled(o);
    COPY_TEXT(r.status, sampled ? "sample" : row_status(out->status));
    COPY_TEXT(r.message, out->message);
    options_flags(o, r.flags, sizeof r.flags);
    if (tuning && *out->settings)
        COPY_TEXT(r.tuning, out->settings);
    else if (tuning)
        tuning_text(c, tuning, r.tuning, sizeof r.tuning);

    if (out->inspection) add_inspection(&r, out->inspection);

    cost_model model;
    p->operation->cost(p, &model);
    r.gflops = model.flops / r.median_ms * 1e-6;
    r.compulsory_gbs = model.compulsory_bytes / r.median_ms * 1e-6;
    r.gather_gbs = cost_gather_bytes(&model) / r.median_ms * 1e-6;
    if (limits && !isnan(r.median_ms)) add_bound(&r, p, c, out, o, device, limits, &model);
    return r;
}

static const row *faster(const row *a, const row *b)
{
    return !a || b->median_ms < a->median_ms ? b : a;
}

/* The vendor's algorithms in the precision of `r`. */
static void compare_with_vendor(row *r, const row *rows, size_t count)
{
    const row *best = NULL, *standard = NULL;
    int vendors = 0;
    for (size_t i = 0; i < count; i++) {
        const row *v = &rows[i];
        if (v->lab || v->is_dense || isnan(v->median_ms) || strcmp(v->precision, r->precision) != 0)
            continue;
        best = faster(best, v);
        if (v->is_vendor_default) standard = v;
        vendors++;
    }
    if (best && vendors > 1) { /* else --vs default: the others were not run */
        COPY_TEXT(r->vendor_best, best->contender);
        r->speedup_vendor_best = best->median_ms / r->median_ms;
    }
    if (standard) {
        COPY_TEXT(r->vendor_default, standard->contender);
        r->speedup_vendor_default = standard->median_ms / r->median_ms;
    }
}

static bool is_of(const row *r, int lab, const char *precision)
{
    return r->lab == lab && (!precision || !strcmp(r->precision, precision));
}

/* The step before `r`: the nearest of its ancestors that has rows, of that precision or, if it is NULL,
 * of any; 0 if none has. Parents have lower numbers, so the walk ends even if one is its own. */
static int step_before(const row *r, const row *rows, size_t count, const char *precision)
{
    int lab = r->lab, parent;
    while ((parent = lab_parent(r->operation, lab)) > 0 && parent < lab) {
        lab = parent;
        for (size_t i = 0; i < count; i++)
            if (is_of(&rows[i], lab, precision)) return lab;
    }
    return 0;
}

static void compare_with_step_before(row *r, const row *rows, size_t count)
{
    const row *before = NULL;
    const char *precision = r->precision;
    int lab = step_before(r, rows, count, precision);
    if (!lab) lab = step_before(r, rows, count, precision = NULL);
    if (!lab || isnan(r->median_ms)) return;
    for (size_t i = 0; i < count; i++)
        if (is_of(&rows[i], lab, precision) && !isnan(rows[i].median_ms))
            before = faster(before, &rows[i]);
    if (!before) return;
    r->speedup_lab_before = before->median_ms / r->median_ms;
    r->before_lab = lab;
    if (!precision) COPY_TEXT(r->before_precision, before->precision);
}

void results_compare(row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        compare_with_vendor(&rows[i], rows, count);
        if (rows[i].lab) compare_with_step_before(&rows[i], rows, count);
    }
}

enum status graver_status(enum status a, enum status b)
{
    static const enum status GRAVITY[] = {STATUS_OK,      STATUS_SKIPPED, STATUS_MEMORY,
                                          STATUS_DATASET, STATUS_RUNTIME, STATUS_USAGE,
                                          STATUS_WRONG};
    for (int i = sizeof GRAVITY / sizeof GRAVITY[0] - 1; i > 0; i--)
        if (GRAVITY[i] == a || GRAVITY[i] == b) return GRAVITY[i];
    return STATUS_OK;
}

enum status results_verdict(const row *rows, const outcome *outcomes, size_t count)
{
    enum status verdict = STATUS_OK;
    int last_lab = 0;
    for (size_t i = 0; i < count; i++)
        if (rows[i].lab) last_lab = rows[i].lab;
    for (size_t i = 0; i < count; i++) {
        const enum status status = outcomes[i].status;
        if (status == STATUS_SKIPPED && rows[i].lab != last_lab) continue;
        if (status == STATUS_MEMORY && !rows[i].lab) continue;
        verdict = graver_status(verdict, status);
    }
    return verdict;
}
