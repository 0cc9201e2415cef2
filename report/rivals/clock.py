"""Times of runs as common/harness/timing.c takes them: events on the device, single runs, warm L2, the median."""

import time

import torch

MIN_RUNS, MAX_RUNS, BATCH, BATCHES, TRIES = 20, 200, 20, 5, 4
SHORT_RUN_MS, WARM_UP_MS, LONGEST_WARM_UP_MS, BUDGET_MS = 0.1, 20, 200, 1000
# The device spins before each timed group until the host has enqueued it: calls of Python may take longer than kernels.
# A spin counts cycles; a GPU of today has no more in a microsecond.
HEAD_START_US, LEAST_US, MOST_US, CYCLES_A_US = 30, 4, 2000, 2000


class Clock:
    def __init__(self, run):
        self.run, self.enqueue_us = run, MOST_US
        self.start, self.stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def group(self, repeats=1):
        """Milliseconds of a run, of so many one after the other."""
        seen = min(max(self.enqueue_us, LEAST_US), MOST_US)
        torch.cuda._sleep(int((HEAD_START_US + repeats * seen) * CYCLES_A_US))
        self.start.record()
        before = time.perf_counter()
        for _ in range(repeats):
            self.run()
        self.enqueue_us = min(self.enqueue_us, (time.perf_counter() - before) * 1e6 / repeats)
        self.stop.record()
        self.stop.synchronize()
        return self.start.elapsed_time(self.stop) / repeats


def least_of(run):
    """The least of few runs in ms, for a choice among settings. The first one compiles."""
    clock = Clock(run)
    clock.group()
    return min(clock.group() for _ in range(TRIES))


def quantile(ascending, share):
    at = share * (len(ascending) - 1)
    low = int(at)
    high = min(low + 1, len(ascending) - 1)
    return ascending[low] + (at - low) * (ascending[high] - ascending[low])


def summary(sample):
    ascending = sorted(sample)
    return quantile(ascending, 0.5), quantile(ascending, 0.75) - quantile(ascending, 0.25)


def warm_up(clock):
    began, now = time.perf_counter(), float("inf")
    while True:
        before, now = now, clock.group()
        waited = 1e3 * (time.perf_counter() - began)
        is_steady = waited >= WARM_UP_MS and abs(now - before) < 0.02 * now
        if is_steady or waited >= LONGEST_WARM_UP_MS:
            return


def time_of(run):
    """Columns of a row: the median of 20 to 200 runs, until it is known to 1 %, and of batches where a run is short."""
    clock = Clock(run)
    warm_up(clock)
    sample = []
    while len(sample) < MAX_RUNS and sum(sample) < BUDGET_MS:
        sample += [clock.group() for _ in range(MIN_RUNS)]
        median, iqr = summary(sample)
        if 0.93 * iqr <= 0.01 * median * len(sample) ** 0.5:
            break
    columns = {"median_ms": median, "iqr_ms": iqr, "runs": len(sample)}
    if median < SHORT_RUN_MS:
        columns["batch_ms"] = summary([clock.group(BATCH) for _ in range(BATCHES)])[0]
    return columns
