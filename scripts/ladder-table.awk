# ladder-table.awk - see ladder-table. Needs csv.awk, operation.awk, machine.awk and sorted.awk. Rows come from one or more CSV files of the
# suite's row schema; columns are found by name.

BEGIN {
    words = split(PARENTS, word, " ") # "spmm 2 1 spmm 3 2 ...": of SpMM's lab 2, lab 1
    for (w = 1; w < words; w += 3) parent[word[w], word[w + 1]] = word[w + 2]
}

FNR == 1 { csv_columns($0, column); next }
{
    csv_split($0, cell)
    # Options change what is measured; such rows are other tables' business.
    if (cell[column["l2"]] != "warm" || cell[column["flags"]] != "") next
    precision = cell[column["precision"]]
    if (!one_machine(cell, column, "ladder-table") || !one_operation(cell, column, "ladder-table")) {
        failed = 3
        exit
    }
    dataset = cell[column["dataset"]] " (" cell[column["origin"]] ")"
    N = cell[column["N"]] + 0
    key = N SUBSEP dataset
    if (precision != "fp32") {
        narrow_row()
        next
    }
    if (!(key in seen)) {
        seen[key] = 1
        order[N, ++cases[N]] = dataset
        if (cases[N] == 1) widths[++num_widths] = N
    }
    ms = cell[column["status"]] == "ok" ? cell[column["median_ms"]] + 0 : 0
    lab = cell[column["lab"]] + 0
    if (lab) {
        time[key, lab] = ms
        known[lab] = 1
        if (lab > labs) labs = lab
    } else if (ms) {
        vendor = cell[column["contender"]]
        if (vendor == cell[column["vendor_default"]]) standard[key] = ms
        if (vendor == cell[column["vendor_best"]]) {
            best[key] = ms
            best_name[key] = vendor
            sub(/^cuSPARSE /, "", best_name[key])
        }
    }
    commits[cell[column["commit"]]] = 1
}

# A row in 16 bits: of a lab, or of a vendor, whose rivals have the same precision.
function narrow_row(    ms, vendor) {
    ms = cell[column["status"]] == "ok" ? cell[column["median_ms"]] + 0 : 0
    if (cell[column["lab"]] + 0) {
        narrow[key, cell[column["lab"]] + 0, precision] = ms
        narrow_labs[cell[column["lab"]] + 0] = 1
    } else if (ms) {
        vendor = cell[column["contender"]]
        if (vendor == cell[column["vendor_default"]]) narrow_standard[key, precision] = ms
        if (vendor == cell[column["vendor_best"]]) {
            narrow_best[key, precision] = ms
            narrow_name[key, precision] = vendor
            sub(/^cuSPARSE /, "", narrow_name[key, precision])
        }
    }
    narrow_commits[cell[column["commit"]]] = 1
}

# The time of a lab as a cell: "-" where it has no right result, "not measured" where it has no row.
function time_cell(key, lab) { return (key, lab) in time ? show(time[key, lab]) : "not measured" }

function show(ms) { return ms ? sprintf(ms < 1 ? "%.4f" : ms < 100 ? "%.3f" : "%.1f", ms) : "-" }

# Adds a ratio to the geometric mean `which`, returns it as text. Where the vendor is ahead it says so.
function ratio(which, other, own) {
    if (!other || !own) return "-"
    logs[which] += log(other / own)
    counts[which]++
    if (other > own) ahead[which]++
    return sprintf("%.2f", other / own) (which != "before" && other < own ? " (behind)" : "")
}

function end_line(which) {
    if (!counts[which]) return "-"
    return sprintf("**%.2f**, %d of %d", exp(logs[which] / counts[which]), ahead[which], counts[which])
}

