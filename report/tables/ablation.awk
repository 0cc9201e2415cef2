# ablation.awk - what the row swizzle brings to each kernel of lab 10: rows of --sweep with FAMILY and SWIZZLE.

function setting(name,    n, i, part, word) {
    n = split(get("tuning"), word, " ")
    for (i = 1; i <= n; i++) {
        split(word[i], part, "=")
        if (part[1] == name) return part[2]
    }
    return ""
}

get("status") == "ok" && get("flags") ~ /(^|;)sweep/ && setting("FAMILY") != "" {
    key = get("dataset") SUBSEP get("N")
    family = setting("FAMILY")
    if (!(family in is_family)) { is_family[family] = 1; families[++num_families] = family }
    if (!(key in fastest)) case_of[++num_cases] = key
    ms = number("median_ms")
    took[key, family, setting("SWIZZLE")] = ms
    if (!(key in fastest) || ms < fastest[key]) fastest[key] = ms
    use(provenance())
}

# Geometric mean of the time without the swizzle over that with it, and of how many cases.
function gain(family, swizzle,    i, logs, n, key) {
    for (i = 1; i <= num_cases; i++) {
        key = case_of[i]
        if (!((key, family, swizzle) in took) || !((key, family, 0) in took)) continue
        logs += log(took[key, family, 0] / took[key, family, swizzle])
        n++
    }
    return n ? sprintf("%.3f (%d)", exp(logs / n), n) : "-"
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
            gain(families[f], 1), gain(families[f], 4096), share(families[f])
}
