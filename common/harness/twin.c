#include "harness/twin.h"

#include "harness/chosen.h"
#include "harness/device.h"
#include "matrix/dataset.h"
#include "matrix/registry.h"

#include <errno.h>
#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where the build puts programs; relative to the project's folder, unless BUILD was absolute. */
#ifndef PROGRAMS
#define PROGRAMS "build/simt"
#endif

bool twin_wanted(const options *o)
{
    return o->mode == MODE_RUN && o->instruments && !instruments_here();
}

/* The folder of the running program. */
static bool own_folder(char *folder)
{
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0) return false;
    path[length] = '\0';
    strcpy(folder, dirname(path));
    return true;
}

/* Finds programs[0], "FOLDER/lab3", and programs[1], "FOLDER/traced/lab3": FOLDER is that of the
 * running program, or the one the build writes to. Without either, programs[1] is where the twin
 * would be. */
static bool find(const char *program, char programs[2][PATH_MAX])
{
    char folders[2][PATH_MAX] = {""};
    const char *root = project_root();
    if (!own_folder(folders[0])) folders[0][0] = '\0';
    snprintf(folders[1], PATH_MAX, "%s%s%s", PROGRAMS[0] == '/' || !root ? "" : root,
             PROGRAMS[0] == '/' || !root ? "" : "/", PROGRAMS);
    for (int i = 0; i < 2; i++) {
        const bool fits =
            snprintf(programs[0], PATH_MAX, "%s/%s", folders[i], program) < PATH_MAX &&
            snprintf(programs[1], PATH_MAX, "%s/traced/%s", folders[i], program) < PATH_MAX;
        if (fits && access(programs[1], X_OK) == 0) return true;
    }
    return false;
}

static bool is_older(const char *path, const char *than)
{
    struct stat a, b;
    if (stat(path, &a) != 0 || stat(than, &b) != 0) return false;
    return a.st_mtim.tv_sec < b.st_mtim.tv_sec ||
           (a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec < b.st_mtim.tv_nsec);
}

/* The twin looks for the project above its own place, which need not be in the project. */
static void hand_down_project(const char *twin)
{
    char registry[PATH_MAX];
    const char *root = project_root();
    const size_t length = root ? strlen(root) : 0;
    const bool is_below = length && !strncmp(twin, root, length) && twin[length] == '/';
    if (!length || is_below || getenv("SPMM_REGISTRY")) return;
    if (snprintf(registry, sizeof registry, "%s/datasets/registry.tsv", root) < PATH_MAX)
        setenv("SPMM_REGISTRY", registry, 1);
}

/* Whether there is a lab of that number in the project. */
static bool lab_exists(int lab)
{
    char pattern[PATH_MAX];
    glob_t found;
    const char *root = project_root();
    snprintf(pattern, sizeof pattern, "%s/labs/%02d_*/lab.cu", root ? root : ".", lab);
    const bool exists = glob(pattern, 0, NULL, &found) == 0;
    globfree(&found);
    return exists;
}

/* Starts programs[1], the twin of programs[0]. */
static enum status start(char programs[2][PATH_MAX], char **argv, error_text *error)
{
    if (is_older(programs[1], programs[0]))
        return fail(error, STATUS_RUNTIME, "%s: older than %s; build it anew: make %s BACKEND=simt",
                    programs[1], programs[0], basename(programs[0]));
    hand_down_project(programs[1]);
    execv(programs[1], argv);
    return fail(error, STATUS_RUNTIME, "%s: cannot run: %s", programs[1], strerror(errno));
}

/* Makes the later lab's twin show this program's lab beside its own: the last --vs counts. */
static enum status start_later(char programs[2][PATH_MAX], const char *program, char **argv,
                               error_text *error)
{
    size_t count = 0;
    while (argv[count])
        count++;
    char **more = calloc(count + 3, sizeof *more);
    if (!more) return fail(error, STATUS_MEMORY, "no memory for the command line");
    memcpy(more, argv, count * sizeof *more);
    more[count] = "--vs";
    more[count + 1] = (char *)program;
    enum status status = start(programs, more, error);
    free(more);
    return status;
}

enum status twin_become(const char *program, const options *o, char **argv, error_text *error)
{
    char programs[2][PATH_MAX], later[16];
    const char *number = program + strlen("lab");
    const bool beside_later = o->rivals == RIVALS_LAB && !holds_lab(o->rival_lab);
    snprintf(later, sizeof later, "lab%d", o->rival_lab);
    const char *wanted = beside_later ? later : program;
    if (device_keeps_time())
        return fail(error, STATUS_SKIPPED,
                    "the instruments are those of the CPU backend, which needs no GPU: make %s "
                    "BACKEND=simt; on a GPU, make ncu LAB=%s and make sanitize LAB=%s ask NVIDIA's "
                    "tools",
                    program, number, number);
    if (beside_later && !lab_exists(o->rival_lab))
        return fail(error, STATUS_USAGE, "--vs %s: there is no such lab", later);
    if (!find(wanted, programs))
        return fail(error, STATUS_RUNTIME,
                    "%s: not here, and it is what counts and checks; build it: "
                    "make %s BACKEND=simt",
                    programs[1], wanted);
    return beside_later ? start_later(programs, program, argv, error)
                        : start(programs, argv, error);
}
