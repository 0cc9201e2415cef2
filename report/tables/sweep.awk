# sweep.awk - the fastest of all settings of a sweep, beside the setting that a lab's rule chooses. Options: lab.

# Remembers the words of settings. What all that are shown have in common stands once, below the table.
function learn(settings,    n, i, word) {
    shown++
    n = split(settings, word, " ")
    for (i = 1; i <= n; i++) {
        if (!(word[i] in seen)) words[++num_words] = word[i]
        seen[word[i]]++
    }
}

# The words that not all have.
function particular(settings,    n, i, word, text) {
    n = split(settings, word, " ")
    for (i = 1; i <= n; i++) if (seen[word[i]] < shown) text = text (text != "" ? " " : "") word[i]
    return text
}

END {
    if (!num_swept) nothing("a sweep")
    for (i = 1; i <= num_swept; i++) {
        learn(sweep_tuning[swept[i]])
        if (rule_ms(swept[i])) { ruled++; learn(rule_setting(swept[i])) }
    }
    print "| case | settings | best setting | best, us |" (ruled ? " rule's setting | rule, us | rule's share |" : "") \
        " cuSPARSE best, us | best over it |"
    print "|---|---:|---|---:|" (ruled ? "---|---:|---:|" : "") "---:|---:|"
    for (i = 1; i <= num_swept; i++) {
        key = swept[i]
        split(key, part, SUBSEP)
        share = rule_share(key)
        vendor = time_of(key, "best")
        printf "| %s (%s), %s | %d | %s | %s |", part[1], part[3], part[2], settings[key],
            particular(sweep_tuning[key]), us(sweep_best[key])
        if (ruled) printf " %s | %s | %s |", share ? particular(rule_setting(key)) : "not measured",
            us(rule_ms(key)), share ? sprintf("%.1f %%", 100 * share) : "-"
        printf " %s | %s |\n", us(vendor), vendor ? show_ratio(vendor / sweep_best[key]) : "-"
    }
    for (i = 1; i <= num_words; i++) if (seen[words[i]] == shown) common = common (common != "" ? " " : "") words[i]
    if (common != "") print "\nIn all of them: " common "."
    if (judge_rule())
        printf "\nThe rule's geometric mean over %d cases is %.1f %% of the best setting; the least is %.1f %%, %s.\n", shares,
            100 * share_mean, 100 * share_least, problem(share_least_at)
    else print "\nWhat the lab's rule chooses was not measured: make bench PLAN=" PLAN " does."
}
