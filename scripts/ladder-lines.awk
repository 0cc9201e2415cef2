# ladder-lines.awk - see ladder-lines. Needs csv.awk, machine.awk and sorted.awk; columns are found by name.

FNR == 1 { csv_columns($0, column); next }
{
    csv_split($0, cell)
    if (cell[column["status"]] != "ok" || cell[column["flags"]] != "") next
    if (!one_machine(cell, column, "ladder-lines")) {
        failed = 3
        exit
    }
    precision = cell[column["precision"]]
    cold = cell[column["l2"]] == "cold"
    if (cold && FILENAME !~ /-llm-/) next
    ms = cell[column["median_ms"]] + 0
    N = cell[column["N"]] + 0
    group = operation_of(cell, column) SUBSEP precision SUBSEP cold
    if (!(group in width) || N < width[group]) width[group] = N
    problem = FILENAME SUBSEP group SUBSEP N SUBSEP cell[column["dataset"]]
    if (cell[column["lab"]] + 0) {
        count++
        lab[count] = cell[column["lab"]] + 0
        own[count] = ms
        of[count] = problem
        width_of[count] = N
        group_of[count] = group
        commit_of[count] = cell[column["commit"]]
        operations[operation_of(cell, column), lab[count]] = 1
    } else if (cold ? cell[column["contender"]] ~ /\(dense\)$/ : cell[column["contender"]] == cell[column["vendor_best"]])
        if (!(problem in vendor) || ms < vendor[problem]) vendor[problem] = ms
}

# The figures of one lab as cells: ratio, how many ahead, beside whom, and the width. Empty: it has no such rows.
function figure(which, operation, precision, cold, beside, width_name,    group, i, r, logs, cases, ahead) {
    group = operation SUBSEP precision SUBSEP cold
    for (i = 1; i <= count; i++) {
        if (lab[i] != which || group_of[i] != group || width_of[i] != width[group] || !(of[i] in vendor)) continue
        r = vendor[of[i]] / own[i]
        logs += log(r)
        cases++
        ahead += r > 1
        commits[commit_of[i]] = 1
    }
    return cases ? sprintf("%.2f | %d of %d | %s, %s = %d", exp(logs / cases), ahead, cases, beside, width_name, width[group]) : ""
}

function line(title, folder, idea, text) {
    lines[++num_lines] = sprintf("| [%s](labs/%s/README.md) | %s | %s |", title, folder, idea, text ? text : "- | - | not measured yet")
}

END {
    if (failed) exit failed
    operation_words = split(OPERATIONS, operation, " ") # "sddmm K spmm N"
    labs = split(ENVIRON["IDEAS"], entry, "\n")
    for (l = 1; l <= labs; l++) {
        split(entry[l], part, "\t")
        which = part[1] + 0
        shown = 0
        for (o = operation_words - 1; o >= 1; o -= 2) {
            if (!((operation[o], which) in operations)) continue
            text = figure(which, operation[o], "fp32", 0, "cuSPARSE", operation[o + 1])
            if (!text) text = figure(which, operation[o], "fp16", 1, "cuBLAS, dense, fp16", operation[o + 1])
            if (!text) text = figure(which, operation[o], "fp16", 0, "cuSPARSE, fp16", operation[o + 1])
            if (!text) continue
            line(which, part[1], (shown++ ? "its " toupper(operation[o]) : part[2]), text)
        }
        if (!shown) line(which, part[1], part[2], "")
    }
    if (table_machine) printf "%s, commit %s.\n\n", table_machine, sorted(commits, "`")
    print "| lab | idea | vendor's best over lab | ahead on | vendor |\n|---|---|---|---|---|"
    for (l = 1; l <= num_lines; l++) print lines[l]
}
