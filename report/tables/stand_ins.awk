# stand_ins.awk - how far a stand-in is from the graph it stands for: everybody's time on the one over that on
# the other, where both were measured.

END {
    for (l = 1; l <= last_lab; l++) if (("lab" l) in is_known) who[++n] = "lab" l
    who[++n] = "default"
    who[++n] = "best"
    print "| graph | " common_width " | timed | real, us | stand-in, us | stand-in over real |\n|---|---:|---|---:|---:|---:|"
    for (i = 1; i <= num_problems; i++) {
        key = problems[i]
        split(key, part, SUBSEP)
        sub(/^stand-in:/, "", part[1]) # how a stand-in is asked for where the real graph is there
        real = part[1] SUBSEP part[2] SUBSEP "real" SUBSEP part[4]
        if (part[3] != "stand-in" || !(real in matrix)) continue
        for (j = 1; j <= n; j++) {
            if (!((real, who[j]) in time) || !((key, who[j]) in time)) continue
            shown++
            name = who[j] ~ /^lab/ ? "lab " substr(who[j], 4) : "cuSPARSE " who[j]
            printf "| %s | %s | %s | %s | %s | %.2f |\n", part[1], part[2], name, us(time_of(real, who[j])),
                us(time_of(key, who[j])), time_of(key, who[j]) / time_of(real, who[j])
        }
    }
    if (!shown) nothing("a real graph and its stand-in")
}
