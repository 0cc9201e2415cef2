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
    k = cell[at["lab"]] SUBSEP cell[at["contender"]] SUBSEP cell[at["precision"]] SUBSEP cell[at["dataset"]] \
        SUBSEP cell[at["N"]] SUBSEP cell[at["origin"]] SUBSEP cell[at["l2"]] SUBSEP cell[at["seed"]] SUBSEP \
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

    printf "%-32s %-24s %6s %-5s %9s %9s %8s  %s\n", "contender", "dataset", "N", "type", "old ms", "new ms", "old/new", "verdict"
    fflush()
    sorted = "LC_ALL=C sort -t '\t' -k 1,1n -k 2,4 -k 5,5n -k 6 | cut -f 7-"
    for (k in cases) {
        split(k, c, SUBSEP)
        lab = c[1] > 0 ? c[1] : 1000 # the vendor last
        verdict = judge(k)
        count[lab]++
        word = verdict ~ />/ ? "status" : verdict
        number[lab, word]++
        if (ratio) { sum[lab] += log(ratio); compared[lab]++ }
        if (verdict == "same" && !all) continue
        where = c[4] (c[6] == "stand-in" ? " (stand-in)" : "")
        extra = c[7] == "cold" ? "cold " : ""
        extra = extra (c[8] == 1 ? "" : "seed " c[8] " ") c[9] (c[10] == "" ? "" : " " c[10])
        printf "%s\t%s\t%s\t%s\t%s\t%s\t%-32s %-24s %6s %-5s %9s %9s %8s  %s%s\n", lab, c[2], c[3], c[4], c[5],
            c[6] c[7] c[8] c[9] c[10], who(c[1], c[2]), where, c[5], c[3], ms(median[1, k]), ms(median[2, k]),
            ratio ? sprintf("%.3f", ratio) : "-", verdict, extra == "" ? "" : "  [" extra "]" | sorted
    }
    close(sorted)

    print ""
    words = split("same faster slower status new gone", word_of, " ")
    for (lab = 1; lab <= 1000; lab++) {
        if (!(lab in count)) continue
        line = sprintf("%-8s %5d rows:", lab == 1000 ? "vendor" : "lab" lab, count[lab])
        for (i = 1; i <= words; i++) if ((lab, word_of[i]) in number) {
            line = line " " number[lab, word_of[i]] " " word_of[i] ","
            total[word_of[i]] += number[lab, word_of[i]]
        }
        sub(/,$/, "", line)
        if (compared[lab]) line = line sprintf("; old over new %.3f", exp(sum[lab] / compared[lab]))
        print line
        rows += count[lab]
    }
    line = sprintf("%-8s %5d rows:", "all", rows)
    for (i = 1; i <= words; i++) line = line " " total[word_of[i]] + 0 " " word_of[i] ","
    sub(/,$/, "", line)
    print line
    printf "changed: by more than both interquartile ranges and %g %%\n", 100 * LEAST_SHARE
}
