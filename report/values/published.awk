# published.awk - a number of report/published.tsv. Options: experiment, on (a matrix; geomean), N, setting,
# quantity; over: the setting's time over that of another setting.
END {
    if (on == "") on = "geomean"
    value = published[experiment, on, N, setting, over == "" ? quantity : "time_s"]
    if (value != "" && over != "" && (experiment, on, N, over, "time_s") in published)
        value = sprintf("%.2f", value / published[experiment, on, N, over, "time_s"])
    if (value == "") stop("published.tsv has no " experiment " of " on ", N = " N ", " setting)
    print value
}
