# switches.awk - what each switch of a lab brings, per model and batch: rows of --sweep. Options, as in NAME:VALUE,...:
# full, the settings with everything on, and off, what each is turned to, alone, with all others as in full.

function read_settings(text, to, names,    n, i, word, part) {
    n = split(text, word, ",")
    for (i = 1; i <= n; i++) {
        split(word[i], part, ":")
        to[part[1]] = part[2]
        if (i > names[0]) names[++names[0]] = part[1]
    }
}

# The tuning of `row_settings` with every switch as in full, but `turned`; "" if others differ, too.
function which(row_settings,    n, i, word, part, turned) {
    n = split(row_settings, word, " ")
    for (i = 1; i <= n; i++) {
        split(word[i], part, "=")
        if (!(part[1] in on) || part[2] == on[part[1]]) continue
        if (turned != "" || part[2] != off_value[part[1]]) return ""
        turned = part[1]
    }
    return turned == "" ? "full" : turned
}

get("status") == "ok" && get("flags") ~ /(^|;)sweep/ && get("lab") == lab {
    if (!names[0]) {
        names[0] = 0
        read_settings(full, on, names)
        read_settings(off, off_value, names)
    }
    if ((setting = which(get("tuning"))) == "") next
    model = get("dataset")
    sub(/[.].*/, "", model)
    group = model SUBSEP get("N")
    key = get("dataset") SUBSEP get("N")
    if (!(group in members)) groups[++num_groups] = group
    if (!(key in is_case)) { is_case[key] = 1; layers[group, ++members[group]] = key }
    took[key, setting] = number("median_ms")
    use(provenance())
}

# Geometric mean of the time with the switch off over that with all on, and of how many layers.
function gain(group, name,    i, key, logs, n) {
    for (i = 1; i <= members[group]; i++) {
        key = layers[group, i]
        if (!((key, name) in took) || !((key, "full") in took)) continue
        logs += log(took[key, name] / took[key, "full"])
        n++
    }
    return n ? sprintf("%.3f (%d)", exp(logs / n), n) : "-"
}

END {
    if (!num_groups) nothing("lab " lab " with --sweep and all switches on but one")
    line = "| model | N |"
    rule = "|---|---:|"
    for (s = 1; s <= names[0]; s++) {
        line = line " " names[s] "=" off_value[names[s]] " instead of " on[names[s]] " |"
        rule = rule "---:|"
    }
    print line "\n" rule
    for (g = 1; g <= num_groups; g++) {
        split(groups[g], part, SUBSEP)
        line = "| " part[1] " | " part[2] " |"
        for (s = 1; s <= names[0]; s++) line = line " " gain(groups[g], names[s]) " |"
        print line
    }
}
