/*
 * confine.h - a program that is not trusted runs within limits, and nothing of it stays.
 *
 * Where the machine allows it the program has namespaces of its own: no network, no other process in
 * sight, of the file system the system's folders and those it is given. Always: no environment, limits
 * on time, memory, processes, open files and file sizes; where the grader is root a uid that nobody
 * else has; and when it ends, or its time is over, everything that it has started is killed.
 */
#ifndef GRADER_CONFINE_H
#define GRADER_CONFINE_H

#include "matrix/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct limits {
    int cpu_seconds, processes, open_files; /* processor time is that of all threads of a process */
    size_t memory_bytes;                    /* of data: reserved addresses do not count */
    size_t file_bytes;                      /* the largest file, its output included */
} limits;

/* How tasks are walled off, best first: by bubblewrap; by namespaces, but with everybody's files; with
 * everybody's processes, too; not at all. */
enum wall { WALL_BUBBLEWRAP, WALL_UNSHARE, WALL_NETWORK, WALL_NONE };

typedef struct task {
    const char *const *argv; /* argv[0] is a path */
    const char *folder;      /* the working folder, seen at the same path; NULL: none */
    bool writes;             /* whether it may write there */
    const char *reads;       /* another folder that it needs; NULL: none */
    bool devices;            /* whether it sees the machine's devices: a GPU */
    int channel;             /* becomes descriptor 3; -1: none */
    int output;              /* becomes 1 and 2 */
    limits limits;
} task;

typedef struct confined {
    pid_t pid;        /* of the outermost process; 0: none */
    bool out_of_time; /* how it ended: of processor time, or of the time that passes */
} confined;

/* When a task that may take so many seconds of processor time is given up, by wall_ms(): later than that, so that a
 * loaded machine takes no time away from it; only those that sleep wait so long. */
double confine_until(double cpu_seconds);

/* Finds out what this machine allows, from `best` on. Call before the first task; makes this process the one
 * that orphans below it are handed to, and lets nobody look into it. */
void confine_open(enum wall best);
/* One line a fact, what is missing included: for people. */
const char *confine_text(void);
/* The uid that tasks have: files that they are to write must be its. */
uid_t confine_uid(void);

enum status confine_start(const task *t, confined *c, error_text *error);
/* Waits until the task ends or wall_ms() passes `until`, which kills it; then kills whatever it has
 * left behind. *text says how it ended where that was not a plain exit(0). Returns its exit status,
 * or -1 where there is none. */
int confine_end(confined *c, double until, char *text, size_t bytes);

#endif
