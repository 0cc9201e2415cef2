"""Rows of rivals in the schema of the suite's CSV (common/results/row.h): those of its columns that are measured."""

import csv
import os
import subprocess

COLUMNS = (
    "schema operation lab contender precision dataset origin source rows cols nnz N backend device driver toolkit "
    "commit flags tuning seed l2 prepare_ms median_ms iqr_ms batch_ms runs gflops vendor_best vendor_default "
    "worst_error status message"
).split()


def machine_of(lab):
    """Commit, device, driver, toolkit and folder of rows, as a program of the suite says them."""
    text = subprocess.run([lab, "--version"], capture_output=True, text=True, check=True).stdout
    commit = text.partition("commit ")[2].partition(",")[0].strip()
    lines = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    return {"commit": commit, **{name: lines.get(name, "") for name in ("device", "driver", "toolkit", "folder")}}


class Rows:
    """A file of rows, begun anew. Each row is written at once: a run that is cut off keeps what it has measured."""

    def __init__(self, path, **common):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        self.path, self.statuses = path, []
        self.common = {"schema": 2, "lab": 0, "seed": 1, "l2": "warm", **common}
        self.file = open(path, "w", newline="", encoding="utf-8")
        self.writer = csv.DictWriter(self.file, COLUMNS, restval="", lineterminator="\n")
        self.writer.writeheader()
        self.file.flush()

    def add(self, **cells):
        row = {**self.common, **cells}
        for name, value in row.items():
            if isinstance(value, float):
                row[name] = f"{value:.7g}"
        self.writer.writerow(row)
        self.file.flush()
        self.statuses.append(row["status"])
        found = row.get("median_ms") or row.get("message", "")
        print(f"{row['contender']:24} {row['dataset']:38} {row['N']:>5} {row['status']:6} {found}", flush=True)
