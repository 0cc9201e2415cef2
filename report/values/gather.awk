# gather.awk - in how many cases a product takes at most `factor` times the gather limit, as the harness has it in
# the column roofline_share (common/harness/limits.c). Options: of, factor.

END {
    for (i = 1; i <= num_problems; i++) {
        key = problems[i]
        if (!time_of(key, of)) continue
        cases++
        near += roofline_share[key, of] * factor >= 1
    }
    if (!cases) nothing(of)
    print near + 0 " of " cases
}
