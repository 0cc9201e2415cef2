# peak.awk - the highest rate of a lab on any problem, in per cent of the machine's fp32 peak. Options: of.
END {
    for (i = 1; i <= num_problems; i++)
        if (time_of(problems[i], of) && gflops[problems[i], of] > highest) highest = gflops[problems[i], of]
    if (!highest || !limit["fp32_gflops"]) nothing(of " and limits.tsv")
    printf "%.1f %%\n", 100 * highest / limit["fp32_gflops"]
}
