# crossover.awk - the least sparsity from which on `of` is ahead of `over` on every problem, in per cent.
END {
    for (i = 1; i <= num_problems; i++) {
        key = problems[i]
        if (!time_of(key, of) || !time_of(key, over)) continue
        sparsity[++seen] = 100 * (1 - density[key])
        if (time_of(key, of) >= time_of(key, over) && sparsity[seen] > behind) behind = sparsity[seen]
    }
    if (!seen) nothing(of " beside " over)
    for (i = 1; i <= seen; i++)
        if (sparsity[i] > behind && (from_here == "" || sparsity[i] < from_here)) from_here = sparsity[i]
    print from_here == "" ? "nowhere" : sprintf("%.0f %%", from_here)
}
