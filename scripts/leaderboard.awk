# leaderboard.awk - see leaderboard. Needs csv.awk and operation.awk. The first file is the suite's, others are rivals'.

function stop(text) {
    print "leaderboard: " text > "/dev/stderr"
    failed = 3
    exit
}

# The cell of a column, or `otherwise` where the file has no such column.
function cell_of(name, otherwise) { return name in column ? cell[column[name]] : otherwise }

FNR == 1 {
    files++
    csv_columns($0, column)
    m = split("contender dataset N device median_ms", needed, " ")
    for (i = 1; i <= m; i++) if (!(needed[i] in column)) stop(FILENAME ": no column " needed[i])
    next
}
{
    csv_split($0, cell)
    if (cell_of("precision", "fp32") != "fp32" || cell_of("l2", "warm") != "warm") next
    if (cell_of("flags", "") != "" || cell[column["contender"]] ~ /\(dense\)$/) next
    if (files == 1 && !one_operation(cell, column, "leaderboard")) {
        failed = 3
        exit
    }
    if (operation_of(cell, column) != table_operation) next
    if (device == "") device = cell[column["device"]]
    if (cell[column["device"]] != device)
        stop(FILENAME ":" FNR ": measured on " cell[column["device"]] ", the others on " device)
    key = cell[column["N"]] SUBSEP cell[column["dataset"]]
    who = cell_of("lab", "") + 0 ? "lab " cell[column["lab"]] : cell[column["contender"]]
    if (files == 1) {
        origin = cell_of("origin", "")
        if (!(key in label)) {
            cases[++num_cases] = key
            label[key] = cell[column["dataset"]] (origin ? " (" origin ")" : "")
        }
        if (!(cell[column["N"]] in width_seen)) widths[++num_widths] = cell[column["N"]]
        width_seen[cell[column["N"]]] = 1
        kind[who] = cell_of("lab", "") + 0 ? "lab" : "vendor"
    } else {
        kind[who] = "rival"
        if (!(key in label)) next
        if (cell_of("origin", "") != "" &&
            label[key] != cell[column["dataset"]] " (" cell_of("origin", "") ")")
            stop(FILENAME ":" FNR ": other data than in the first file: " cell_of("origin", ""))
    }
    ms = cell[column["median_ms"]] + 0
    if (cell_of("status", "ok") != "ok" || ms <= 0) next
    if (!(who in known)) order[++num_contenders] = who
    known[who] = 1
    time[key, who] = ms
    if (!(key in best) || ms < best[key]) { best[key] = ms; winner[key] = who }
}

# The fastest of a kind in a case, as "lab 10 0.0253"; sets fastest_ms.
function fastest(key, of,    i, who, name) {
    fastest_ms = 0
    for (i = 1; i <= num_contenders; i++) {
        who = order[i]
        if (kind[who] != of || !((key, who) in time)) continue
        if (!fastest_ms || time[key, who] < fastest_ms) { fastest_ms = time[key, who]; name = who }
    }
    sub(/^cuSPARSE /, "", name)
    return fastest_ms ? name " " show(fastest_ms) : "-"
}

function show(ms) { return sprintf(ms < 1 ? "%.4f" : ms < 100 ? "%.3f" : "%.1f", ms) }

# Who is missing: without rows of others the first place says little.
function print_absent(    i, there) {
    for (i = 1; i <= num_contenders; i++) there[kind[order[i]]] = 1
    if ("rival" in there) return

    print "\n" ("vendor" in there ? "Beside the labs only the vendor's library is on it" : "Only the labs are on it") \
        ": there are no rows of other rivals yet (`make leaderboard RIVAL_ROWS=FOLDER`)."
}

function print_cases(N,    i, key, lab, lab_ms, vendor, others, rival) {
    printf "\n%s = %s\n\n| graph | fastest | best lab | best of the vendor | best rival | lab over the others |\n",
        width_of(table_operation), N
    print "|---|---|---|---|---|---|"
    for (i = 1; i <= num_cases; i++) {
        key = cases[i]
        if (index(key, N SUBSEP) != 1) continue
        lab = fastest(key, "lab"); lab_ms = fastest_ms
        vendor = fastest(key, "vendor"); others = fastest_ms
        rival = fastest(key, "rival")
        if (fastest_ms && (!others || fastest_ms < others)) others = fastest_ms
        printf "| %s | %s | %s | %s | %s | %s |\n", label[key], key in best ? winner[key] : "-", lab,
            vendor, rival, lab_ms && others ? sprintf("%.2f", others / lab_ms) : "-"
    }
}

function print_standings(    i, j, k, who, key, count, wins, logs, share, place, swap) {
    print "\n| place | contender | cases | fastest in | speed, share of the fastest |\n|---|---|---|---|---|"
    for (i = 1; i <= num_contenders; i++) {
        who = order[i]
        count[who] = wins[who] = logs[who] = 0
        for (k = 1; k <= num_cases; k++) {
            key = cases[k]
            if (!((key, who) in time)) continue
            count[who]++
            wins[who] += winner[key] == who
            logs[who] += log(best[key] / time[key, who])
        }
        share[who] = count[who] ? exp(logs[who] / count[who]) : 0
        place[i] = who
        # Whoever has fewer cases stands behind, whatever the mean of the others is.
        for (j = i; j > 1; j--) {
            who = place[j]; swap = place[j - 1]
            if (count[who] < count[swap] || (count[who] == count[swap] && share[who] <= share[swap])) break
            place[j] = swap; place[j - 1] = who
        }
    }
    for (i = 1; i <= num_contenders; i++) {
        who = place[i]
        printf "| %d | %s | %d | %d | %.1f %% |\n", i, who, count[who], wins[who], 100 * share[who]
    }
}

END {
    if (failed) exit failed
    if (!num_contenders) {
        print "leaderboard: no rows of plain runs with a warm cache" > "/dev/stderr"
        exit 3
    }
    printf "%s; fp32, warm L2, median ms.\n", device
    print_absent()
    for (w = 1; w <= num_widths; w++) print_cases(widths[w])
    print_standings()
}
