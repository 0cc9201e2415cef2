/*
 * figures_pruned.c - figures of pruned weights and of RNN problems: see series.h.
 */
#include "rows/series.h"
#include "rows/study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The RNN problems, width by width: labs over the vendor's best and default algorithm. */
void figure_rnn(figure *g)
{
    static const char *const LABS[] = {"5", "6", "7", "12", "21", "99"}, *const OVER[] = {
                                                                             "best", "default"};
    const rows_taken rows = take_rows(g, "spmm-rnn.csv", (wanted){.plain = true});
    const published p = read_published(g, "E2.5");
    for (long i = 0; i < p.value.key.count; i++)
        print_point("published", "published", p.value.key.name[i], strtod(p.value.value[i], NULL));
    long count;
    char **N = widths_of(&rows, &count);
    for (int o = 0; o < 2; o++) {
        mean all[6] = {{0}};
        for (long w = 0; w < count; w++) {
            const times t = times_of(&rows, N[w]);
            if (!is_timed(&t, "best"))
                refuse(STATUS_DATASET, "no times of cuSPARSE's best among spmm-rnn.csv");
            need_time(&t, OVER[o]);
            for (int l = 0; l < 6; l++) {
                if (!is_timed(&t, LABS[l])) continue;
                const mean m =
                    print_ratios(text("%s %s", OVER[o], N[w]), LABS[l], &t, OVER[o], &t, LABS[l]);
                all[l].logs += m.logs;
                all[l].count += m.count;
                all[l].ahead += m.ahead;
            }
        }
        for (int l = 0; l < 6; l++)
            print_mean(OVER[o], LABS[l], &all[l]);
    }
}

/* Prints fp16's gain on the RNN problems: labs over the vendor's best in fp16, and over the fastest lab in fp32. */
void figure_precision(figure *g)
{
    static const char *const LABS[] = {"8", "21", "99"};
    const rows_taken wide = take_rows(g, "spmm-rnn.csv", (wanted){.plain = true});
    names problems = {0};
    for (long i = 0; i < wide.count; i++)
        names_add(&problems, get(wide.row[i], "dataset"));
    const rows_taken narrow =
        take_rows(g, "spmm-fp16.csv", (wanted){.l2 = "warm", .flags = "", .datasets = &problems});
    const published p = read_published(g, "E2.4");
    for (long i = 0; i < p.value.key.count; i++)
        if (!strcmp(key_part(p.value.key.name[i], 2), "mixed"))
            print_point("published", "published", p.value.key.name[i],
                        strtod(p.value.value[i], NULL));
    long count;
    char **N = widths_of(&narrow, &count);
    for (long w = 0; w < count; w++) {
        const times t = times_of(&narrow, N[w]), fp32 = times_of(&wide, N[w]);
        times fastest = {0};
        if (!is_timed(&t, "best"))
            refuse(STATUS_DATASET, "no times of cuSPARSE's best among spmm-fp16.csv");
        for (long d = 0; d < fp32.graphs.count; d++) {
            double least = INFINITY;
            for (int lab = 0; (lab = next_lab(&fp32, lab));) {
                const double *ms = ms_of(&fp32, text("%d", lab), fp32.graphs.name[d]);
                if (ms && *ms < least) least = *ms;
            }
            names_add(&fastest.graphs, fp32.graphs.name[d]);
            if (least < INFINITY)
                *numbers_at(&fastest.ms, text("fp32" KEY "%s", fp32.graphs.name[d]), least) = least;
        }
        for (int l = 0; l < 3; l++) {
            if (!is_timed(&t, LABS[l])) continue;
            print_ratios(text("best %s", N[w]), LABS[l], &t, "best", &t, LABS[l]);
            print_ratios(text("fp32 %s", N[w]), LABS[l], &fastest, "fp32", &t, LABS[l]);
        }
    }
}

/* Labs 9 and 20 on pruned weights of language models over the fastest dense product of the same file: panels by
 * width, lines by contender and per cent of zeros. */
