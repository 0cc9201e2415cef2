# bench-todo.awk - which cells of a plan are measured already, and the runs that measure the others.
#
#     awk -v rows=FOLDER -v device=NAME -v retry=0|1 -v plan=FILE -v cells=FOLDER [-v apart=ROWS.csv] \
#         -f csv.awk -f cell-key.awk -f bench-todo.awk JOBS
#
# JOBS has a line a job: number of its line in the plan, result file, seconds, program and the words
# behind it, between tabs; cells/NUMBER is what the program says to --cells, empty where there is no
# data. Prints a line a run in the plan's order: the job's number, result file, seconds, cells it measures,
# cells that are kept, datasets, program, what it is run on, the N to measure ("-": none), options. A run is
# a job, if all its datasets need the same N, else one of its datasets; with apart=1 always a dataset.

function refuse(what) { print "bench: " what > "/dev/stderr"; failed = 2; exit 2 }

# Rows lie in files of their operation: spmm.csv, spmm-rnn.csv.
function is_of(file, operation) {
    return index(file, operation) == 1 && substr(file, length(operation) + 1) ~ /^[.-]/
}

# Remembers which contenders have rows of this device and commit in a file, and the cells where a lab failed.
function read_rows(path, file, commit,    line, at, cell, k) {
    if (path in is_read) return
    is_read[path] = 1
    if ((getline line < path) <= 0) return
    csv_columns(line, at)
    if (!("schema" in at && "commit" in at)) refuse(path ": no rows of this suite")
    while ((getline line < path) > 0) {
        csv_split(line, cell)
        if (cell[at["commit"]] != commit || cell[at["device"]] != device) continue
        k = file SUBSEP cell_key(cell, at)
        measured[k, cell[at["contender"]]] = 1
        if (cell[at["lab"]] > 0 && cell[at["status"]] !~ /^(ok|skip)$/) broken[k] = 1
    }
    close(path)
}

# A cell of this job: counts it, and puts its N on the list of its dataset where it is to be measured.
function take_cell(number, file, cell, at,    k, claim, spec) {
    if (!commit) commit = cell[at["commit"]]
    if (commit != cell[at["commit"]])
        refuse("programs of two commits, " commit " and " cell[at["commit"]] ": build them again")
    if (!is_of(file, operation_of(cell, at)))
        refuse(plan ":" number ": " file " would hold rows of " operation_of(cell, at) ": name it " \
            operation_of(cell, at) ".csv or " operation_of(cell, at) "-PURPOSE.csv")
    # Two trees of edited sources may have the same name.
    read_rows(rows "/" file, file, commit ~ /-dirty$|^unknown$/ ? "none" : commit)
    if (apart) read_rows(apart, file, commit)
    k = file SUBSEP cell_key(cell, at)
    claim = k SUBSEP cell[at["contender"]]
    if (claim in owner)
        refuse(plan ":" number ": measures " cell[at["dataset"]] " at N = " cell[at["N"]] \
            " for " file " as line " owner[claim] " does")
    owner[claim] = number
    spec = cell[at["spec"]]
    if (!(spec in wanted)) { order[++specs] = spec; wanted[spec] = ""; kept[spec] = missing[spec] = 0 }
    total++
    if ((claim in measured) && !(retry && k in broken)) { kept[spec]++; return }
    missing[spec]++
    if (index("," wanted[spec] ",", "," cell[at["N"]] ",") == 0)
        wanted[spec] = wanted[spec] (wanted[spec] ? "," : "") cell[at["N"]]
}

BEGIN { FS = OFS = "\t" }
{
    split("", wanted)
    specs = total = 0
    path = cells "/" $1
    if ((getline line < path) <= 0) next
    csv_columns(line, at)
    while ((getline line < path) > 0) {
        csv_split(line, cell)
        take_cell($1, $2, cell, at)
    }
    close(path)
    split($5, word, " ")
    options = $5
    sub(/^[^ ]+ [^ ]+ ?/, "", options)
    together = specs > 1 && !apart
    for (i = 2; i <= specs; i++) if (wanted[order[i]] != wanted[order[1]]) together = 0
    if (together) {
        for (i = 2; i <= specs; i++) {
            missing[order[1]] += missing[order[i]]
            kept[order[1]] += kept[order[i]]
        }
        print_run(order[1], specs, word[1])
    } else {
        for (i = 1; i <= specs; i++) print_run(order[i], 1, order[i])
    }
}

function print_run(spec, datasets, name) {
    print $1, $2, int($3 * missing[spec] / total + 0.999), missing[spec], kept[spec], datasets, $4, name,
        wanted[spec] ? wanted[spec] : "-", options
}
