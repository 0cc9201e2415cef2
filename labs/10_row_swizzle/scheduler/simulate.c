#include "simulate.h"

#include <math.h>
#include <stdlib.h>

int first_wave_sm(int block, int sms)
{
    const int pairs = sms / 2, b = block % sms;
    if (b >= 2 * pairs) return b;
    return 2 * (b % pairs) + b / pairs;
}

/* An SM keeps a clock of its own, which says how much work each of its blocks has been given since
 * the beginning. It goes at the speed of a single block, so it only changes pace when a block
 * starts or ends; a block ends when the clock reaches its start plus its work. */
typedef struct sm_state {
    double clock, updated; /* the SM's clock, and the time at which that was right */
    double *end;           /* of each place, by the SM's clock; INFINITY: free */
    int active, soonest;   /* blocks here; the place that ends first */
    double free_at;        /* when it does, in real time; INFINITY if nothing runs */
} sm_state;

static double pace(const scheduler_model *m, const sm_state *s)
{
    return 1.0 / (s->active > m->saturation ? s->active : m->saturation);
}

static void find_soonest(const scheduler_model *m, sm_state *s)
{
    s->soonest = 0;
    for (int i = 1; i < m->blocks_per_sm; i++)
        if (s->end[i] < s->end[s->soonest]) s->soonest = i;
    s->free_at = s->active ? s->updated + (s->end[s->soonest] - s->clock) / pace(m, s) : INFINITY;
}

static void go_to(const scheduler_model *m, sm_state *s, double now)
{
    s->clock += (now - s->updated) * pace(m, s);
    s->updated = now;
}

static void start(const scheduler_model *m, sm_state *s, int place, double now, double work)
{
    go_to(m, s, now);
    s->end[place] = s->clock + work;
    s->active++;
    find_soonest(m, s);
}

/* Ends the block that ends soonest; its place is free. */
static int finish(const scheduler_model *m, sm_state *s)
{
    const int place = s->soonest;
    go_to(m, s, s->free_at);
    s->end[place] = INFINITY;
    s->active--;
    find_soonest(m, s);
    return place;
}

static int next_to_finish(const sm_state *sm, int sms)
{
    int first = 0;
    for (int i = 1; i < sms; i++)
        if (sm[i].free_at < sm[first].free_at) first = i;
    return first;
}

/* Returns the work of the row at position i. */
static double row_work(const scheduler_model *m, const int64_t *row_length, const int *order,
                       int64_t i)
{
    return (double)row_length[order ? order[i] : i] + m->row_cost;
}

static double block_work(const scheduler_model *m, const int64_t *row_length, const int *order,
                         int64_t rows, int64_t block)
{
    double longest = 0;
    for (int64_t i = block * m->rows_per_block; i < rows && i < (block + 1) * m->rows_per_block;
         i++)
        longest = fmax(longest, row_work(m, row_length, order, i));
    return longest;
}

double balanced_share(const scheduler_model *m, const int64_t *row_length, const int *order,
                      int64_t rows)
{
    const int64_t blocks = (rows + m->rows_per_block - 1) / m->rows_per_block;
    const int64_t places = (int64_t)m->sms * m->blocks_per_sm;
    sm_state *sm = calloc((size_t)m->sms, sizeof *sm);
    double *end = malloc((size_t)places * sizeof *end), total = 0, last = 0;
    if (!sm || !end) {
        free(sm);
        free(end);
        return -1;
    }
    for (int64_t i = 0; i < places; i++)
        end[i] = INFINITY;
    for (int i = 0; i < m->sms; i++) {
        sm[i].end = end + (size_t)i * m->blocks_per_sm;
        sm[i].free_at = INFINITY;
    }
    for (int64_t i = 0; i < rows; i++)
        total += row_work(m, row_length, order, i) / m->rows_per_block;

    int64_t next = 0;
    for (; next < blocks && next < places; next++)
        start(m, &sm[first_wave_sm((int)(next % m->sms), m->sms)], (int)(next / m->sms), 0,
              block_work(m, row_length, order, rows, next));
    for (int64_t running = next; running > 0; running--) {
        sm_state *s = &sm[next_to_finish(sm, m->sms)];
        const double now = s->free_at;
        const int place = finish(m, s);
        last = now;
        if (next == blocks) continue;
        start(m, s, place, now, block_work(m, row_length, order, rows, next++));
        running++;
    }
    free(sm);
    free(end);
    /* A whole SM does one unit of a block's work in a unit of time. */
    return last > 0 ? total / m->sms / last : 1;
}
