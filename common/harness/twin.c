#include "harness/twin.h"

#include "harness/device.h"
#include "matrix/dataset.h"
#include "matrix/registry.h"

#include <errno.h>
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

enum status twin_become(const char *program, char **argv, error_text *error)
{
    char programs[2][PATH_MAX];
    const char *number = program + strlen("lab");
    if (device_keeps_time())
        return fail(error, STATUS_SKIPPED,
                    "the instruments are those of the CPU backend, which needs no GPU: make %s "
                    "BACKEND=simt; on a GPU, make ncu LAB=%s and make sanitize LAB=%s ask NVIDIA's "
                    "tools",
                    program, number, number);
    if (!find(program, programs))
        return fail(error, STATUS_RUNTIME,
                    "%s: not here, and it is what counts and checks; build it: "
                    "make %s BACKEND=simt",
                    programs[1], program);
    if (is_older(programs[1], programs[0]))
        return fail(error, STATUS_RUNTIME, "%s: older than %s; build it anew: make %s BACKEND=simt",
                    programs[1], programs[0], program);
    hand_down_project(programs[1]);
    execv(programs[1], argv);
    return fail(error, STATUS_RUNTIME, "%s: cannot run: %s", programs[1], strerror(errno));
}
