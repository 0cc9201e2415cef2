# bench-plan.awk - the jobs of a plan: awk -f bench-plan.awk report/plans/quick
#
# A line of a plan is a job, that of a comment begins with #:
#
#     FILE.csv SECONDS labK DATASET N,... [OPTION...]
#
# Rows go to FILE.csv in the folder of the GPU: OPERATION.csv or OPERATION-PURPOSE.csv, by the operation of the rows.
# SECONDS is an estimate of what the job takes; the rest is the command line. Prints the line's number, file, seconds, program and the words behind it, between tabs;
# with -v only=EXPRESSION of those lines alone in which it is found.
function refuse(what) { print "bench: " FILENAME what > "/dev/stderr"; failed = 1; exit 2 }

/^[ \t]*(#|$)/ { next }
NF < 5 || $1 !~ /^[A-Za-z0-9._-]+\.csv$/ || $2 !~ /^[0-9]+(\.[0-9]+)?$/ || $3 !~ /^lab[0-9]+$/ ||
    $5 !~ /^[0-9]+(,[0-9]+)*$/ {
    refuse(":" FNR ": expected FILE.csv SECONDS labK DATASET N,... [OPTION...]")
}
only != "" && $0 !~ only { next }
{
    words = $4
    for (i = 5; i <= NF; i++) words = words " " $i
    print FNR "\t" $1 "\t" $2 "\t" $3 "\t" words
    jobs++
}
END { if (!failed && !jobs) refuse(only == "" ? ": no jobs" : ": no job with \"" only "\" in it") }