void figure_dense(figure *g)
{
    static const char *const KERNELS[] = {"bitmap_fp16", "lane_major_fp16"};
    const rows_taken rows =
        take_all(g, "spmm-llm*.csv", (wanted){.l2 = "cold", .precision = "fp16"});
    const published p = read_published(g, "E5.5");
    numbers fastest = {0};
    names widths = {0}, zeros = {0}, shapes = {0};
    texts prunings = {0};
    for (int pass = 0; pass < 2; pass++)
        for (long i = 0; i < rows.count; i++) {
            const row_of r = rows.row[i];
            const double ms = time_of_row(r);
            size_t count;
            char **part = parts_of(without(get(r, "dataset"), "llm."), '-', &count);
            if (!ms || count != 3) continue;
            const char *share = digits(100 * strtod(part[2], NULL));
            const char *problem =
                text("%s" KEY "%s" KEY "%s", get(r, "N"), get(r, "dataset"), r.table->name);
            if (pass == 0 && strstr(get(r, "contender"), "(dense)")) {
                double *own = numbers_at(&fastest, problem, ms);
                if (ms < *own) *own = ms;
                names_add(&widths, get(r, "N"));
                names_add(&zeros, share);
                names_add(&shapes, part[0]);
                const char **masks = texts_at(&prunings, share);
                if (!*masks)
                    *masks = part[1];
                else if (!is_among(part[1], *masks, ','))
                    *masks = strcmp(part[1], *masks) < 0 ? text("%s,%s", part[1], *masks)
                                                         : text("%s,%s", *masks, part[1]);
            }
            const double *other = numbers_find(&fastest, problem);
            for (int k = 0; pass == 1 && other && k < 2; k++)
                if (!strcmp(get(r, "contender"), KERNELS[k]))
                    print_point(get(r, "N"), text("%s %s", KERNELS[k], share),
                                text("%s %s", get(r, "dataset"), r.table->name), *other / ms);
        }
    for (long w = 0; w < widths.count; w++)
        for (int k = 0; k < 2; k++)
            for (long z = 0; z < zeros.count; z++) {
                mean m = {0};
                for (long i = 0; i < rows.count; i++) {
                    const row_of r = rows.row[i];
                    const double ms = time_of_row(r);
                    const double *other =
                        numbers_find(&fastest, text("%s" KEY "%s" KEY "%s", get(r, "N"),
                                                    get(r, "dataset"), r.table->name));
                    size_t count;
                    char **part = parts_of(get(r, "dataset"), '-', &count);
                    if (!ms || !other || count != 3 || strcmp(get(r, "contender"), KERNELS[k]) ||
                        strcmp(get(r, "N"), widths.name[w]) ||
                        strcmp(digits(100 * strtod(part[2], NULL)), zeros.name[z]))
                        continue;
                    mean_add(&m, *other / ms);
                }
                print_mean(widths.name[w], text("%s %s", KERNELS[k], zeros.name[z]), &m);
            }
    for (long z = 0; z < zeros.count; z++)
        fprintf(out, "word\tpruned %s\t%s\n", zeros.name[z], texts_find(&prunings, zeros.name[z]));
    for (long i = 0; i < p.value.key.count; i++)
        print_point("published", "published",
                    digits(100 * strtod(key_part(p.value.key.name[i], 2), NULL)),
                    strtod(p.value.value[i], NULL));
    fprintf(out, "word\tshapes\t%ld\n", shapes.count);
}

/* Says from where on a line is below another: "71 %", "50 %, the least" or "never"; *at is the crossing, if there
 * is one between two points. */
static char *crossing(const line *own, const line *other, place *at)
{
    line mine = {.at = calloc((size_t)own->count + 1, sizeof(place))}, their = mine;
    their.at = calloc((size_t)own->count + 1, sizeof(place));
    if (!mine.at || !their.at) refuse(STATUS_MEMORY, "out of memory");
    long behind = NONE, count = 0;
    for (long i = 0; i < own->count; i++)
        for (long k = other->count - 1; k >= 0; k--) {
            if (other->at[k].x != own->at[i].x) continue;
            mine.at[count] = own->at[i];
            their.at[count] = other->at[k];
            if (mine.at[count].y >= their.at[count].y) behind = count;
            count++;
            break;
        }
    *at = (place){NAN, NAN};
    if (behind == NONE) return count ? text("%.0f %%, the least", mine.at[0].x) : "never";
    if (behind == count - 1) return "never";
    const place a = mine.at[behind], b = mine.at[behind + 1];
    const double their_a = their.at[behind].y, their_b = their.at[behind + 1].y;
    const double gap_a = log(a.y / their_a), gap_b = log(b.y / their_b);
    const double part = gap_a / (gap_a - gap_b);
    *at = (place){a.x + part * (b.x - a.x), pow(their_a, 1 - part) * pow(their_b, part)};
    return text("%.0f %%", at->x);
}

