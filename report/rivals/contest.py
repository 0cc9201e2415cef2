"""What all rivals go through: choose a setting, check the result against fp64, take the time, write the row."""

import importlib
import time

import torch

import clock

FP32_ROUNDOFF, FP16_ROUNDOFF, FP16_LEAST = 2.0**-24, 2.0**-11, 2.0**-24


def worst_of(result, reference, bound):
    """The largest error over its bound. What is no number is infinitely wrong; a bound of 0 takes no error."""
    error = (result.double() - reference).abs()
    share = torch.where(error == 0, 0.0, error / bound)
    return share.nan_to_num(nan=float("inf")).max().item()


# Exceptions that libraries raise for a problem that they do not take.
REFUSALS = (NotImplementedError, RuntimeError, ValueError, AssertionError)


class Refused(Exception):
    """A library that is not there, or does not take a problem: a row that says so, and no failure."""


def one_line(error):
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:255]


class Contest:
    """Runs rivals on problems until `seconds` have passed. Without `times`, as on the CPU, results are checked only.

    A rival has settings(operands), a list of dicts, and make(operands, **setting). That prepares, and returns a
    function of no arguments, which enqueues the product and returns its result. Operands have their problem;
    use(probe), which takes random numbers, or those that show a lost or a doubled term; and worst_error(result), the
    largest error over its bound: at most 1 where the result is right.
    """

    def __init__(self, seconds, times):
        self.times, self.end = times, time.monotonic() + seconds

    def enter_all(self, rows, problem, device):
        """A row of each rival on the problem, whatever happens."""
        operands = None
        for name, of_module in problem.rivals.items():
            try:
                if time.monotonic() > self.end:
                    raise Refused("not measured: no time was left")
                module = importlib.import_module(problem.module)
                operands = operands or module.Operands(problem, device)
                cells = self.measure(getattr(module, of_module), operands)
            except Refused as refused:
                cells = {"status": "skip", "message": str(refused)}
            except (torch.OutOfMemoryError, MemoryError) as error:
                cells = {"status": "oom", "message": one_line(error)}
            except Exception as error:  # of whatever kind: the others go on
                cells = {"status": "error", "message": one_line(error)}
            rows.add(**problem.columns, contender=name, **cells)

    def measure(self, rival, operands):
        setting = self.choose(rival, operands)
        cells = {"tuning": " ".join(f"{name}={value}" for name, value in setting.items())}
        worst = self.checked(rival, operands, setting, probe=True)[2]
        run, prepare_ms, other = self.checked(rival, operands, setting, probe=False)
        cells["worst_error"] = worst = max(worst, other)
        if worst > 1:
            return {**cells, "status": "wrong", "message": "off by more than rounding explains"}
        cells["status"] = "ok"
        if self.times:
            cells.update(clock.time_of(run), prepare_ms=prepare_ms)
            cells["gflops"] = 1e3 * operands.problem.gflop / cells["median_ms"]
        return cells

    def choose(self, rival, operands):
        """The fastest setting; one that fails is passed over, unless all do."""
        best, least, reason = None, float("inf"), None
        operands.use(probe=False)
        for setting in rival.settings(operands):
            try:
                run = rival.make(operands, **setting)
                ms = clock.least_of(run) if self.times else len([run()])
            except torch.OutOfMemoryError:
                raise
            except Exception as error:  # of whatever kind: it is the library's
                reason = error
                continue
            if ms < least:
                best, least = setting, ms
        if best is not None:
            return best
        if isinstance(reason, REFUSALS) and "CUDA error" not in str(reason):
            raise Refused(f"not supported: {one_line(reason)}")
        raise reason

    def checked(self, rival, operands, setting, probe):
        """A run on these operands, the time of its preparation, and its error."""
        operands.use(probe)
        self.wait()
        before = time.perf_counter()
        run = rival.make(operands, **setting)
        self.wait()
        prepare_ms = 1e3 * (time.perf_counter() - before)
        return run, prepare_ms, operands.worst_error(run())

    def wait(self):
        if self.times:
            torch.cuda.synchronize()
