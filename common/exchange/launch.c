#include "exchange/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool read_number(const char *name, int *value)
{
    const char *text = getenv(name);
    char *end;
    if (!text || !*text) return false;
    const long number = strtol(text, &end, 10);
    if (*end || number < 0 || number > INT_MAX) return false;
    *value = (int)number;
    return true;
}

bool launch_find(launch_place *place, char *text, size_t bytes)
{
    static const char *const NAMES[][3] = {
        {"EXCHANGE_RANK", "EXCHANGE_RANKS", "EXCHANGE_LOCAL_RANK"},
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
        {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
        {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"}};
    *place = (launch_place){.ranks = 1, .file = getenv("EXCHANGE_FILE")};
    if (!place->file || !*place->file) return true;
    place->is_launch = true;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (!getenv(NAMES[i][0])) continue;
        if (read_number(NAMES[i][0], &place->rank) && read_number(NAMES[i][1], &place->ranks) &&
            place->rank < place->ranks) {
            if (!read_number(NAMES[i][2], &place->local)) place->local = place->rank;
            return true;
        }
        snprintf(text, bytes, "%s and %s are no rank and number of ranks", NAMES[i][0],
                 NAMES[i][1]);
        return false;
    }
    snprintf(text, bytes,
             "EXCHANGE_FILE is set, but no launcher says which rank this is "
             "(EXCHANGE_RANK and EXCHANGE_RANKS do it by hand)");
    return false;
}

/* Writes beside the file and renames, so that nobody reads half an id. link() fails where the file exists. */
bool launch_tell(const launch_place *place, const void *id, size_t bytes)
{
    char part[PATH_MAX];
    if (snprintf(part, sizeof part, "%s.part", place->file) >= (int)sizeof part) return false;
    const int file = open(part, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    if (file < 0) return false;
    bool done = write(file, id, bytes) == (ssize_t)bytes;
    done = close(file) == 0 && done;
    done = done && link(part, place->file) == 0;
    const int reason = errno;
    unlink(part);
    errno = reason;
    return done;
}

bool launch_ask(const launch_place *place, void *id, size_t bytes, double seconds)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    for (double waited = 0; waited <= seconds; waited += 0.02) {
        const int file = open(place->file, O_RDONLY);
        if (file >= 0) {
            const bool whole = read(file, id, bytes) == (ssize_t)bytes;
            close(file);
            return whole;
        }
        nanosleep(&pause, NULL);
    }
    return false;
}

void launch_met(const launch_place *place)
{
    unlink(place->file);
}
