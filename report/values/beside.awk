# beside.awk - the time of an operation over that of another, on the same matrix at the same width. Options: of and op,
# over and other (a lab of each operation), stat (geomean, most), need (how many cases it takes to say anything).
END {
    for (i = 1; i <= num_problems; i++) {
        own = problems[i]
        twin = problem_of(own, other)
        if (own != problem_of(own, op) || !time_of(own, of) || !time_of(twin, over)) continue
        ratio = time_of(own, of) / time_of(twin, over)
        logs += log(ratio)
        if (!cases++ || ratio > most) most = ratio
    }
    if (!cases) nothing(op " beside " other)
    if (cases < need) stop("only " cases " of " need " cases; make bench PLAN=" PLAN " measures them")
    printf "%.2f\n", stat == "most" ? most : exp(logs / cases)
}
