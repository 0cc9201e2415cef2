# compare-predictions.awk - see compare-predictions. Needs csv.awk; columns are found by name.

FNR == 1 { csv_columns($0, at); file++; next }
{
    csv_split($0, cell)
    key = operation_of(cell, at) SUBSEP cell[at["dataset"]] SUBSEP cell[at["origin"]] SUBSEP cell[at["N"]] SUBSEP \
        cell[at["lab"]] SUBSEP cell[at["tuning"]]
}
file == 1 && cell[at["predicted_ms"]] != "" {
    predicted[key] = cell[at["predicted_ms"]] + 0
    limit[key] = cell[at["predicted_limit"]]
    sampled[key] = cell[at["sampled"]]
    model = cell[at["model"]]
    commit[key] = cell[at["commit"]]
}
# Options change what is measured; times of such rows are not meant.
file == 2 && cell[at["lab"]] + 0 > 0 && cell[at["status"]] == "ok" && cell[at["l2"]] == "warm" && \
    cell[at["flags"]] == "" {
    if (!(key in predicted)) { alone++; next }
    if (cell[at["device"]] != model) {
        print "compare-predictions: estimates are of " model ", times of " cell[at["device"]] > "/dev/stderr"
        failed = 3
        exit
    }
    count++
    p[count] = predicted[key]
    m[count] = cell[at["median_ms"]] + 0
    where[count] = operation_of(cell, at) SUBSEP cell[at["dataset"]] SUBSEP cell[at["N"]]
    samples += sampled[key] + 0 < 1
    line[count] = sprintf("%s,%s,%s,%s,%s,%s,%s,%s,%s,%.3f,%s,%s,%s",
        csv_cell(cell[at["dataset"]]), cell[at["origin"]], cell[at["N"]], cell[at["lab"]],
        cell[at["contender"]], sampled[key], p[count], limit[key], m[count], m[count] / p[count],
        model, commit[key], cell[at["commit"]])
}
END {
    if (failed) exit failed
    if (!count) {
        print "compare-predictions: no lab has both an estimate and a measured time" > "/dev/stderr"
        exit 3
    }
    if (alone)
        print "compare-predictions: " alone " measured rows without an estimate of the same data " \
            "and tuning" > "/dev/stderr"
    if (SUMMARY) summarise()
    else {
        print "dataset,origin,N,lab,contender,sampled,predicted_ms,predicted_limit,measured_ms," \
            "measured_over_predicted,model,counted_commit,measured_commit"
        for (i = 1; i <= count; i++) print line[i]
    }
}

# The place of value[i] among all, from 1; equal ones share the mean of their places.
function ranks(value, rank,    i, j, less, same) {
    for (i = 1; i <= count; i++) {
        less = same = 0
        for (j = 1; j <= count; j++) {
            less += value[j] < value[i]
            same += value[j] == value[i]
        }
        rank[i] = less + (same + 1) / 2
    }
}

# Spearman: the correlation of the ranks.
function spearman(    rp, rm, i, mean, a, b, sp, sm, both) {
    ranks(p, rp)
    ranks(m, rm)
    mean = (count + 1) / 2
    for (i = 1; i <= count; i++) {
        a = rp[i] - mean
        b = rm[i] - mean
        both += a * b
        sp += a * a
        sm += b * b
    }
    return both / sqrt(sp * sm)
}

function summarise(    i, j, all, right, all_within, right_within, ok) {
    for (i = 1; i <= count; i++)
        for (j = 1; j < i; j++) {
            ok = (p[i] - p[j]) * (m[i] - m[j]) > 0
            all++
            right += ok
            if (where[i] != where[j]) continue
            all_within++
            right_within += ok
        }
    print "| over | pairs | in the right order |"
    print "|---|---|---|"
    printf "| all %d rows | %d | %.1f %% |\n", count, all, 100 * right / all
    if (all_within)
        printf "| labs of one dataset and width | %d | %.1f %% |\n", all_within, 100 * right_within / all_within
    printf "\nSpearman's rank correlation over all rows: %.3f. Estimates and times are of %s;\n",
        spearman(), model
    printf "%d of %d estimates are of a sample of the blocks.\n", samples, count
}
