#!/usr/bin/env python3
"""Block products and dense attention of PyTorch and Triton on this machine's GPU, as rows for the suite: `make rivals`.

bsmm-fp16.csv has layouts of report/plans/blocks; attention.csv is for `--rivals` of apps/sparse_transformer. The suite
installs neither PyTorch nor Triton: whoever has them measures. docs/bench.md says how.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import warnings

from problems import ATTENTIONS, Attention, BlockProduct, Layout
from rows import Rows, machine_of

OK, WRONG, USAGE, RUNTIME, NO_GPU = 0, 1, 2, 4, 77
FILES = {BlockProduct: "bsmm-fp16.csv", Attention: "attention.csv"}


def list_of(kind):
    return lambda text: [kind(word) for word in text.split(",")]


def arguments_of(words):
    parser = argparse.ArgumentParser(
        prog="rivals", description="Rows of PyTorch's and Triton's block products and attention."
    )
    parser.add_argument("--programs", default="build/cuda", help="folder of convert and of a lab (%(default)s)")
    parser.add_argument("--lab", default="lab1", help="the lab that names device and commit (%(default)s)")
    parser.add_argument("--results", help="folder for the rows (report/results/GPU/rivals)")
    parser.add_argument("--seconds", type=float, default=75, help="begin no measurement later (%(default)s)")
    parser.add_argument("--features", type=int, default=5120, help="of W, in and out (%(default)s)")
    parser.add_argument("--sides", type=list_of(int), default=[64, 32], help="of a block (64,32)")
    parser.add_argument(
        "--densities", type=list_of(str), default=["1", "0.8", "0.5", "0.25", "0.1"], help="1,0.8,0.5,0.25,0.1"
    )
    parser.add_argument(
        "--widths", type=list_of(int), default=[4096, 512, 64], help="tokens of a minibatch (4096,512,64)"
    )
    parser.add_argument("--tokens", type=int, help="of attention (12288 and 8192)")
    parser.add_argument("--cpu", action="store_true", help="check results on the CPU, and take no time")
    parser.add_argument("--dry-run", action="store_true", help="write rows without results: needs no PyTorch")
    return parser.parse_args(words)


def stop(status, text):
    print(f"rivals: {text}", file=sys.stderr)
    sys.exit(status)


def problems_of(a, folder):
    """Attention first: it is few rows. Then products, those of many tokens first."""
    for tokens, heads, d in ATTENTIONS:
        for precision in ("fp16", "fp32"):
            yield Attention(a.tokens or tokens, heads, d, precision)
    layouts = [
        Layout(a.features, side, density, os.path.join(a.programs, "convert"), folder)
        for side in a.sides
        for density in a.densities
    ]
    for N in a.widths:
        for layout in layouts:
            yield BlockProduct(layout, N)


class DryRun:
    """Rows without results."""

    versions = ""

    def enter_all(self, rows, problem):
        for name in problem.rivals:
            rows.add(**problem.columns, contender=name, status="skip", message="not measured: a dry run")


class Run:
    """Rows of all rivals, by PyTorch."""

    def __init__(self, a):
        warnings.simplefilter("ignore")  # BSR is "in beta state"
        os.environ.setdefault("TRITON_CACHE_DIR", os.path.abspath(os.path.join(a.programs, "triton")))
        try:
            import torch
            import triton

            import contest
        except ImportError as error:
            stop(NO_GPU, f"needs PyTorch and Triton: {error}")
        if not a.cpu and not torch.cuda.is_available():
            stop(NO_GPU, "PyTorch finds no GPU here (--cpu checks results without one)")
        # Sums in fp32, as the suite asks cuBLAS for; fp32 operands as they are.
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_tf32 = False
        self.device = "cpu" if a.cpu else "cuda"
        self.contest = contest.Contest(a.seconds, times=not a.cpu)
        self.versions = f", PyTorch {torch.__version__.partition('+')[0]}, Triton {triton.__version__}"

    def enter_all(self, rows, problem):
        self.contest.enter_all(rows, problem, self.device)


def main(words):
    a = arguments_of(words)
    try:
        machine = machine_of(os.path.join(a.programs, a.lab))
    except (OSError, subprocess.CalledProcessError) as error:
        stop(USAGE, f"{a.programs}/{a.lab} does not run ({error}); make rivals builds it")
    folder = machine.pop("folder")
    if not folder and not a.cpu and not a.dry_run:
        stop(NO_GPU, f"needs a GPU; {a.programs} has programs for the CPU, or there is no GPU here")
    run = DryRun() if a.dry_run else Run(a)
    machine.update(backend="cpu" if a.cpu else "cuda", toolkit=machine["toolkit"] + run.versions)
    results = a.results or os.path.join("report", "results", folder or "cpu", "rivals")
    try:
        files = {kind: Rows(os.path.join(results, name), **machine) for kind, name in FILES.items()}
    except OSError as error:
        stop(RUNTIME, error)
    with tempfile.TemporaryDirectory() as work:
        for problem in problems_of(a, work):
            run.enter_all(files[type(problem)], problem)
    statuses = [status for rows in files.values() for status in rows.statuses]
    for rows in files.values():
        print(f"{rows.path}: {len(rows.statuses)} rows, {rows.statuses.count('ok')} with a right result")
    return WRONG if "wrong" in statuses else RUNTIME if "error" in statuses else OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
