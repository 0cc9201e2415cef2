# gather.awk - in how many cases a product takes at most `factor` times the gather limit, as the harness has it in
# the column gather_share (common/results/bound.h). Options: of, factor.

END {
    for (i = 1; i <= num_problems; i++) {
        key = problems[i]
        if (!time_of(key, of)) continue
        if (gather_share[key, of] == "") nothing(of " with a gather_share (scripts/rows-to-schema-2)")
        cases++
        near += gather_share[key, of] * factor >= 1
    }
    if (!cases) nothing(of)
    print near + 0 " of " cases
}
