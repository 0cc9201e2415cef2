# dense-table.awk - see dense-table. Needs csv.awk, machine.awk and sorted.awk; columns are found by name.

FNR == 1 { csv_columns($0, column); next }
{
    csv_split($0, cell)
    # llm.28672x8192-random-0.5
    if (cell[column["l2"]] != "cold" || cell[column["dataset"]] !~ /^llm\./) next
    if (cell[column["status"]] != "ok") next
    split(cell[column["dataset"]], part, "-")
    ms = cell[column["median_ms"]] + 0
    problem = FILENAME SUBSEP operation_of(cell, column) SUBSEP cell[column["dataset"]] SUBSEP cell[column["N"]] SUBSEP cell[column["precision"]]
    if (!one_machine(cell, column, "dense-table")) {
        failed = 3
        exit
    }
    commits[cell[column["commit"]]] = 1
    if (cell[column["contender"]] ~ /\(dense\)$/) {
        if (!(problem in dense) || ms < dense[problem]) { dense[problem] = ms; name[problem] = cell[column["contender"]] }
    } else if (cell[column["lab"]] + 0) {
        count++
        own[count] = ms
        of[count] = problem
        shape[count] = substr(part[1], 5)
        group[count] = "lab" cell[column["lab"]] " " cell[column["contender"]] " | " part[2] " | " cell[column["N"]] \
            " | " 100 * part[3] " %"
        if (!(group[count] in seen)) order[++groups] = group[count]
        seen[group[count]] = 1
    }
}

END {
    if (failed) exit failed
    for (i = 1; i <= count; i++) {
        if (!(of[i] in dense)) continue
        g = group[i]
        r = dense[of[i]] / own[i]
        logs[g] += log(r)
        cases[g]++
        if (!(of[i] in counted)) { fastest[name[of[i]]]++; all++ }
        counted[of[i]] = 1
        if (r > 1) ahead[g]++
        if (!(g in least) || r < least[g]) { least[g] = r; least_at[g] = shape[i] }
        if (!(g in most) || r > most[g]) { most[g] = r; most_at[g] = shape[i] }
    }
    printf "%s, commit %s; cold L2. Time of the fastest dense product over that of:\n\n", table_machine, sorted(commits, "`")
    print "| contender | pruning | N | sparsity | geometric mean | ahead | least (shape) | most (shape) |"
    print "|---|---|---|---|---|---|---|---|"
    for (k = 1; k <= groups; k++) {
        g = order[k]
        if (!cases[g]) continue
        printf "| %s | **%.2f** | %d of %d | %.2f (%s) | %.2f (%s) |\n", g, exp(logs[g] / cases[g]),
            ahead[g], cases[g], least[g], least_at[g], most[g], most_at[g]
    }
    for (who in fastest) share[sprintf("%s in %d", who, fastest[who])] = 1
    if (all) printf "\nThe fastest dense product of the %d problems: %s.\n", all, sorted(share, "")
}