void figure_sparsity(figure *g)
{
    static const char *const DENSE[][2] = {{"TF32", "cuBLAS SGEMM TF32"}, {"fp32", "cuBLAS SGEMM"}};
    static const char *const SHOWN[] = {"fp32", "TF32"};
    const rows_taken rows = take_rows(g, "spmm-sparsity.csv", (wanted){.plain = true});
    const times t = times_of(&rows, NULL);
    numbers zeros = {0}, dense = {0};
    names layouts[2] = {{0}};
    if (!is_timed(&t, "best"))
        refuse(STATUS_DATASET, "no times of cuSPARSE's best among spmm-sparsity.csv");
    for (long i = 0; i < rows.count; i++) {
        const row_of r = rows.row[i];
        const char *dataset = get(r, "dataset"), *contender = get(r, "contender");
        *numbers_at(&zeros, dataset, 0) =
            100 * (1 - number(r, "nnz") / (number(r, "rows") * number(r, "cols")));
        const double ms = time_of_row(r);
        for (int k = 0; k < 2 && ms && strstr(contender, "(dense)"); k++) {
            if (!starts_with(contender, DENSE[k][1])) continue;
            double *own = numbers_at(&dense, text("%s" KEY "%s", DENSE[k][0], dataset), ms);
            if (ms < *own) *own = ms;
            names_add(&layouts[!strcmp(DENSE[k][0], "TF32")], contender);
            break;
        }
    }
    const row_of first = rows.row[0];
    const published p = read_published(g, "E2.1");
    for (long i = 0; i < p.value.key.count; i++)
        print_point("published", "published", text("%ld", i), strtod(p.value.value[i], NULL));
    fprintf(out, "word\tlayer\t%s x %s weights; B has %s columns\n", get(first, "rows"),
            get(first, "cols"), get(first, "N"));
    line rivals[2];
    for (int k = 0; k < 2; k++) {
        rivals[k] = line_of(&dense, SHOWN[k], &t.graphs, &zeros);
        print_line("dense", SHOWN[k], &rivals[k]);
        if (rivals[k].count)
            fprintf(out, "word\t%s\tdense, cuBLAS %s%s\n", SHOWN[k], SHOWN[k],
                    layouts[k].count > 1 ? ",\\nB in the faster layout" : "");
    }
    for (int lab = 0, more = true; more;) {
        more = (lab = next_lab(&t, lab)) != 0;
        const char *who = more ? text("%d", lab) : "best";
        const line own = line_of(&t.ms, who, &t.graphs, &zeros);
        const char *said = "";
        print_line("times", who, &own);
        for (int k = 0; k < 2; k++) {
            place at;
            if (!rivals[k].count) continue;
            said = text("%s%s%s", said, *said ? " / " : "", crossing(&own, &rivals[k], &at));
            if (!isnan(at.x)) print_point("crossing", who, text("%.17g", at.x), at.y);
        }
        fprintf(out, "word\t%s\t%s\n", who, said);
    }
}

