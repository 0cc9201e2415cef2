#include "harness/ranks.h"

#include "exchange/exchange.h"
#include "exchange/launch.h"
#include "harness/progress.h"

#include <cuda_runtime_api.h>
#include <stdio.h>

/* Whether a lab of this program works on several devices. */
static bool has_ranks(void)
{
    for (const contender *c = contenders(); c; c = c->next)
        if (c->untimed) return true;
    return false;
}

static enum status count_devices(const options *o, error_text *error)
{
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess && o->devices > count && !exchange_may_share())
        return fail(error, STATUS_USAGE,
                    "--devices %d: this machine has %d device%s; ranks share one without it (--set "
                    "RANKS=%d)",
                    o->devices, count, count == 1 ? "" : "s", o->devices);
    return STATUS_OK;
}

/* All ranks but the first are silent: they have the same results. */
static enum status take_place(options *o, const launch_place *place, error_text *error)
{
    int count = 0;
    if (o->devices && o->devices != place->ranks)
        return fail(error, STATUS_USAGE, "--devices %d, but the launch has %d ranks", o->devices,
                    place->ranks);
    if (place->ranks > EXCHANGE_MOST_RANKS)
        return fail(error, STATUS_USAGE, "the launch has %d ranks; there may be %d", place->ranks,
                    EXCHANGE_MOST_RANKS);
    if (o->instruments)
        return fail(error, STATUS_USAGE, "the instruments look at one process: no launch for them");
    o->devices = place->ranks;
    if (!o->device_asked && cudaGetDeviceCount(&count) == cudaSuccess && count > 0)
        o->device = place->local % count;
    if (place->rank == 0) return STATUS_OK;
    o->csv_path = o->json_path = NULL;
    if (!freopen("/dev/null", "w", stdout))
        return fail(error, STATUS_RUNTIME, "cannot open /dev/null");
    return STATUS_OK;
}

enum status ranks_begin(options *o, error_text *error)
{
    launch_place place;
    char text[200];
    if (!launch_find(&place, text, sizeof text)) return fail(error, STATUS_USAGE, "%s", text);
    if (!place.is_launch && !o->devices) return STATUS_OK;
    if (!has_ranks())
        return fail(error, STATUS_USAGE,
                    "--devices: no lab of this program works on several devices");
    enum status status = place.is_launch ? take_place(o, &place, error) : count_devices(o, error);
    if (status != STATUS_OK) return status;
    if (!exchange_has_devices())
        return fail(
            error, STATUS_SKIPPED,
            "--devices: this program was built without NCCL; scripts/setup --cuda brings it");
    exchange_use_devices(o->devices);
    return STATUS_OK;
}

enum status ranks_end(enum status status, const char *program)
{
    exchange_part_company();
    const char *lost = exchange_failure();
    if (!lost) return status;
    progress_clear();
    fprintf(stderr, "%s: %s\n", program, lost);
    return STATUS_RUNTIME;
}
