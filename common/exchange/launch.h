/*
 * launch.h - ranks that are processes of their own: who is which, and how the id of their meeting gets round.
 *
 * A launch is one where EXCHANGE_FILE names a file that all processes can reach and that does not exist yet. The ranks
 * are numbered by the launcher: OMPI_COMM_WORLD_RANK and _SIZE (Open MPI), PMI_RANK and PMI_SIZE (MPICH), SLURM_PROCID
 * and SLURM_NTASKS (srun), or EXCHANGE_RANK and EXCHANGE_RANKS by hand. MPI itself is not needed: rank 0 writes the id
 * into the file, and removes it once all have met.
 */
#ifndef EXCHANGE_LAUNCH_H
#define EXCHANGE_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where this process stands in a launch. */
typedef struct launch_place {
    bool is_launch; /* false: it is alone, rank 0 of 1 */
    int rank, ranks;
    int local;        /* its number among those of this machine: the launcher's, or the rank */
    const char *file; /* of the environment */
} launch_place;

/* Reads the environment. False: it is contradictory, and `text` says in half a sentence why. */
bool launch_find(launch_place *place, char *text, size_t bytes);

/* Rank 0: writes the id into the file. The file must not exist: it would be that of an earlier launch. */
bool launch_tell(const launch_place *place, const void *id, size_t bytes);

/* The others: wait for the file and read it. False: it did not come within `seconds`. */
bool launch_ask(const launch_place *place, void *id, size_t bytes, double seconds);

/* Removes the file, once nobody needs it. */
void launch_met(const launch_place *place);

#ifdef __cplusplus
}
#endif
#endif
