# machine.awk - what the machine can do, as ./limits measured it.

function rate(bytes, span) { return (bytes, span) in gather ? sprintf("%.1f TB/s", gather[bytes, span] / 1000) : "-" }

END {
    if (!("copy_gbs" in limit)) nothing("make limits")
    print "| limit | measured |\n|---|---:|"
    printf "| copy in memory, bytes read and written | %.2f TB/s |\n", limit["copy_gbs"] / 1000
    printf "| multiply-adds in fp32 | %.1f TFLOP/s |\n", limit["fp32_gflops"] / 1000
    printf "| empty kernel between two events | %.1f us |\n", limit["launch_us"]
    n = split("4 32 48 64 128 512 2048", mib, " ")
    for (i = 1; i <= n; i++)
        printf "| random rows of 128 and 512 bytes out of %d MiB | %s, %s |\n", mib[i],
            rate(128, mib[i] * 1048576), rate(512, mib[i] * 1048576)
    print "\n<small>" limits_device "; measured by make limits, which writes no commit; rows of limits.tsv</small>"
}
