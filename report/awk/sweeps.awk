# sweeps.awk - the fastest setting of each problem in rows of --sweep. Needs problems.awk and scripts/setting.awk.
#
# Option lab: whose rule is compared with them. The sweeps are of that lab, or of those it chooses among; a file has one
# or the other. Where the rule's own setting is in the sweep, its time is taken from there: both times are then of
# one sitting.

# Returns this setting in the row's tuning, "" if it has no such setting.
function tuned_to(name,    n, i, part, word) {
    n = split(get("tuning"), word, " ")
    for (i = 1; i <= n; i++) {
        split(word[i], part, "=")
        if (part[1] == name) return part[2]
    }
    return ""
}

# Geometric mean of took[key, without] over took[key, with], and of how many of the `count` keys; of those of a
# group alone, if one is given.
function gain(took, keys, count, without, with, group,    i, key, logs, n) {
    for (i = 1; i <= count; i++) {
        key = keys[i]
        if (group != "" && group_of[key] != group) continue
        if (!((key, with) in took) || !((key, without) in took)) continue
        logs += log(took[key, without] / took[key, with])
        n++
    }
    return n ? sprintf("%.3f (%d)", exp(logs / n), n) : "-"
}

function is_swept() { return get("flags") ~ /(^|;)sweep/ && get("status") == "ok" && get("lab") + 0 }

"flags" in at && is_swept() {
    key = problem_of_row()
    if (!(key in sweep_best)) swept[++num_swept] = key
    settings[key]++
    ms = number("median_ms")
    if (!(key in sweep_best) || ms < sweep_best[key]) {
        sweep_best[key] = ms
        sweep_tuning[key] = setting_of(get("contender"), get("tuning"))
        sweep_from[key] = provenance()
    }
    sweep_time[key, setting_of(get("contender"), get("tuning"))] = ms
}

# The setting that the rule chose, as settings of the sweep are called.
function rule_setting(key) { return setting_of(contender_of[key, "lab" lab], tuning[key, "lab" lab]) }

# Returns the time of the rule in ms; 0 where it was not measured.
function rule_ms(key,    ms) {
    ms = time_of(key, "lab" lab)
    return (key, rule_setting(key)) in sweep_time ? sweep_time[key, rule_setting(key)] : ms
}

# The share of the best setting's speed that the rule reaches, at most 1: it may choose what no sweep had.
function rule_share(key,    ms) {
    ms = rule_ms(key)
    use(sweep_from[key])
    return !ms ? 0 : sweep_best[key] < ms ? sweep_best[key] / ms : 1
}

# Over all cases: sets shares, share_mean (geometric), share_least and where that is.
function judge_rule(    i, s, logs) {
    shares = 0
    for (i = 1; i <= num_swept; i++) {
        s = rule_share(swept[i])
        if (!s) continue
        logs += log(s)
        if (!shares++ || s < share_least) { share_least = s; share_least_at = swept[i] }
    }
    if (shares) share_mean = exp(logs / shares)
    return shares
}
