"""Measured rows, published figures and the machine's limits, and the arithmetic that figures share."""

import csv
import fnmatch
import math
import os
import textwrap

PLAIN = {"l2": "warm", "flags": "", "precision": "fp32"}  # the rows of most figures: as a lab runs by itself
PUBLISHED_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "published.tsv")


class Missing(Exception):
    """Rows that a figure needs are not there; its text says which. `measured_by` is the command that makes
    them, where it is not the one of the whole figure."""

    def __init__(self, text, measured_by=None):
        super().__init__(text)
        self.measured_by = measured_by


class Malformed(Exception):
    """A file is there, but not what it should be; the text says where."""


class Results:
    """The measured rows of one device. Remembers what was handed out, for `origin`."""

    def __init__(self, folder):
        self.folder = folder
        self.used = {}  # file: its rows
        self.notes = []  # further lines of the origin

    def rows(self, file, **where):
        """The rows of `file` (dictionaries of text by column) whose cells are those of `where`, where
        a list names choices: lab=[0, 5]. `file` may be a pattern: spmm-lab5-*.csv. Raises Missing where
        there is none."""
        chosen = self.peek(file, **where)
        for row in chosen:
            self.used.setdefault(row[""].split(":")[0], []).append(row)
        return chosen

    def peek(self, file, **where):
        """The same rows, to choose by, but not shown: `origin` leaves them out."""
        files = sorted(fnmatch.filter(os.listdir(self.folder), file)) if os.path.isdir(self.folder) else []
        if not files:
            raise Missing(f"no {os.path.join(self.folder, file)}")
        chosen = [row for name in files for row in self._read(name)
                  if all(_is(row, *cell) for cell in where.items())]
        if not chosen:
            said = ", ".join(f"{column} {cell}" for column, cell in where.items())
            raise Missing(f"no rows of {said} in {os.path.join(self.folder, file)}")
        return chosen

    def _read(self, name):
        with open(os.path.join(self.folder, name), newline="", encoding="utf-8") as stream:
            reader = csv.DictReader(stream)
            every = []
            for row in reader:
                if None in row or None in row.values():
                    raise Malformed(f"{name}:{reader.line_num}: not as many cells as the header has")
                row[""] = f"{name}:{reader.line_num}"  # where it stands; no column has an empty name
                every.append(row)
        return every

    def limits(self):
        """The machine's measured ceilings: name: number; gather_gbs: {(row bytes, span bytes): GB/s}."""
        path = os.path.join(self.folder, "limits.tsv")
        found = {"gather_gbs": {}}
        if not os.path.exists(path):
            raise Missing(f"no {path}", "make limits")
        for at, cell in _table(path):
            try:
                if cell[0] == "gather_gbs":
                    found["gather_gbs"][int(cell[1]), int(cell[2])] = float(cell[3])
                else:
                    found[cell[0]] = float(cell[1])
            except (IndexError, ValueError):
                raise Malformed(f"{at}: not a limit") from None
        if not found["gather_gbs"] or not {"copy_gbs", "fp32_gflops"} <= found.keys():
            raise Malformed(f"{path}: not all of copy_gbs, fp32_gflops, gather_gbs are there")
        self.note("limits of limits.tsv")
        return found

    def published(self, *experiments):
        """The published figures of `experiments` (E1.7, say): dictionaries by the columns of published.tsv,
        `value` a number. What shows them is labelled as `published_on` says."""
        columns = ["experiment", "device", "matrix", "N", "setting", "quantity", "value"]
        chosen = []
        for at, cell in _table(PUBLISHED_FILE):
            row = dict(zip(columns, cell))
            if row["experiment"] in experiments:
                row["value"] = number({"": at, **row}, "value")
                chosen.append(row)
        self.note(f"{published_on(chosen)}: {', '.join(experiments)} of published.tsv")
        return chosen

    def note(self, text):
        """Adds to what `origin` says."""
        if text not in self.notes:
            self.notes.append(text)

    def origin(self):
        """Where the numbers of this figure come from, in a few lines of text."""
        rows = [row for used in self.used.values() for row in used]
        if not rows:
            return "\n".join(self.notes)
        machines = sorted({_machine(row) for row in rows})
        commits = sorted({row[column] for row in rows for column in row if column.endswith("commit") and row[column]})
        data = []
        for origin in sorted({row["origin"] for row in rows if row.get("origin")}):
            names = sorted({row["dataset"] for row in rows if row["origin"] == origin})
            data.append(f"{origin}: {_all_or_how_many(names, 3, 'matrices')}")
        return "\n".join(textwrap.fill(line, 200) for line in [
            "; ".join(machines) + "; commits " + ", ".join(commits),
            "data " + "; ".join(data) + "; rows of " + _all_or_how_many(sorted(self.used), 8, "files"),
        ] + self.notes)


