#include "harness/tuning_cache.h"

#include "harness/provenance.h"
#include "matrix/files.h"

#include <string.h>
#include <sys/stat.h>

/* One line a choice: the key, then the values of the tunables in order, all separated by tabs. */
static const char CACHE_FILE[] = "tuning.tsv";

enum { KEY_BYTES = 700, LINE_BYTES = KEY_BYTES + MAX_TUNABLES * 12 + 2 };

/* The same words mean the same measurement. A student's program is hardly ever that of its commit,
 * so the program's own age tells one build from the next. */
static void cache_key(const workbench *w, const contender *c, char key[KEY_BYTES])
{
    const row_stats *s = &w->problem->stats;
    struct stat program = {0};
    char flags[96];
    stat("/proc/self/exe", &program);
    options_flags(w->options, flags, sizeof flags); /* with what --set fixes */
    snprintf(key, KEY_BYTES, "%s|%s@%lld.%09ld|%s %s|%d|%lldx%lld|nnz=%lld|max=%lld|cov=%.4f|%s|%s",
             w->device->name, provenance_commit(), (long long)program.st_mtim.tv_sec,
             program.st_mtim.tv_nsec, c->operation->name, c->name, w->problem->width,
             (long long)s->rows, (long long)s->cols, (long long)s->nnz, (long long)s->max, s->cov,
             flags, w->options->l2 == L2_COLD ? "cold" : "warm");
}

/* Reads one value a tunable from "\t2\t4\n". */
static bool parse_values(const char *text, const contender *c, int *value)
{
    int used = 0;
    for (int i = 0; i < contender_num_tunables(c); i++, text += used)
        if (sscanf(text, "\t%d%n", &value[i], &used) != 1 ||
            !tunable_takes(&c->tunables[i], value[i]))
            return false;
    return *text == '\n';
}

bool tuning_recall(const workbench *w, const contender *c, int *tuning)
{
    char path[4096], key[KEY_BYTES], line[LINE_BYTES];
    bool found = false;
    if (cache_path(CACHE_FILE, path, sizeof path, NULL) != STATUS_OK) return false;
    FILE *in = fopen(path, "r");
    if (!in) return false;
    cache_key(w, c, key);
    while (fgets(line, sizeof line, in)) {
        const size_t length = strcspn(line, "\t");
        int value[MAX_TUNABLES];
        if (strlen(key) != length || strncmp(line, key, length) != 0) continue;
        if (!parse_values(line + length, c, value)) continue;
        memcpy(tuning, value, contender_num_tunables(c) * sizeof *tuning);
        found = true; /* unless a later line has it, too */
    }
    fclose(in);
    return found;
}

/* A program that was killed may have left half a line, which must not swallow the next one. Asked with
 * a stream of its own: one that reads and appends writes its line in pieces. */
static bool ends_in_half_a_line(const char *path)
{
    FILE *in = fopen(path, "r");
    if (!in) return false;
    const bool half = fseek(in, -1, SEEK_END) == 0 && fgetc(in) != '\n';
    fclose(in);
    return half;
}

void tuning_remember(const workbench *w, const contender *c, const int *tuning)
{
    char path[4096], key[KEY_BYTES];
    if (cache_path(CACHE_FILE, path, sizeof path, NULL) != STATUS_OK) return;
    const bool half = ends_in_half_a_line(path);
    FILE *out = fopen(path, "a");
    if (!out) return;
    if (half) fputc('\n', out);
    cache_key(w, c, key);
    fputs(key, out);
    for (int i = 0; i < contender_num_tunables(c); i++)
        fprintf(out, "\t%d", tuning[i]);
    fputc('\n', out);
    fclose(out);
}
