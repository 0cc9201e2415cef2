# bound.awk - how near a product comes to its bound, the least time that is possible (common/results/bound.h), on the
# problem where it comes nearest: in per cent of the time. Options: of, and those of problems.awk.
END {
    for (i = 1; i <= num_problems; i++)
        if (time_of(problems[i], of) && bound_share[problems[i], of] + 0 > most) most = bound_share[problems[i], of] + 0
    if (!most) nothing(of " with a bound (make limits, scripts/rows-to-schema-2)")
    printf "%.0f %%\n", 100 * most
}
