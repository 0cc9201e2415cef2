# chosen.awk - what is chosen beside what could have been: the share of the fastest one's speed, in per cent. Options:
# of, among (labs besides, as in 5,6,7; all that are known otherwise), stat (geomean, least).
END {
    if (among == "") for (l = 1; l <= last_lab; l++) if (("lab" l) in is_known) among = among (among ? "," : "") l
    n = split(among, rival, ",")
    for (i = 1; i <= num_problems; i++) {
        own = time_of(problems[i], of)
        if (!own) continue
        fastest = own
        for (k = 1; k <= n; k++) {
            ms = time_of(problems[i], "lab" rival[k])
            if (ms && ms < fastest) fastest = ms
        }
        logs += log(fastest / own)
        if (!seen++ || fastest / own < least) least = fastest / own
    }
    if (!seen) nothing(of)
    printf "%.1f %%\n", 100 * (stat == "least" ? least : exp(logs / seen))
}
