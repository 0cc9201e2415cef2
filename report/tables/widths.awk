# widths.awk - a lab at every width that was measured, matrix by matrix, and how far it is ahead of another.
# Options: of, over.

END {
    if (!(of in is_known)) nothing(of)
    line = "|---|"
    printf "| matrix |"
    for (w = 1; w <= num_widths; w++) {
        printf " %s = %s, us | over %s |", common_width, widths[w], heading(over)
        line = line "---:|---:|"
    }
    print "\n" line
    for (i = 1; i <= num_problems; i++) {
        split(problems[i], part, SUBSEP)
        if (!((problems[i], of) in time) || (part[1], part[3], part[4]) in shown) continue
        shown[part[1], part[3], part[4]]
        printf "| %s |", label[problems[i]]
        for (w = 1; w <= num_widths; w++) {
            key = part[1] SUBSEP widths[w] SUBSEP part[3] SUBSEP part[4]
            own = time_of(key, of)
            other = time_of(key, over)
            printf " %s | %s |", us(own), !own ? "-" : other ? show_ratio(other / own) : "not measured"
        }
        print ""
    }
    printf "| geometric mean, ahead |"
    for (w = 1; w <= num_widths; w++)
        printf " | %s |", compare(of, over, "", widths[w]) ? sprintf("%.2f, %d of %d", geomean, ahead, cases) : "-"
    print ""
}