/* Throughput on pruned layers, in TFLOP/s: layers by their nonzeros, those without any left out. */
void figure_dlmc(figure *g)
{
    static const char *const WHO[] = {"5", "6", "7", "99", "best"};
    const rows_taken rows = take_rows(g, "spmm-dlmc.csv", (wanted){.plain = true});
    const numbers limits = read_limits(g);
    const double *peak = numbers_find(&limits, "fp32_gflops");
    const published p = read_published(g, "E2.4");
    const times all = times_of(&rows, NULL);
    names layers = {0}, empty = {0};
    numbers nnz = {0};
    texts label = {0};
    for (long i = 0; i < rows.count; i++) {
        const row_of r = rows.row[i];
        const char *dataset = get(r, "dataset");
        const double rows_of_A = number(r, "rows"), cols = number(r, "cols");
        *numbers_at(&nnz, dataset, 0) = number(r, "nnz");
        names_add(number(r, "nnz") > 0 ? &layers : &empty, dataset);
        size_t count;
        char **part = parts_of(dataset, '_', &count);
        *texts_at(&label, dataset) =
            text("%s, %s\\n%.0f x %.0f, %.0f %%", part[0], count > 1 ? part[1] : "", rows_of_A,
                 cols, 100 * (1 - number(r, "nnz") / (rows_of_A * cols)));
    }
    names order = {0}; /* by nonzeros; of as many in the order of the rows */
    while (order.count < layers.count) {
        const char *least = NULL;
        for (long i = 0; i < layers.count; i++)
            if (names_find(&order, layers.name[i]) == NONE &&
                (!least || *numbers_find(&nnz, layers.name[i]) < *numbers_find(&nnz, least)))
                least = layers.name[i];
        names_add(&order, least);
        fprintf(out, "graph\tall\t%s\t%s\n", least, texts_find(&label, least));
    }
    long count;
    char **N = widths_of(&rows, &count);
    for (long w = 0; w < count; w++) {
        const times t = times_of(&rows, N[w]);
        if (!is_timed(&t, "best"))
            refuse(STATUS_DATASET, "no times of cuSPARSE's best among spmm-dlmc.csv");
        for (int k = 0; k < 5; k++) {
            mean m = {0};
            for (long i = 0; i < all.graphs.count; i++) {
                const char *layer = all.graphs.name[i];
                const double *ms = ms_of(&t, WHO[k], layer), *best = ms_of(&t, "best", layer);
                if (!ms || names_find(&layers, layer) == NONE) continue;
                print_point(N[w], WHO[k], layer,
                            2e-9 * *numbers_find(&nnz, layer) * atoi(N[w]) / *ms);
                if (best) mean_add(&m, *best / *ms);
            }
            print_mean(N[w], WHO[k], &m);
        }
    }
    print_point("limits", "peak", "fp32", *peak / 1000);
    for (long i = 0; i < p.value.key.count; i++)
        print_point("limits", "published", key_part(p.value.key.name[i], 2),
                    strtod(p.value.value[i], NULL));
    fprintf(out, "word\tempty\t%ld\n", empty.count);
}

/* Lab 9's first kernel: time against the blocks that share a row of groups, and the fastest dense product. A line is a
 * matrix and a width. */
void figure_lab9_split(figure *g)
{
    const rows_taken rows =
        take_rows(g, "spmm-lab9-split.csv", (wanted){.contender = "bitmap_fp16"});
    names lines = {0};
    for (long i = 0; i < rows.count; i++)
        if (time_of_row(rows.row[i]))
            names_add(&lines,
                      text("%s" KEY "%s", get(rows.row[i], "dataset"), get(rows.row[i], "N")));
    for (long l = 0; l < lines.count; l++) {
        const char *dataset = key_part(lines.name[l], 0), *N = key_part(lines.name[l], 1);
        const char *shape = text("%s", without(dataset, "llm."));
        shape = text("%.*s", (int)strcspn(shape, "-"), shape);
        numbers us = {0};
        for (long i = 0; i < rows.count; i++) {
            const row_of r = rows.row[i];
            if (!time_of_row(r) || strcmp(get(r, "dataset"), dataset) || strcmp(get(r, "N"), N))
                continue;
            *numbers_at(&us, tuned_to(r, "SPLIT"), 0) = 1000 * time_of_row(r);
        }
        char **split = names_in_order(&us.key);
        const char *best = us.key.name[0];
        sort_by_number(split, us.key.count);
        for (long i = 0; i < us.key.count; i++) {
            print_point("times", text("%ld", l), split[i], *numbers_find(&us, split[i]));
            if (us.value[i] < *numbers_find(&us, best)) best = us.key.name[i];
        }
        fprintf(out, "word\ttimes %ld\tlab 9, %s, N = %s:\\nbest %.0f us at %s\n", l, shape, N,
                *numbers_find(&us, best), best);
        const rows_taken products = find_all(
            g, "spmm-llm*.csv",
            (wanted){.N = N, .labs = "0", .l2 = "cold", .datasets = pair_of(dataset, dataset)});
        double dense_us = INFINITY;
        for (long i = 0; i < products.count; i++) {
            const double ms = time_of_row(products.row[i]);
            if (ms && 1000 * ms < dense_us) dense_us = 1000 * ms;
        }
        if (dense_us == INFINITY) continue;
        print_point("dense", text("%ld", l), "dense", dense_us);
        fprintf(out, "word\tdense %ld\tcuBLAS, dense, %s:\\n%.0f us\n", l, shape, dense_us);
    }
}

/* Bytes of formats for pruned 16-bit weights, and the flops a byte that they allow a product: formulas
 * (common/ops/storage.c), of no device. */
