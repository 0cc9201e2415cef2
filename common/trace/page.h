/*
 * page.h - a page of HTML that plays what a warp of a kernel does, instruction by instruction: from
 * recordings of the instruments (harness/instruments.h), with the source and its costs beside.
 *
 * The page is one file and needs no network. Its text, style and program are page.html, page.css and
 * the .js files of this folder, as they are; before them stands the recording as JSON.
 */
#ifndef TRACE_PAGE_H
#define TRACE_PAGE_H

#include "results/row.h"

/* Facts for the page's heading that no row holds. */
typedef struct trace_subject {
    const char *width_name; /* "N" */
    int width;
    const char *program; /* "lab3" */
    bool side_by_side;   /* two labs are asked for */
} trace_subject;

/* Whether a page may be written to `path`: STATUS_RUNTIME if it cannot be, STATUS_USAGE if it would
 * replace something else. */
enum status trace_check(const char *path, error_text *error);

/* Writes the page of the contenders that were recorded. STATUS_RUNTIME if the file cannot be written,
 * STATUS_SKIPPED if there is nothing to show. */
enum status trace_write(const char *path, const trace_subject *about, const row *rows, size_t count,
                        error_text *error);

#endif
