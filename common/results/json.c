#include "results/json.h"

#include <inttypes.h>
#include <math.h>

/* ---- text ------------------------------------------------------------------------------------ */

/* The bytes of the UTF-8 character at `s`, or 0 if there is none (RFC 3629: overlong forms,
 * surrogates and numbers above 0x10FFFF are none). */
static int utf8_length(const unsigned char *s)
{
    const int length = s[0] < 0x80                    ? 1
                       : s[0] >= 0xC2 && s[0] <= 0xDF ? 2
                       : s[0] >= 0xE0 && s[0] <= 0xEF ? 3
                       : s[0] >= 0xF0 && s[0] <= 0xF4 ? 4
                                                      : 0;
    for (int i = 1; i < length; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    const int second = length > 2 ? s[0] << 8 | s[1] : 0;
    if ((length == 3 && second < 0xE0A0) || (second >= 0xEDA0 && second <= 0xEDBF)) return 0;
    if (length == 4 && (second < 0xF090 || second > 0xF48F)) return 0;
    return length;
}

void json_text(FILE *out, const char *text)
{
    putc('"', out);
    while (*text) {
        const int length = utf8_length((const unsigned char *)text);
        if (length == 0)
            fputs("\\ufffd", out);
        else if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if (length == 1 && *text < 0x20)
            fprintf(out, "\\u%04x", *text);
        else
            fwrite(text, 1, length, out);
        text += length ? length : 1;
    }
    putc('"', out);
}

/* ---- numbers, by name ------------------------------------------------------------------------- */

static void integer(FILE *out, const char *name, int64_t value)
{
    fprintf(out, ", \"%s\": %" PRId64, name, value);
}

static void real(FILE *out, const char *name, double value)
{
    fprintf(out, isfinite(value) ? ", \"%s\": %.6g" : ", \"%s\": null", name, value);
}

static void triple(FILE *out, const char *name, const unsigned v[3])
{
    fprintf(out, ", \"%s\": [%u, %u, %u]", name, v[0], v[1], v[2]);
}

static void text(FILE *out, const char *name, const char *value)
{
    fprintf(out, ", \"%s\": ", name);
    json_text(out, value);
}

/* ---- counters -------------------------------------------------------------------------------- */

/* The members of an access's object. */
static void accesses(FILE *out, enum access_kind kind, const access_counters *n)
{
    const bool shared = is_shared(kind), atomic = kind == GLOBAL_ATOMIC || kind == SHARED_ATOMIC;
    fprintf(out, "\"requests\": %" PRId64, n->requests);
    integer(out, "lanes", n->lanes);
    integer(out, "bytes", n->bytes);
    integer(out, shared ? "wavefronts" : "sectors", n->cost);
    integer(out, shared ? "ideal_wavefronts" : "ideal_sectors", n->ideal);
    if (atomic) integer(out, "turns", n->serial);
}

static const char *const KIND_NAMES[ACCESS_KINDS] = {
    [GLOBAL_LOAD] = "global_load",     [GLOBAL_STORE] = "global_store",
    [GLOBAL_ATOMIC] = "global_atomic", [SHARED_LOAD] = "shared_load",
    [SHARED_STORE] = "shared_store",   [SHARED_ATOMIC] = "shared_atomic",
};

static const char *const OPERATION_NAMES[WARP_OPERATIONS] = {
    [OP_BARRIER] = "barriers",
    [OP_SYNCWARP] = "syncwarps",
    [OP_SHUFFLE] = "shuffles",
    [OP_VOTE] = "votes",
    [OP_MMA] = "mma",
    [OP_LDMATRIX] = "ldmatrix",
    [OP_ASYNC_COPY] = "async_copies",
};

static void write_counters(FILE *out, const counters *n)
{
    const struct {
        const char *name;
        int64_t value;
    } all[] = {
        {"steps", n->steps},
        {"lane_steps", n->lane_steps},
        {"memory_steps", n->memory_steps},
        {"memory_lanes", n->memory_lanes},
        {"work", n->work},
        {"longest_warp", n->longest_warp},
        {"longest_block", n->longest_block},
        {"busiest_sm", n->busiest_sm},
        {"sms", n->sms},
        {"l1_hit_sectors", n->l1_hit_sectors},
        {"l2_read_bytes", n->l2_read_bytes},
        {"l2_write_bytes", n->l2_write_bytes},
        {"dram_read_bytes", n->dram_read_bytes},
        {"dram_write_bytes", n->dram_write_bytes},
        {"longest_l2_waits", n->longest_l2_waits},
        {"longest_dram_waits", n->longest_dram_waits},
    };
    fprintf(out, "{\"launches\": %" PRId64, n->launches);
    integer(out, "blocks", n->blocks);
    integer(out, "warps", n->warps);
    integer(out, "threads", n->threads);
    for (int k = 0; k < ACCESS_KINDS; k++) {
        fprintf(out, ",\n           \"%s\": {", KIND_NAMES[k]);
        accesses(out, k, &n->access[k]);
        putc('}', out);
    }
    fputs(",\n           \"operations\": {", out);
    for (int k = 0; k < WARP_OPERATIONS; k++)
        fprintf(out, "%s\"%s\": %" PRId64, k ? ", " : "", OPERATION_NAMES[k], n->operations[k]);
    fputs("},\n          ", out);
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        fprintf(out, "%s\"%s\": %" PRId64, k ? ", " : " ", all[k].name, all[k].value);
    putc('}', out);
}

static void write_kernel(FILE *out, const kernel_profile *k)
{
    fputs("        {\"name\": ", out);
    json_text(out, k->name);
    text(out, "phase", k->in_prepare ? "prepare" : "run");
    triple(out, "grid", k->grid);
    triple(out, "block", k->block);
    integer(out, "dynamic_shared_bytes", (int64_t)k->dynamic_shared_bytes);
    real(out, "sampled", k->sampled);
    fputs(",\n         \"counters\": ", out);
    write_counters(out, &k->total);
    fputs(",\n         \"lines\": [", out);
    for (size_t i = 0; i < k->num_lines; i++) {
        const line_profile *line = &k->lines[i];
        fprintf(out, "%s\n           {\"where\": ", i ? "," : "");
        json_text(out, line->where);
        text(out, "kind", KIND_NAMES[line->kind]);
        integer(out, "size", line->size);
        fputs(", ", out);
        accesses(out, line->kind, &line->n);
        putc('}', out);
    }
    fputs("]}", out);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void write_prediction(FILE *out, const prediction *p)
{
    fputs(",\n      \"prediction\": {\"is\": \"an estimate, not a measurement\"", out);
    real(out, "ms", p->ms);
    text(out, "limit", RESOURCE_NAMES[p->limit]);
    fputs(", \"resource_ms\": {", out);
    for (int r = 0; r < RESOURCES; r++)
        fprintf(out, "%s\"%s\": %.6g", r ? ", " : "", RESOURCE_NAMES[r], p->resource_ms[r]);
    fputs("}}", out);
}

static void write_finding(FILE *out, const finding *f)
{
    fputs("        {\"kind\": ", out);
    json_text(out, f->kind);
    text(out, "text", f->text);
    text(out, "where", f->where);
    text(out, "other", f->other);
    text(out, "kernel", f->kernel);
    triple(out, "block", f->block);
    triple(out, "thread", f->thread);
    text(out, "advice", f->advice);
    integer(out, "count", f->count);
    putc('}', out);
}

void json_inspection(FILE *out, const inspection *i)
{
    if (i->counted) {
        fputs(",\n      \"kernels\": [", out);
        for (size_t k = 0; k < i->num_kernels; k++) {
            fputs(k ? ",\n" : "\n", out);
            write_kernel(out, &i->kernels[k]);
        }
        fputs("]", out);
    }
    if (i->predicted) write_prediction(out, &i->prediction);
    if (*checks_text(i->which)) {
        fputs(",\n      \"findings\": [", out);
        for (size_t k = 0; k < i->num_findings; k++) {
            fputs(k ? ",\n" : "\n", out);
            write_finding(out, &i->findings[k]);
        }
        fputs("]", out);
    }
}