# The whole ladder at one N.
function ladder(N,    i, l, key, own) {
    printf "\n%s = %d\n\n| graph |", width_of(table_operation), N
    for (l = 1; l <= labs; l++) if (known[l]) printf " lab%d |", l
    printf " cuSPARSE default | cuSPARSE best (which) | lab%d over default | over best |\n|---|", labs
    for (l = 1; l <= labs; l++) if (known[l]) printf "---|"
    print "---|---|---|---|"
    for (i = 1; i <= cases[N]; i++) {
        key = N SUBSEP order[N, i]
        printf "| %s |", order[N, i]
        for (l = 1; l <= labs; l++) if (known[l]) printf " %s |", time_cell(key, l)
        own = time[key, labs]
        printf " %s | %s | %s | %s |\n", show(standard[key]),
            best[key] ? show(best[key]) " (" best_name[key] ")" : "-",
            ratio("default", standard[key], own), ratio("best", best[key], own)
    }
    printf "| geometric mean, how many ahead |"
    for (l = 1; l <= labs; l++) if (known[l]) printf " |"
    printf " | |"
    printf " %s | %s |\n", end_line("default"), end_line("best")
}

# The step before a lab: its nearest ancestor with rows in fp32; 0 if there is none.
function step_before(lab) {
    do lab = (table_operation, lab) in parent && parent[table_operation, lab] < lab ? parent[table_operation, lab] : 0
    while (lab && !(lab in known))
    return lab
}

# One lab beside the step before, at one N.
function one_lab(N, lab,    i, key, before) {
    before = step_before(lab)
    printf "\n%s = %d\n\n| graph |", width_of(table_operation), N
    if (before) printf " lab%d ms |", before
    printf " lab%d ms |", lab
    if (before) printf " lab%d over lab%d |", lab, before
    printf " lab%d over cuSPARSE default |\n|---|---|---|%s\n", lab, (before ? "---|---|" : "")
    for (i = 1; i <= cases[N]; i++) {
        key = N SUBSEP order[N, i]
        if (time_cell(key, lab) == "-") continue # a graph that the lab cannot take
        printf "| %s |", order[N, i]
        if (before) printf " %s |", time_cell(key, before)
        printf " %s |", time_cell(key, lab)
        if (before) printf " %s |", ratio("before", time[key, before], time[key, lab])
        printf " %s |\n", ratio("default", standard[key], time[key, lab])
    }
    printf "| geometric mean, how many ahead |"
    if (before) printf " | | %s | %s |\n", end_line("before"), end_line("default")
    else printf " | %s |\n", end_line("default")
}

# A lab in 16 bits beside the step before in fp32 and the vendor in fp16, at one N.
function narrow_lab(N, lab,    i, key, half, best16, before) {
    before = step_before(lab)
    printf "\n%s = %d\n\n| graph | lab%d fp32 ms | lab%d fp16 ms | lab%d bf16 ms | fp16 over lab%d |",
        width_of(table_operation), N, before, lab, lab, before
    print " cuSPARSE fp16 best (which) | over fp16 default | over fp16 best |\n|---|---|---|---|---|---|---|---|"
    for (i = 1; i <= cases[N]; i++) {
        key = N SUBSEP order[N, i]
        half = narrow[key, lab, "fp16"]
        if (!half && !narrow[key, lab, "bf16"]) continue
        best16 = narrow_best[key, "fp16"]
        printf "| %s | %s | %s | %s | %s | %s | %s | %s |\n", order[N, i], time_cell(key, before),
            show(half), show(narrow[key, lab, "bf16"]), ratio("before", time[key, before], half),
            best16 ? show(best16) " (" narrow_name[key, "fp16"] ")" : "-",
            ratio("default", narrow_standard[key, "fp16"], half), ratio("best", best16, half)
    }
    printf "| geometric mean, how many ahead | | | | %s | | %s | %s |\n", end_line("before"),
        end_line("default"), end_line("best")
}

END {
    if (failed) exit failed
    if (!num_widths) {
        print "ladder-table: no rows of plain runs with a warm cache" > "/dev/stderr"
        exit 3
    }
    is_narrow = LAB && !known[LAB] && LAB in narrow_labs # in 16 bits alone
    if (is_narrow) for (c in narrow_commits) commits[c] = 1
    printf "%s, commit %s; %swarm L2, median ms.\n", table_machine, sorted(commits, "`"), is_narrow ? "" : "fp32, "
    # Two widths show what the width does: the least and the greatest. The rows have the others.
    for (w = 1; w <= num_widths; w += num_widths > 1 ? num_widths - 1 : 1) {
        split("", logs); split("", counts); split("", ahead)
        if (is_narrow) narrow_lab(widths[w], LAB)
        else if (LAB) one_lab(widths[w], LAB)
        else ladder(widths[w])
    }
}
