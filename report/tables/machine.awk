# machine.awk - what the machine can do, as ./limits measured it.

function terabytes(name) { return name in limit ? sprintf("%.2f TB/s", limit[name] / 1000) : "not measured" }
function teraflops(name) { return name in limit ? sprintf("%.1f TFLOP/s", limit[name] / 1000) : "not measured" }
function rate(bytes, span) { return (bytes, span) in gather ? sprintf("%.1f TB/s", gather[bytes, span] / 1000) : "-" }

END {
    if (!("copy_gbs" in limit)) nothing("make limits")
    print "| limit | measured |\n|---|---:|"
    printf "| copy in memory, bytes read and written | %s |\n", terabytes("copy_gbs")
    printf "| reading memory | %s |\n", terabytes("read_gbs")
    printf "| reading L2 | %s |\n", terabytes("l2_read_gbs")
    printf "| multiply-adds in fp32 | %s |\n", teraflops("fp32_gflops")
    printf "| tensor cores, tf32 | %s |\n", teraflops("tf32_gflops")
    printf "| tensor cores, fp16 | %s |\n", teraflops("fp16_gflops")
    printf "| tensor cores, bf16 | %s |\n", teraflops("bf16_gflops")
    printf "| empty kernel between two events | %.1f us |\n", limit["launch_us"]
    n = split("4 32 48 64 128 512 2048", mib, " ")
    for (i = 1; i <= n; i++)
        printf "| random rows of 128 and 512 bytes out of %d MiB | %s, %s |\n", mib[i],
            rate(128, mib[i] * 1048576), rate(512, mib[i] * 1048576)
    print "\n<small>" limits_device "; measured by make limits, which writes no commit; rows of limits.tsv</small>"
}
