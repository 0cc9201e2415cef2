# rule.awk - the rule of a lab beside the fastest setting, in per cent. Options: lab, stat (geomean, least).
END {
    if (!judge_rule()) nothing("lab " lab " as its rule chooses, and with --sweep")
    printf "%.1f %%\n", 100 * (stat == "least" ? share_least : share_mean)
}
