# counters.awk - counters of the CPU backend beside ncu's, metric by metric.

{
    metric = get("metric")
    if (!(metric in counted)) metrics[++num_metrics] = metric
    counted[metric]++
    if (get("verdict") == "within") within[metric]++
    if (get("verdict") == "information") informs[metric]++
    else {
        off = get("difference")
        sub(/^-/, "", off)
        sum[metric] += off
        if (off + 0 > worst[metric]) worst[metric] = off + 0
    }
    use(provenance())
}

END {
    if (!num_metrics) nothing("counters of ncu (make validate-counters)")
    print "| counter | values | within tolerance | mean difference | largest difference |\n|---|---:|---:|---:|---:|"
    for (i = 1; i <= num_metrics; i++) {
        m = metrics[i]
        judged = counted[m] - informs[m]
        if (judged) printf "| %s | %d | %d | %.1f %% | %.1f %% |\n", m, judged, within[m], 100 * sum[m] / judged, 100 * worst[m]
    }
}
