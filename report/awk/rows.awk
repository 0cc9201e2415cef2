# rows.awk - measured rows by the names of their columns, and where those that are used come from.
# Needs csv.awk, operation.awk and sorted.awk. Every table of report/tables and every number of report/values is made with it.
#
# After this, a rule of a table sees one row of a CSV file at a time, and no line of limits.tsv and published.tsv.

# Ends the program with one line on standard error and exit status 3.
function stop(text) {
    print text > "/dev/stderr"
    failed = 3
    exit 3
}

# The bare name of a file.
function bare(path) {
    sub(/.*\//, "", path)
    return path
}

FILENAME ~ /limits\.tsv$/ {
    if (/^# limits of /) {
        limits_device = $0
        gsub(/^# limits of |, measured.*/, "", limits_device)
    }
    if (/^#/) next
    if (split($0, cell, "\t") == 4) gather[cell[2], cell[3] + 0] = cell[4] + 0
    else limit[cell[1]] = cell[2] + 0
    next
}
FILENAME ~ /published\.tsv$/ {
    if (!/^#/ && split($0, cell, "\t") == 7) published[cell[1], cell[3], cell[4], cell[5], cell[6]] = cell[7]
    next
}

FNR == 1 {
    width = csv_columns($0, at)
    next
}
{
    if (csv_split($0, cell) != width) stop(FILENAME ":" FNR ": not the " width " cells of the first line")
    if (!(operation() in is_operation)) num_operations++
    is_operation[operation()] = 1
    common_width = num_operations == 1 ? width_of(operation()) : "width" # as headings call it
}

# The cell of a column.
function get(name) {
    if (!(name in at)) stop(FILENAME ": no column " name)
    return cell[at[name]]
}

function number(name,    text) {
    text = get(name)
    if (text !~ /^-?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?$/)
        stop(FILENAME ":" FNR ": " name " is no number: '" text "'")
    return text + 0
}

# The operation that the row is of.
function operation() { return operation_of(cell, at) }

# Where the row comes from, in one string; use() takes it when a number of the row is shown.
function provenance(    machine) {
    machine = get("device")
    if (get("driver") != "-") machine = machine ", driver " get("driver") ", CUDA " get("toolkit")
    return machine SUBSEP get("commit") SUBSEP ("origin" in at ? get("origin") : "") SUBSEP \
        ("dataset" in at ? get("dataset") : "") SUBSEP bare(FILENAME)
}

function use(from,    part) {
    if (from in is_used) return
    is_used[from] = 1
    split(from, part, SUBSEP)
    machines[part[1]]
    commits[part[2]]
    if (part[4] != "") matrices[part[3], part[4]]
    files[part[5]]
}

# One line: machine, commits, data of all that was used. Nothing where nothing was.
function origin(    k, part, origins, of, n, text, list, i, num_files) {
    for (k in matrices) {
        split(k, part, SUBSEP)
        origins[part[1]]
        n[part[1]]++
    }
    split(sorted(origins, ""), list, ", ")
    for (i = 1; i in list; i++) {
        delete of
        for (k in matrices) {
            split(k, part, SUBSEP)
            if (part[1] == list[i]) of[part[2]]
        }
        text = text (i > 1 ? "; " : "") list[i] ": " (n[list[i]] <= 3 ? sorted(of, "") : n[list[i]] " matrices")
    }
    if (sorted(machines, "") == "") return ""
    for (k in files) num_files++
    return sorted(machines, "") "; commits " sorted(commits, "`") (text != "" ? "; data " text : "") \
        "; rows of " (num_files <= 8 ? sorted(files, "") : num_files " files")
}

# Stops, since nothing of `what` was measured.
function nothing(what) {
    stop("no rows of " what "; make bench PLAN=" PLAN " measures them")
}

END { if (failed) exit failed }
