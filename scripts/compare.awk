# compare.awk - the work of scripts/compare, which says what it does. A file at a time: 1 is the old one.

BEGIN { LEAST_SHARE = 0.02 }

function refuse(what) { print "compare: " what > "/dev/stderr"; failed = 1; exit 3 }

FNR == 1 {
    file++
    path[file] = FILENAME
    csv_columns($0, at)
    m = split("lab contender dataset origin N precision l2 seed flags tuning device driver toolkit median_ms iqr_ms status",
        needed, " ")
    for (i = 1; i <= m; i++)
        if (!(needed[i] in at)) refuse(FILENAME ": no column " needed[i] ": no rows of this suite")
    next
}
{
    csv_split($0, cell)
    tuning = cell[at["flags"]] ~ /(^|;)sweep(;|$)/ ? cell[at["tuning"]] : ""
    k = operation_of(cell, at) SUBSEP cell[at["lab"]] SUBSEP cell[at["contender"]] SUBSEP cell[at["precision"]] \
        SUBSEP cell[at["dataset"]] SUBSEP cell[at["N"]] SUBSEP cell[at["origin"]] SUBSEP cell[at["l2"]] SUBSEP cell[at["seed"]] SUBSEP \
        cell[at["flags"]] SUBSEP tuning
    status[file, k] = cell[at["status"]]
    median[file, k] = cell[at["median_ms"]]
    iqr[file, k] = cell[at["iqr_ms"]]
    cases[k] = 1
    machine = machine_of(cell, at)
    if (!((file, machine) in seen)) {
        seen[file, machine] = 1
        machines[file] = machines[file] (machines[file] ? "; " : "") machine
    }
}

# The verdict of a case, and its ratio in `ratio`, 0 where there are not two times.
function judge(k,    old, new, noise) {
    ratio = 0
    if (!((1, k) in status)) return "new"
    if (!((2, k) in status)) return "gone"
    if (status[1, k] != status[2, k]) return status[1, k] " -> " status[2, k]
    old = median[1, k]
    new = median[2, k]
    if (old + 0 <= 0 || new + 0 <= 0) return "same"
    ratio = old / new
    noise = sqrt(iqr[1, k] ^ 2 + iqr[2, k] ^ 2)
    if (new - old > noise && new - old > LEAST_SHARE * old) return "slower"
    if (old - new > noise && old - new > LEAST_SHARE * old) return "faster"
    return "same"
}

function ms(time) { return time == "" ? "-" : sprintf("%.4g", time) }

function who(lab, contender) { return lab > 0 ? "lab" lab " " contender : contender }

END {
    if (failed) exit 3
    for (i = 1; i <= 2; i++) if (!(i in path)) refuse("an empty file: no rows of this suite")
    if (machines[1] != machines[2])
        print "compare: other machines, " machines[1] " and " machines[2] \
            ": what differs need not be the code" > "/dev/stderr"

    printf "%-8s %-32s %-24s %6s %-5s %9s %9s %8s  %s\n", "operation", "contender", "dataset", "width", "type", "old ms",
        "new ms", "old/new", "verdict"
    fflush()
    by_case = "LC_ALL=C sort -t '\t' -k 1,1 -k 2,2n -k 3,5 -k 6,6n -k 7 | cut -f 8-"
    for (k in cases) {
        split(k, c, SUBSEP)
        lab = c[2] > 0 ? c[2] : 1000 # the vendor last
        operations[c[1]]
        verdict = judge(k)
        count[c[1], lab]++
        word = verdict ~ />/ ? "status" : verdict
        number[c[1], lab, word]++
        if (ratio) { sum[c[1], lab] += log(ratio); compared[c[1], lab]++ }
        if (verdict == "same" && !all) continue
        where = c[5] (c[7] == "stand-in" ? " (stand-in)" : "")
        extra = c[8] == "cold" ? "cold " : ""
        extra = extra (c[9] == 1 ? "" : "seed " c[9] " ") c[10] (c[11] == "" ? "" : " " c[11])
        printf "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%-8s %-32s %-24s %6s %-5s %9s %9s %8s  %s%s\n", c[1], lab, c[3], c[4], c[5],
            c[6], c[7] c[8] c[9] c[10] c[11], c[1], who(c[2], c[3]), where, c[6], c[4], ms(median[1, k]),
            ms(median[2, k]), ratio ? sprintf("%.3f", ratio) : "-", verdict, extra == "" ? "" : "  [" extra "]" | by_case
    }
    close(by_case)

    print ""
    words = split("same faster slower status new gone", word_of, " ")
    all_operations = split(sorted(operations, ""), operation, ", ")
    for (o = 1; o <= all_operations; o++) for (lab = 1; lab <= 1000; lab++) {
        if (!((operation[o], lab) in count)) continue
        line = sprintf("%-8s %-8s %5d rows:", operation[o], lab == 1000 ? "vendor" : "lab" lab, count[operation[o], lab])
        for (i = 1; i <= words; i++) if ((operation[o], lab, word_of[i]) in number) {
            line = line " " number[operation[o], lab, word_of[i]] " " word_of[i] ","
            total[word_of[i]] += number[operation[o], lab, word_of[i]]
        }
        sub(/,$/, "", line)
        if (compared[operation[o], lab])
            line = line sprintf("; old over new %.3f", exp(sum[operation[o], lab] / compared[operation[o], lab]))
        print line
        rows += count[operation[o], lab]
    }
    line = sprintf("%-8s %-8s %5d rows:", "all", "", rows)
    for (i = 1; i <= words; i++) line = line " " total[word_of[i]] + 0 " " word_of[i] ","
    sub(/,$/, "", line)
    print line
    printf "changed: by more than both interquartile ranges and %g %%\n", 100 * LEAST_SHARE
}
