# speedup.awk - one number of a comparison. Options: of, over, stat (geomean, least, most, ahead, or percent: of
# the cases, ahead), need (how many cases it takes to say anything), and those of problems.awk.
END {
    if (!compare(of, over, "", "")) nothing(of " beside " over)
    if (cases < need) stop("only " cases " of " need " cases; make bench PLAN=" PLAN " measures them")
    if (stat == "ahead") print ahead " of " cases
    else if (stat == "percent") printf "%.0f %%\n", 100 * ahead / cases
    else printf "%.2f\n", stat == "least" ? least : stat == "most" ? most : geomean
}