void figure_storage(figure *g)
{
    static const struct {
        const char *name, *label;
    } FORMATS[] = {{"dense", "dense"},
                   {"CSR", "CSR"},
                   {"Tiled-CSL", "Tiled-CSL"},
                   {"SparTA", "SparTA"},
                   {"TCA-BME", "TCA-BME, lab 9"},
                   {"lane", "lane-major, lab 20"},
                   {"optimum", "values alone"}};
    static const char *const COLUMNS[] = {"compression_ratio", "flop_per_byte"};
    const char *path = text("%s/storage.csv", home_of(g));
    if (!is_readable(path)) refuse(STATUS_DATASET, "no %s", path);
    const table *t = table_read(path);
    if (!t->count) refuse(STATUS_DATASET, "no rows of any kind in %s", path);
    for (size_t f = 0; f < sizeof FORMATS / sizeof *FORMATS; f++) {
        double even = 0;
        for (int c = 0; c < 2; c++)
            for (long row = 0; row < t->count; row++) {
                const row_of r = {t, row};
                if (strcmp(get(r, "format"), FORMATS[f].name)) continue;
                even = 100 * number(r, "break_even_sparsity"); /* the same in all rows */
                print_point(COLUMNS[c], FORMATS[f].name, text("%.17g", 100 * number(r, "sparsity")),
                            number(r, COLUMNS[c]));
            }
        if (even > 0) print_point("even", FORMATS[f].name, text("%.17g", even), 1);
        fprintf(out, "word\t%s\t%s%s\n", FORMATS[f].name, FORMATS[f].label,
                even > 0 ? text(": %.1f %%", even) : "");
    }
    const row_of first = {t, 0};
    fprintf(out, "word\tzeros\tzeros, %% of %s x %s elements\n", get(first, "rows"),
            get(first, "cols"));
    fprintf(out, "word\tN\t%s\n", get(first, "N"));
    names_add(&g->notes, "by formula (labstat --storage), nothing measured; elements are left "
                         "independently of each other");
}

/* Whether a matrix is made of a recipe of weights, and no graph. */
static bool is_of_weights(row_of r)
{
    return starts_with(get(r, "dataset"), "llm.") || starts_with(get(r, "dataset"), "weights:");
}

/* Says which matrix it is: a graph's name, or shape and zeros of weights. */
static const char *label_of_matrix(row_of r)
{
    if (!is_of_weights(r)) return get(r, "dataset");
    const double cells = number(r, "rows") * number(r, "cols");
    return text("%s x %s: %.0f %%%s", get(r, "rows"), get(r, "cols"),
                100 - 100 * number(r, "nnz") / cells,
                strstr(get(r, "dataset"), "two_four") ? ", 2:4" : "");
}

/* Whether the figure has it: what an encoder took, of values as wide as graphs or weights have them. */
static bool is_shown(row_of r)
{
    return *get(r, "bytes") && strcmp(get(r, "format"), "CSR") != 0 &&
           !strcmp(get(r, "value_bits"), is_of_weights(r) ? "16" : "32");
}

/* Bytes of matrices in each format over those of CSR, counted by the encoders: graphs with 32-bit values, then what formats of
 * 16-bit values take. */
void figure_formats(figure *g)
{
    const char *path = text("%s/formats.csv", home_of(g));
    if (!is_readable(path)) refuse(STATUS_DATASET, "no %s", path);
    const table *t = table_read(path);
    if (!t->count) refuse(STATUS_DATASET, "no rows of any kind in %s", path);
    for (int weights = 0; weights < 2; weights++) {
        const char *panel = weights ? "weights" : "graphs";
        names matrices = {0}, formats = {0};
        for (long row = 0; row < t->count; row++) {
            const row_of r = {t, row};
            if (is_of_weights(r) != weights || !is_shown(r)) continue;
            const bool is_new = names_find(&matrices, get(r, "dataset")) == NONE;
            const long place = names_add(&matrices, get(r, "dataset"));
            if (is_new) fprintf(out, "graph\t%s\t%ld\t%s\n", panel, place, label_of_matrix(r));
            names_add(&formats, get(r, "format"));
        }
        for (long f = 0; f < formats.count; f++)
            for (long row = 0; row < t->count; row++) {
                const row_of r = {t, row};
                if (is_of_weights(r) != weights || !is_shown(r)) continue;
                if (strcmp(get(r, "format"), formats.name[f])) continue;
                print_point(panel, get(r, "format"),
                            text("%ld", names_find(&matrices, get(r, "dataset"))),
                            number(r, "over_csr"));
            }
    }
    names_add(&g->notes, "counted by the encoders (labstat --formats), nothing measured; graphs "
                         "are stand-ins where their "
                         "files are not here");
}
