# time.awk - a time in us. Options: of, only and N so that they leave one problem.
END {
    if (num_problems != 1 || !time_of(problems[1], of)) nothing(of " on " only " at N = " N)
    print us(time_of(problems[1], of))
}
