# switches.awk - what each switch of a lab brings, and all of them, per model and batch: rows of --sweep. Options: lab;
# and, as NAME:VALUE,... of the same names: full, the settings with everything on, and off, what each is turned to.

# Sets name[1], ... and value[name] of an option's words; returns how many.
function read_settings(text, name, value,    n, i, part) {
    n = split(text, name, ",")
    for (i = 1; i <= n; i++) {
        split(name[i], part, ":")
        value[name[i] = part[1]] = part[2]
    }
    return n
}

# The one switch that this row has turned off; "full" if none, "bare" if all; "" if some, or if one has another value.
function turned(    s, found, count) {
    found = "full"
    for (s = 1; s <= switches; s++) {
        if (tuned_to(name[s]) == on[name[s]]) continue
        if (tuned_to(name[s]) != off_value[name[s]]) return ""
        found = name[s]
        count++
    }
    return count < 2 ? found : count == switches ? "bare" : ""
}

is_swept() && get("lab") == lab {
    if (!switches) {
        switches = read_settings(full, name, on)
        read_settings(off, name, off_value)
    }
    if ((state = turned()) == "") next
    key = problem_of_row()
    group = get("dataset")
    sub(/[.].*/, "", group)
    group = group SUBSEP get("N")
    if (!(group in is_group)) groups[++num_groups] = group
    is_group[group]
    if (!(key in group_of)) keys[++num_keys] = key
    group_of[key] = group
    took[key, state] = number("median_ms")
    use(provenance())
}

END {
    if (!num_groups) nothing("lab " lab " with --sweep and all switches on but one")
    line = "| model | " common_width " |"
    rule = "|---|---:|"
    for (s = 1; s <= switches; s++) {
        line = line " " name[s] "=" off_value[name[s]] " instead of " on[name[s]] " |"
        rule = rule "---:|"
    }
    print line " all of these |\n" rule "---:|"
    for (g = 1; g <= num_groups; g++) {
        split(groups[g], part, SUBSEP)
        line = "| " part[1] " | " part[2] " |"
        for (s = 1; s <= switches; s++) line = line " " gain(took, keys, num_keys, name[s], "full", groups[g]) " |"
        print line " " gain(took, keys, num_keys, "bare", "full", groups[g]) " |"
    }
}