def _all_or_how_many(names, most, what):
    return ", ".join(names) if len(names) <= most else f"{len(names)} {what}"


def _machine(row):
    """What was measured on; of counts and estimates what was modelled, too."""
    said = [row.get("device"), row.get("model") and f"model of {row['model']}"]
    if row.get("driver", "-") != "-":
        said += [f"driver {row['driver']}", f"CUDA {row['toolkit']}"]
    return ", ".join(word for word in said if word)


def _is(row, column, cell):
    return row.get(column) in [str(choice) for choice in (cell if isinstance(cell, list) else [cell])]


def _table(path):
    """Yields where a line stands and its cells, of a file of tabs whose comments begin with #."""
    with open(path, encoding="utf-8") as stream:
        for place, line in enumerate(stream, 1):
            if line.strip() and not line.startswith("#"):
                yield f"{os.path.basename(path)}:{place}", line.rstrip("\n").split("\t")


def published_on(rows):
    """How published figures are labelled."""
    return "published, " + ", ".join(sorted({row["device"] for row in rows}))


def number(row, column):
    """A cell of a row as a number above 0."""
    try:
        value = float(row[column])
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise Malformed(f"{row['']}: {column} is '{row[column]}'")
    return value


def time_of(row):
    """The median time in ms, or None: a wrong or failed result has none."""
    return number(row, "median_ms") if row["status"] == "ok" and row["median_ms"] else None


class _Times(dict):
    def __missing__(self, who):
        raise Missing(f"no time of {f'lab {who}' if who in range(100) else f'the {who} of the vendor'} in its rows")


def times(rows):
    """Who took how long on what: {who: {dataset: ms}}. Who is the number of a lab, whose fastest row counts
    where several settings were measured, or "best" or "default": that algorithm of the vendor's library. Asking
    for who is not there raises Missing. The rows are of one operation."""
    found = _Times()
    operations = {row.get("operation", "spmm") for row in rows}
    if len(operations) > 1:
        raise Malformed(f"{rows[0]['']}: times of {' and '.join(sorted(operations))} in one")
    for row in rows:
        own = [int(row["lab"])] if row["lab"] != "0" else [
            who for who in ("best", "default") if row["contender"] == row["vendor_" + who]]
        time = time_of(row)
        for who in own if time else []:
            cell = found.setdefault(who, {})
            cell[row["dataset"]] = min(time, cell.get(row["dataset"], time))
    return found


def ratios(above, below):
    """{dataset: above / below} where both are known, in the order of `above`."""
    return {dataset: above[dataset] / below[dataset] for dataset in above if dataset in below}


def names(rows):
    """{dataset: what it is called}, in the order of the rows; the real ones are marked, all others are
    stand-ins (the origin below the figure says so)."""
    return {row["dataset"]: row["dataset"] + (" (real)" if row["origin"] == "real" else "") for row in rows}


def geomean(values):
    product = 1.0
    for value in values:
        product *= value ** (1.0 / len(values))
    return product
