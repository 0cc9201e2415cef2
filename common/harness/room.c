#include "harness/room.h"

#include "harness/device.h"
#include "matrix/memory.h"

#include <math.h>
#include <stdio.h>

int64_t devices_needed(double need, double on_each, double room)
{
    if (need <= room) return 1;
    return on_each < room ? (int64_t)ceil((need - on_each) / (room - on_each)) : 0;
}

enum status room_on_device(double need, double on_each, const char *width, error_text *error)
{
    size_t room, total;
    char several[120] = "";
    const cudaError_t e = cudaMemGetInfo(&room, &total);
    if (e != cudaSuccess) return device_fail(e, "asking for the free device memory", error);
    if (need <= (double)room) return STATUS_OK;
    const int64_t devices = on_each < 0 ? 0 : devices_needed(need, on_each, (double)room);
    if (devices > 0)
        snprintf(several, sizeof several, "%lld such devices would hold them, or ",
                 (long long)devices);
    else if (on_each >= 0)
        snprintf(several, sizeof several, "no number of such devices holds %.2f GB on each; ",
                 on_each * 1e-9);
    return fail(error, STATUS_MEMORY,
                "the operands take %.2f GB of device memory and %.2f GB are free; %stry a "
                "smaller %s",
                need * 1e-9, (double)room * 1e-9, several, width);
}

static int least_width(const options *o)
{
    int least = o->widths[0];
    for (size_t i = 1; i < (size_t)o->num_widths; i++)
        least = o->widths[i] < least ? o->widths[i] : least;
    return least;
}

enum status room_ahead(const dataset *d, const options *o, enum precision precision,
                       error_text *error)
{
    const operation *op = o->operation;
    if (!op->footprint || d->known_nnz == 0 || o->num_widths < 1) return STATUS_OK;
    const csr_matrix counts = {.rows = d->known_rows, .cols = d->known_cols, .nnz = d->known_nnz};
    problem_bytes f;
    op->footprint(&counts, least_width(o), precision, &f);
    enum status status = room_on_device(f.device, f.on_each, op->width, error);
    if (status != STATUS_OK) return status;
    /* The matrix, the problem and its result; the probe is a second problem on the matrix. */
    const double matrix = 8.0 * ((double)counts.rows + 1) + 4.0 * (double)counts.nnz;
    const double host = matrix + (o->check ? 2 : 1) * f.host + f.result;
    return memory_check((int64_t)host, "the matrix with its operands and checks", error);
}
