# ablation.awk - what the row swizzle brings to each kernel of lab 10: rows of --sweep with FAMILY and SWIZZLE.

get("status") == "ok" && get("flags") ~ /(^|;)sweep/ && tuned_to("FAMILY") != "" {
    key = get("dataset") SUBSEP get("N")
    family = tuned_to("FAMILY")
    if (!(family in is_family)) { is_family[family] = 1; families[++num_families] = family }
    if (!(key in fastest)) case_of[++num_cases] = key
    ms = number("median_ms")
    took[key, family, tuned_to("SWIZZLE")] = ms
    if (!(key in fastest) || ms < fastest[key]) fastest[key] = ms
    use(provenance())
}

function swizzled(family, swizzle) {
    return gain(took, case_of, num_cases, family SUBSEP 0, family SUBSEP swizzle)
}

function share(family,    i, logs, n, key) {
    for (i = 1; i <= num_cases; i++) {
        key = case_of[i]
        if (!((key, family, 0) in took)) continue
        logs += log(fastest[key] / took[key, family, 0])
        n++
    }
    return n ? sprintf("%.0f %%", 100 * exp(logs / n)) : "-"
}

END {
    if (!num_cases) nothing("lab 10's families")
    called[0] = "bins"
    called[2] = "fragments"
    called[3] = "tiles"
    print "| kernel | all rows by length (cases) | in windows of 4096 (cases) | without, share of the best setting |"
    print "|---|---:|---:|---:|"
    for (f = 1; f <= num_families; f++)
        printf "| %s | %s | %s | %s |\n", families[f] in called ? called[families[f]] : "lab " families[f],
            swizzled(families[f], 1), swizzled(families[f], 4096), share(families[f])
}
