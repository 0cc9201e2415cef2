# The instruments as a user meets them: counters, estimates and checks of the CPU backend, their
# tables, rows and errors; and the scripts that ask NVIDIA's tools for the same, with stand-ins for
# these.
#
# bats sets $stderr, and runs each test in a process of its own:
# shellcheck disable=SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0

TINY=rand:rows=40,deg=6,skew=1

setup_file() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    case ${OUT:=build/simt} in
        /*) PROGRAMS=$OUT ;;
        *) PROGRAMS=$ROOT/$OUT ;;
    esac
    export ROOT PROGRAMS BACKEND=${BACKEND:-simt}
    export SPMM_REGISTRY=$BATS_FILE_TMPDIR/datasets/registry.tsv
    mkdir "$BATS_FILE_TMPDIR/datasets"
    cp -r "$ROOT"/datasets/{registry.tsv,samples,standins} "$BATS_FILE_TMPDIR/datasets"
}

setup() {
    [ -x "$PROGRAMS/lab3" ] || skip "$PROGRAMS/lab3 is not built"
    fake=$BATS_TEST_TMPDIR/fake
    mkdir "$BATS_TEST_TMPDIR/work" "$fake"
    cd "$BATS_TEST_TMPDIR/work" || return
    ln -s "$PROGRAMS"/lab[1-5] .
    ln -s "$PROGRAMS/traced/tests/cli/faulty" faulty
    export XDG_CACHE_HOME=$BATS_FILE_TMPDIR/cache
    unset SPMM_DATA_DIR NO_COLOR FAULT MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
}

simt_only() {
    [ "$BACKEND" = simt ] || skip "the instruments are those of the CPU backend"
}

# looks STATUS COMMAND...: it ends so, and says on standard error what looking cost, nothing else.
looks() {
    local expected=$1
    shift
    run --separate-stderr "$@"
    echo "status $status, stderr: $stderr"
    [ "$status" -eq "$expected" ]
    [[ $stderr =~ ^lab[0-9]+": traced in "[0-9.]+" s on this machine (the cost of looking, not a time of any kernel)"$ ]]
}

# fails STATUS TEXT COMMAND...: one line on standard error that holds TEXT, nothing on standard output.
fails() {
    local expected=$1 text=$2
    shift 2
    run --separate-stderr "$@"
    echo "status $status, stdout: $output, stderr: $stderr"
    [ "$status" -eq "$expected" ]
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == *"$text"* ]]
}

# ---- counters ------------------------------------------------------------------------------------

@test "--counters: a block a lab, line by line, and what differs" {
    simt_only
    looks 0 ./lab3 "$TINY" 32 --counters
    [[ $output == *"; counted on the CPU backend, modelled: NVIDIA H200"* ]]
    [[ $output == *"  cache model: "* ]]
    [ "$(grep -c '^-- lab[123] ' <<<"$output")" -eq 3 ]
    [ "$(grep -c '^lab[123] .* PASS ' <<<"$output")" -eq 3 ]
    [[ $output == *"  spmm_warp_per_row_kernel: grid 10, block 128"* ]]
    [[ $output == *"labs/02_warp_per_row/lab.cu"$'\n'* ]]
    [[ $output == *"step by step"* ]]
    [[ ${lines[-1]} == "PASS: 3 of 3 contenders right in all 1280 elements" ]]
    [[ $output == *"    imbalance       longest warp "*" x the mean), longest block "* ]]
    [[ $output != *estimate* && $output != *"n/a (simt)"* ]]
    [[ $output != *" "$'\n'* ]]
    [ "$(awk '{ if (length > n) n = length } END { print n }' <<<"$output")" -le 100 ]
}

@test "the source stands beside its counters" {
    simt_only
    looks 0 ./lab2 "$TINY" 32 --counters --vs none
    local number
    number=$(grep -n 'C\[(size_t)row \* N + j\] = sum;' "$ROOT/labs/02_warp_per_row/lab.cu" | cut -d : -f 1)
    [[ $output == *"$number  C[(size_t)row * N + j] = sum;"* ]]
    [[ $output == *"          store 4 B "* ]]
}

@test "counters in CSV and JSON: the columns of every row, and the kernels" {
    simt_only
    looks 0 ./lab5 "$TINY" 32 --counters --csv rows.csv --json rows.json
    [ "$(jq -r .schema rows.json)" = 2 ]
    # As the rows of a run without instruments, but for what is nested.
    ./lab5 "$TINY" 32 --csv plain.csv
    [ "$(head -n 1 rows.csv)" = "$(head -n 1 plain.csv)" ]
    [ "schema,$(jq -r '.rows[0] | del(.kernels) | keys_unsorted | join(",")' rows.json)" = \
        "$(head -n 1 rows.csv)" ]
    [ "$(jq -r '.rows[] | .model' rows.json | sort -u)" = "NVIDIA H200" ]
    [ "$(jq -r '.rows[] | .flags' rows.json | sort -u)" = counters ]
    # A column is the sum over the kernels of run.
    [ "$(jq '[.rows[] | .ld_sectors == ([.kernels[] | select(.phase == "run") |
        .counters.global_load.sectors] | add)] | all' rows.json)" = true ]
    # A kernel is the sum of its lines.
    [ "$(jq '[.rows[].kernels[] | .counters.global_load.requests == ([.lines[] |
        select(.kind == "global_load") | .requests] | add)] | all' rows.json)" = true ]
    # lab 2: each of 40 rows is stored by one request of 32 lanes, 4 sectors.
    [ "$(jq -c '.rows[] | select(.lab == 2) | [.st_requests, .st_sectors, .st_bytes]' rows.json)" = \
        '[40,160,5120]' ]
    [ "$(jq '[.rows[] | .median_ms, .predicted_ms, .num_findings] | map(select(. != null)) |
        length' rows.json)" -eq 0 ]
}

@test "the same input gives the same counters, whatever the number of threads" {
    simt_only
    OMP_NUM_THREADS=1 SIMT_THREADS=1 ./lab5 "$TINY" 40 --counters --json one.json
    OMP_NUM_THREADS=2 SIMT_THREADS=2 ./lab5 "$TINY" 40 --counters --json two.json
    cmp one.json two.json
}

@test "a sweep, several widths, a set of matrices" {
    simt_only
    looks 0 ./lab4 "$TINY" 32,64 --counters --sweep --vs none --set D=1 --json rows.json
    [ "$(jq -c '[.rows[] | [.N, .tuning] ] | length' rows.json)" -gt 2 ]
    [ "$(jq '[.rows[] | .ld_requests > 0] | all' rows.json)" = true ]
}

@test "a wrong result has no counters" {
    simt_only
    FAULT=wrong looks 1 ./faulty "$TINY" 5 --counters --json rows.json
    [[ $output == *"-- lab1 plain --"* && $output != *"-- lab2 faulty --"* ]]
    [[ $output == *"FAIL: 1 of 2 "* ]]
    [ "$(jq -c '.rows[] | [.status, .model, (.ld_requests | type), (.kernels | type)]' rows.json)" = \
        $'["ok","NVIDIA H200","number","array"]\n["wrong","","null","null"]' ]
}

@test "rows on standard output are alone there" {
    simt_only
    looks 0 ./lab1 "$TINY" --counters --json -
    [ "$(jq '.rows | length' <<<"$output")" -eq 1 ]
}

# ---- estimates -----------------------------------------------------------------------------------

@test "--predict says that it is an estimate, and is in no column of times" {
    simt_only
    looks 0 ./lab2 "$TINY" --predict --json rows.json
    [[ $output == *"estimate, not a measurement: "*"NVIDIA H200"* ]]
    [ "$(jq '[.rows[] | .predicted_ms > 0 and .predicted_limit != ""] | all' rows.json)" = true ]
    [ "$(jq -r '.rows[].prediction.is' rows.json | sort -u)" = "an estimate, not a measurement" ]
    [ "$(jq '[.rows[] | .median_ms, .prepare_ms, .gflops, .bound_ms, .speedup_lab_before] |
        map(select(. != null)) | length' rows.json)" -eq 0 ]
}

# ---- samples -------------------------------------------------------------------------------------

@test "--sample: nothing is checked, and nothing passes" {
    simt_only
    looks 0 ./lab3 "$TINY" --counters --sample 0.5 --json rows.json
    [[ $output == *"  a SAMPLE of 50 % of the blocks was run: results are not checked"* ]]
    [[ $output != *PASS* ]]
    [[ ${lines[-1]} == "SAMPLE: 3 of 3 contenders traced in part, no result checked" ]]
    [ "$(jq -c '[.rows[] | [.status, .sampled, .worst_error]] | unique' rows.json)" = \
        '[["sample",0.5,null]]' ]
}

# ---- checks --------------------------------------------------------------------------------------

@test "--memcheck --racecheck find nothing in the labs" {
    simt_only
    looks 0 ./lab5 "$TINY" 33 --memcheck --racecheck --json rows.json
    [[ $output == *"; checked on the CPU backend"* ]]
    [[ $output == *$'\nmemcheck, racecheck: nothing found'* ]]
    [[ ${lines[-1]} == "PASS: 5 of 5 contenders right in all 1320 elements" ]]
    [ "$(jq -c '[.rows[] | [.num_findings, .findings, .model, .kernels]] | unique' rows.json)" = \
        '[[0,[],"",null]]' ]
}

# Warps run one after the other here, so a missing barrier may leave the plan right. Rows of 2100 nonzeros have a
# block each; 65 segments of a row take more than one warp to count, and a single one is copied by other code.
@test "--racecheck finds nothing where a block prepares long rows" {
    simt_only
    for blocks in 64 0; do
        looks 0 "$PROGRAMS/lab13" weights:rows=34,cols=4200,sparsity=0.5 1 --set "BLOCKS=$blocks" \
            --vs none --racecheck
        [[ $output == *$'\nracecheck: nothing found'* ]]
    done
}

@test "--memcheck finds every block's importance written, of those that do not exist, too" {
    simt_only
    looks 0 "$PROGRAMS/lab55" blocks:in=128,out=64,block=16,density=0.5 9 --set SCALE=0 --vs none --memcheck
    [[ $output == *"right in all 48 elements"* && $output == *"memcheck: nothing found"* ]]
}

@test "a finding fails a contender whose result is right" {
    simt_only
    FAULT=outside looks 1 ./faulty "$TINY" 5 --memcheck --json rows.json
    [[ $output == *"out of bounds in spmm_outside_kernel, block (0,0,0), thread (0,0,0)"* ]]
    [[ $output == *"B[200]"* ]]
    [[ $output == *"    at   "*"tests/cli/faulty.cu:"*"if (B[behind + threadIdx.x] == 1) C[0] = 1;"* ]]
    [[ $output == *"    think of: "* ]]
    [[ $output == *"lab2 faulty: 1 finding: out of bounds at "*"tests/cli/faulty.cu:"* ]]
    [[ $output == *"memcheck: 1 finding"$'\n'"FAIL: 1 of 2 "* ]]
    [ "$(jq -c '.rows[] | [.status, .num_findings]' rows.json)" = $'["ok",0]\n["wrong",1]' ]
    [ "$(jq -r '.rows[1].findings[0] | .kind, .kernel' rows.json)" = \
        $'out of bounds\nspmm_outside_kernel' ]
    FAULT=outside looks 0 ./faulty "$TINY" 5 --racecheck
}

@test "a race names both lines" {
    simt_only
    FAULT=race looks 1 ./faulty "$TINY" 5 --racecheck
    [[ $output == *"race in spmm_race_kernel, "* ]]
    [[ $output == *"    at   "*"tests/cli/faulty.cu:"*"    and  "*"tests/cli/faulty.cu:"* ]]
    [[ $output == *"__syncthreads()"* ]]
}

@test "an access that ends the launch is one finding, no failure of the device" {
    simt_only
    FAULT=far-outside run --separate-stderr -1 ./faulty "$TINY" 5,6 --memcheck --json rows.json
    [ "$(jq -c '[.rows[] | [.N, .lab, .status, .num_findings]]' rows.json)" = \
        '[[5,1,"ok",0],[5,2,"wrong",1],[6,1,"ok",0],[6,2,"wrong",1]]' ]
    [[ $output == *"lab2 faulty: 1 finding: "*"tests/cli/faulty.cu:"* ]]
}

@test "accesses that the instruments do not see are a finding, whatever is hidden" {
    simt_only
    local which says
    while read -r which says; do
        for option in --memcheck --racecheck --counters; do
            FAULT=unseen-$which looks 1 ./faulty rand:rows=40,deg=6 5 $option --json rows.json
            [[ $output == *"lab2 faulty: 1 finding: hidden accesses at "*"tests/cli/faulty.cu:"* ]]
            [[ $output == *" bytes of $says"* ]]
            [[ $output == *"hidden accesses in spmm_unseen_kernel"$'\n'* ]]
            [ "$(jq -c '.rows[] | .status' rows.json | tr '\n' ' ')" = '"ok" "wrong" ' ]
        done
    done <<'END'
C C were seen to be written, of 800 right ones
filled C were seen to be written, of 
B B were seen to be read, where a right result takes 
values A.values were seen to be read, where a right result takes 960
columns A.col_idx were seen to be read, where a right result takes 960
END
}

# ---- errors --------------------------------------------------------------------------------------

@test "options that need each other, or exclude each other" {
    fails 2 "--tune is about times, and --counters, --predict, --memcheck, --racecheck and --trace take none" \
        ./lab4 --counters --tune
    fails 2 "--bench-only is about times" ./lab4 --memcheck --bench-only
    fails 2 "--runs is about times" ./lab4 --predict --runs 5
    fails 2 "--cold is about times" ./lab4 --cold --racecheck
    fails 2 "--model needs --counters or --predict" ./lab3 --model h200
    fails 2 "--sample needs --counters, --predict, --memcheck, --racecheck or --trace" ./lab3 --sample 0.5
    fails 2 "--sample 2: expected a share above 0, up to 1, as in 0.1" ./lab3 --counters --sample 2
}

@test "a model that does not exist" {
    simt_only
    fails 2 "--model h20: " ./lab3 "$TINY" --counters --model h20
    [[ $stderr == "lab3: "*"; choose one of h200, a100, v100, rtx4090" ]]
}

@test "without its twin a program says how to build it" {
    simt_only
    [[ $OUT != /* ]] || skip "with an absolute BUILD its place is known"
    mkdir project project/datasets
    cp "$ROOT/datasets/registry.tsv" project/datasets
    cp "$PROGRAMS/lab1" project
    run --separate-stderr -4 project/lab1 "$TINY" --counters
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == "lab1: "*"/traced/lab1: not here, and it is what counts and checks; build it: make lab1 BACKEND=simt" ]]
}

@test "a twin that is older than its program is not believed" {
    simt_only
    mkdir -p programs/traced
    cp "$PROGRAMS/lab1" programs
    cp "$PROGRAMS/traced/lab1" programs/traced
    looks 0 programs/lab1 "$TINY" --counters
    touch -d yesterday programs/traced/lab1
    fails 4 "programs/traced/lab1: older than " programs/lab1 "$TINY" --counters
    [[ $stderr == *"; build it anew: make lab1 BACKEND=simt" ]]
}

@test "on a GPU the options say what to use there" {
    [ "$BACKEND" = cuda ] || skip "the programs are built for the CPU"
    fails 77 "make lab3 BACKEND=simt; on a GPU, make ncu LAB=3 and make sanitize LAB=3" \
        ./lab3 "$TINY" --counters
}

# ---- colour --------------------------------------------------------------------------------------

@test "colour on a terminal only" {
    simt_only
    script -qefc true /dev/null </dev/null >/dev/null 2>&1 || skip "script(1) makes no terminal here"
    local escape=$'\033'
    [[ $(script -qefc "./lab1 $TINY --counters" /dev/null </dev/null) == *"${escape}[1m"* ]]
    [[ $(NO_COLOR=1 script -qefc "./lab1 $TINY --counters" /dev/null </dev/null) != *"${escape}[1m"* ]]
    [[ $(./lab1 "$TINY" --counters) != *"$escape"* ]]
}

# ---- NVIDIA's tools ------------------------------------------------------------------------------

# tool NAME: a command in $fake that runs the script on standard input.
tool() {
    { echo '#!/bin/sh'; cat; } >"$fake/$1"
    chmod +x "$fake/$1"
}

# gpu_lab [CACHE]: a program that says it is built for cuda, and, if asked for cells, that L2 is warm or cold.
gpu_lab() {
    mkdir -p gpu
    cat >gpu/lab3 <<END
#!/bin/sh
case \$* in
*--cells) echo "spmm,lab3,${1:-warm},\$1" ;;
*) echo "lab3, commit 1, backend cuda"; echo "device: NVIDIA Fake 1" ;;
esac
END
    chmod +x gpu/lab3
}

@test "ncu and compute-sanitizer ask for a lab, and for a GPU" {
    fails 2 "which lab? (make ncu LAB=3" "$ROOT/scripts/ncu-lab"
    fails 2 "which lab? (make sanitize LAB=3)" "$ROOT/scripts/sanitize-lab"
    simt_only
    fails 77 "is built for the CPU, whose own counters need no ncu: ./lab3 --counters" \
        "$ROOT/scripts/ncu-lab" "$PROGRAMS/lab3"
    fails 77 "whose own checks need no compute-sanitizer: ./lab3 --memcheck --racecheck" \
        "$ROOT/scripts/sanitize-lab" "$PROGRAMS/lab3"
}

@test "ncu: the report is printed, and what it lacks the permission for explained" {
    gpu_lab
    tool ncu <<'END'
case $* in
*--import\ *) echo "the details" ;;
*) while [ "$1" != --export ]; do shift; done; : >"$2" ;;
esac
END
    PATH=$fake:$PATH run -0 "$ROOT/scripts/ncu-lab" "$PWD/gpu/lab3" arxiv 32
    [[ $output == "the details"*"ncu-lab3.ncu-rep"* ]]
    tool ncu <<<'echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"; exit 1'
    PATH=$fake:$PATH run --separate-stderr -4 "$ROOT/scripts/ncu-lab" "$PWD/gpu/lab3" arxiv 32
    [ -z "$output" ]
    [[ $(tr '\n' ' ' <<<"$stderr") == *NVreg_RestrictProfilingToAdminUsers=0*"On a cluster"*"./lab3 arxiv 32 --counters"* ]]
}

@test "compute-sanitizer: what each of four tools found" {
    gpu_lab
    tool compute-sanitizer <<<'echo "========= ERROR SUMMARY: 0 errors"'
    PATH=$fake:$PATH run -0 "$ROOT/scripts/sanitize-lab" "$PWD/gpu/lab3"
    [ "${#lines[@]}" -eq 4 ]
    [[ ${lines[1]} == "racecheck  nothing found (0 errors)" ]]
    tool compute-sanitizer <<'END'
[ "$2" = memcheck ] || { echo "========= RACECHECK SUMMARY: 0 hazards displayed"; exit 0; }
echo "========= Invalid __global__ read of size 4 bytes"
echo "========= ERROR SUMMARY: 7 errors"
exit 86
END
    PATH=$fake:$PATH run -1 "$ROOT/scripts/sanitize-lab" "$PWD/gpu/lab3"
    [[ $output == "memcheck   7 errors; the first:"$'\n'"========= Invalid __global__ read"* ]]
    tool compute-sanitizer <<<'echo "========= ERROR SUMMARY: 0 errors"; exit 1'
    PATH=$fake:$PATH run -1 "$ROOT/scripts/sanitize-lab" "$PWD/gpu/lab3"
    [[ ${lines[0]} == "memcheck   nothing found, but the result is wrong (./lab3 says how)" ]]
    tool compute-sanitizer <<<'echo "Error: no device"; exit 1'
    PATH=$fake:$PATH run -4 "$ROOT/scripts/sanitize-lab" "$PWD/gpu/lab3"
    [[ $output == *"memcheck   could not run (status 1):"* ]]
}

@test "check-gpu: jobs side by side, each failure with its last lines" {
    fails 2 "usage: scripts/check-gpu PROGRAMS LAB..." "$ROOT/scripts/check-gpu" "$PWD/nowhere" 3
    fails 2 "usage: scripts/check-gpu PROGRAMS LAB..." "$ROOT/scripts/check-gpu" "$PROGRAMS"
    [ "$("$ROOT/scripts/check-gpu" --tests 20 22 | grep -c unit/)" -eq 2 ]
    simt_only
    fails 77 "is built for the CPU (make test checks that)" "$ROOT/scripts/check-gpu" "$PROGRAMS" 3
    gpu_lab
    tool compute-sanitizer <<<'echo "========= ERROR SUMMARY: 0 errors"'
    mkdir -p gpu/tests/kernels
    # shellcheck disable=SC2016
    printf '%s\n' '#!/bin/sh' 'echo "ok 1 - $*"' 'case $* in *2/2) echo "not ok 2 - of two"; exit 1 ;; esac' >gpu/tests/kernels/matrix
    chmod +x gpu/tests/kernels/matrix
    PATH=$fake:$PATH JOBS=2 run -1 "$ROOT/scripts/check-gpu" "$PWD/gpu" 3
    [[ $output == *"ok: matrix 3 1/2"* && $output == *"ok: racecheck of lab3"* ]]
    [[ $output == *"FAILED: matrix 3 2/2"$'\n'"not ok 2 - of two"* ]]
    [ "${lines[-1]}" = "5 passed, 1 failed" ]
    PATH=$fake:$PATH JOBS=1 run -0 "$ROOT/scripts/check-gpu" "$PWD/gpu" 3
    [ "${lines[-1]}" = "5 passed, 0 failed" ]
    # A job that is killed stops xargs: what did not run has not passed.
    tool xargs <<<'head -n 1 >/dev/null; echo "ok: matrix 3 1/1"; exit 125'
    PATH=$fake:$PATH JOBS=1 run -1 "$ROOT/scripts/check-gpu" "$PWD/gpu" 3
    [ "${lines[-2]}" = "4 did not end" ]
    [ "${lines[-1]}" = "1 passed, 0 failed" ]
}

# Prints ncu's lines for two kernels, among those of the program; with $1 as the load requests.
ncu_prints() {
    cat <<END
echo "==PROF== Connected to process 1"
while [ ! -x "\$1" ] || [ "\${1##*/}" != lab2 ]; do shift; done
"\$@"
cat <<'RAW'
"ID","Kernel Name","Block Size","l1tex__t_requests_pipe_lsu_mem_global_op_st.sum","l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum","gpu__time_duration.sum"
"","","","","","nsecond"
"0","spmm_row_per_thread_kernel(int, const int *)","(128, 1, 1)","64","1,280","0"
"1","void spmm_warp_per_row_kernel<3>(int)","(128, 1, 1)","$1","160","0"
RAW
END
}

# Means of shares, rates and sums are kept; least, most and sum of a share, what launch__ has, and cycles are not.
@test "make resources looks at the lab's program" {
    run -0 make -s -n -C "$ROOT" BACKEND=simt resources LAB=2 ARGS="arxiv 32"
    [[ $output = *"scripts/ncu-resources 'build/simt/lab2' "* ]]
}

@test "how full resources are, of the kernels that are asked for" {
    simt_only
    fails 2 "usage: scripts/ncu-resources PROGRAM KERNEL DATASET N" "$ROOT/scripts/ncu-resources" ./lab2 warp arxiv
    fails 77 "is built for the CPU" "$ROOT/scripts/ncu-resources" "$PROGRAMS/lab2" warp "$TINY" 32
    gpu_lab
    tool ncu <<END
echo "\$*" >"$PWD/asked"
while [ "\$1" != --csv ] || [ "\${2##*/}" = rows.csv ]; do shift; done
shift 2
"$PROGRAMS/lab2" "\$@"
cat <<'RAW'
"ID","Kernel Name","launch__waves.sum","dram__cycles_active.avg.pct_of_peak_sustained_elapsed","dram__cycles_active.max.pct_of_peak_sustained_elapsed","dram__cycles_active.min.pct_of_peak_sustained_elapsed","dram__cycles_active.sum.pct_of_peak_sustained_elapsed","lts__t_sector_hit_rate.pct","gpu__time_duration.sum","sm__cycles_elapsed.max","sm__warps_active.avg.pct_of_peak_sustained_active","sm__warps_active.max.pct_of_peak_sustained_active"
"","","","%","%","%","%","%","nsecond","cycle","%","%"
"0","void spmm_warp_per_row_kernel<3>(int)","2","87.25","88","86","87.25","41.5","1,280","7","50","51"
RAW
END
    PATH=$fake:$PATH run --separate-stderr -0 "$ROOT/scripts/ncu-resources" "$PWD/gpu/lab3" warp "$TINY" 32
    [ "${lines[0]}" = dataset,origin,N,kernel,metric,value,device,driver,toolkit,commit ]
    [[ ${lines[1]} == *",32,spmm_warp_per_row_kernel<3>,dram__cycles_active.avg.pct_of_peak_sustained_elapsed,87.25,"* ]]
    [ "$(printf '%s\n' "${lines[@]:1}" | grep -oE '[a-z0-9]+__[a-z_.]+,[0-9.]+' | tr '\n' ' ')" = \
        "dram__cycles_active.avg.pct_of_peak_sustained_elapsed,87.25 lts__t_sector_hit_rate.pct,41.5 \
gpu__time_duration.sum,1280 sm__warps_active.avg.pct_of_peak_sustained_active,50 " ]
    [[ $(<asked) == *"--clock-control none --cache-control none"*"::regex:warp:3"*"$TINY 32 --vs none --bench-only"* ]]
    gpu_lab cold
    PATH=$fake:$PATH HEADER=0 run --separate-stderr -0 "$ROOT/scripts/ncu-resources" "$PWD/gpu/lab3" warp "$TINY" 32
    [ "${#lines[@]}" -eq 4 ]
    [[ $(<asked) == *"--cache-control all"* ]] # as the times are measured
    tool ncu <<<'echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"; exit 1'
    PATH=$fake:$PATH run --separate-stderr -4 "$ROOT/scripts/ncu-resources" "$PWD/gpu/lab3" warp "$TINY" 32
    [[ $stderr == *"make ncu LAB=1"* ]]
}

# Rows of an H200. Sectors of memory's chips and what L2 takes in are memory, too, and what is written back of L1 is its
# data pipe: each once. The most of a resource over the units of a GPU does not count.
@test "what bounds a kernel, in words" {
    local rows=$ROOT/tests/cli/golden/resources.csv
    run --separate-stderr -0 "$ROOT/scripts/rows" resources "$rows"
    diff - <(printf '%s\n' "${lines[@]}") <<'END'
NVIDIA H200, driver 580.159.04, CUDA 13.0, commit `47d5a4c6d19f`. One launch of the kernel, as ncu has it:
| matrix | N | kernel | us | the fullest of all resources | the fullest of instructions | memory, GB/s | hits in L2 | in L1 | warps |
|---|---:|---|---:|---|---|---:|---:|---:|---:|
| protein (stand-in) | 32 | `gather<8, 4, 1, 1>` | 113.6 | L2 to the crossbar 85 %; L1/shared memory's data pipe (wavefronts) 62 %; L2's lookups 61 % | load and store instructions 31 % | 838 | 87 % | 17 % | 70 % |
| llm.28672x8192-random-0.5 (stand-in) | 32 | `lane_major<4, 0, __half>` | 82.9 | memory 70 %; L1/shared memory's data pipe (wavefronts) 69 %; L2's data 53 % | issue slots 43 % | 3360 | 17 % | 15 % | 14 % |
END
    # A metric without words here has its name; one that was not measured is no 0.
    sed -n '1p; /,dram__bytes/p; s/,dram__cycles_active\.avg[^,]*,[^,]*/,sm__new.avg.pct_of_peak_sustained_elapsed,99/p' "$rows" >new.csv
    run --separate-stderr -0 "$ROOT/scripts/rows" resources new.csv
    [[ ${lines[3]} == *"| - | sm__new 99 % | sm__new 99 % | - | - | - | - |" ]]

    sed '$s/H200/H100/' "$rows" >two.csv
    fails 3 "rows resources: rows of NVIDIA H200, driver 580.159.04, CUDA 13.0 and of NVIDIA H100" \
        "$ROOT/scripts/rows" resources two.csv
    fails 3 "no rows of ncu; make resources measures them" "$ROOT/scripts/rows" resources "$ROOT/tests/cli/golden/report.csv"
    fails 3 "none.csv: no such rows; make resources measures them" "$ROOT/scripts/rows" resources none.csv
}

# A GPU's lab99 and lab20, which know two graphs and matrices of language models, and an ncu to which a case is
# one metric, slow or a failure.
@test "the report's cases one by one: what fails is said, what is there is kept" {
    simt_only
    fails 77 "measure-resources: no GPU" "$ROOT/scripts/measure-resources" "$PROGRAMS" out.csv
    mkdir -p gpu
    cat >gpu/lab99 <<'END'
#!/bin/sh
case $* in
--version) printf 'lab99, commit 1, backend cuda\nfolder: fake\n' ;;
"set:graphs 32,256 "*--cells) printf '%s\n' dataset,N,spec a,32,a a,256,a b,32,b b,256,b ;;
llm.*" 8,16,32 "*--cells) printf '%s\n' N,spec "8,$1" "16,$1" "32,$1" ;;
esac
END
    chmod +x gpu/lab99
    cp gpu/lab99 gpu/lab20
    tool ncu <<END
while [ "\${1##*/}" != lab99 ] && [ "\${1##*/}" != lab20 ]; do shift; done
echo "\$*" >>"$PWD/asked"
case \$FAIL,\$2,\$3 in
slow,b,32) touch "$PWD/asleep" && exec sleep 30 ;;
dead,b,32) echo "==ERROR== no such kernel"; exit 1 ;;
esac
name=spmm_gather_kernel
[ "\${1##*/}" = lab99 ] || name=spmm_lane_major_kernel
dataset=\$2 N=\$3
while [ \$# -gt 1 ]; do shift; done
printf 'dataset,origin,N,device,driver,toolkit,commit\n%s,real,%s,GPU,1,2,c\n' "\$dataset" "\$N" >"\$1"
printf '"ID","Kernel Name","gpu__time_duration.sum"\n"","","ns"\n"0","void %s<1, 2>(int)","1,000"\n' "\$name"
END
    export PATH=$fake:$PATH
    # A timeout(1) whose time is over when ncu sleeps, and not before, however busy the machine is.
    cat >"$fake/timeout" <<END
#!/bin/sh
shift 3
setsid "\$@" &
while kill -0 \$! 2>/dev/null; do
    [ ! -e "$PWD/asleep" ] || { rm "$PWD/asleep"; kill -- -\$!; exit 124; }
    sleep 0.05
done
wait \$!
END
    chmod +x "$fake/timeout"
    FAIL=slow LIMIT=1 ONLY=lab99 run --separate-stderr -4 "$ROOT/scripts/measure-resources" gpu out.csv
    rm "$fake/timeout"
    echo "$stderr"
    [[ $stderr == *"measure-resources: lab99 b N=32: no rows: stopped after 1 s"* ]]
    [[ $stderr == *"3 cases measured, 0 kept, 1 without rows: out.csv" ]]
    FAIL=dead ONLY=lab99 run --separate-stderr -4 "$ROOT/scripts/measure-resources" gpu out.csv
    [[ $stderr == *"lab99 b N=32: no rows: status 4: ==ERROR== no such kernel"* ]]
    [[ $stderr == *"0 cases measured, 3 kept (commit c), 1 without rows: out.csv" ]]
    sed -i '2s/c$/b/' out.csv
    run --separate-stderr -0 "$ROOT/scripts/measure-resources" gpu out.csv
    [[ $stderr == *"10 cases measured, 3 kept (commit b, c), 0 without rows: out.csv" ]]
    sed -i '2s/b$/c/' out.csv
    [ "$(cut -d, -f 1,3 out.csv | tr '\n' ' ')" = "dataset,N a,32 a,256 b,256 b,32 \
$(printf 'llm.%s,8 llm.%s,16 llm.%s,32 ' 28672x8192-random-0.{5,5,5} 28672x8192-random-0.{7,7,7} 8192x8192-random-0.{6,6,6})" ]
    [ ! -e out.csv.new ]
    ONLY=lab3 fails 2 "no case has lab3 in it" "$ROOT/scripts/measure-resources" gpu out.csv
    grep -q -- "gpu/lab20 llm.8192x8192-random-0.6 16 --precision fp16 --vs none --bench-only" asked
    grep -q -- "gpu/lab99 a 256 --precision fp32 --vs none --bench-only" asked
    run --separate-stderr -0 "$ROOT/scripts/measure-resources" gpu # in the folder of the GPU
    [ "$(sort report/results/fake/resources.csv)" = "$(sort out.csv)" ]
    run --separate-stderr -0 "$ROOT/scripts/rows" resources out.csv
    [ "${#lines[@]}" -eq 16 ]
}

@test "counters of ncu as tidy lines, beside the CPU's" {
    simt_only
    ncu_prints 40 | tool ncu
    PATH=$fake:$PATH WIDTHS=32 run --separate-stderr -0 "$ROOT/scripts/ncu-counters" ./lab2 "$TINY"
    echo "$output" >ncu.csv
    [ "${lines[0]}" = dataset,origin,N,kernel,metric,value,device,driver,toolkit,commit ]
    [ "${#lines[@]}" -eq 7 ]
    [[ ${lines[2]} == \"$TINY\",generated,32,spmm_row_per_thread_kernel,l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum,1280,*,*,*,* ]]
    [[ ${lines[4]} == *,"spmm_warp_per_row_kernel<3>",l1tex__t_requests*,40,* ]]

    run --separate-stderr -0 "$ROOT/scripts/compare-counters" ncu.csv ./lab2 json
    echo "$output, $stderr"
    [[ $output == *,32,2,"spmm_warp_per_row_kernel<3>",st_requests,40,40,0.0000,0.02,within,* ]]
    [[ $stderr == *" of "*" values within their tolerance"* ]]

    # Requests to shared memory get no verdict.
    sed "\$p; \$s/,spmm.*/,spmm_shared_tiles_kernel,smsp__inst_executed_op_shared_ld.sum,9999,G,D,T,C/" \
        ncu.csv >with-shared.csv
    run --separate-stderr -0 "$ROOT/scripts/compare-counters" with-shared.csv ./lab3
    [[ $output == *,32,3,spmm_shared_tiles_kernel,shared_ld_requests,9999,*,,information,* ]]

    sed -i 's/,40,/,50,/' ncu.csv
    run --separate-stderr -1 "$ROOT/scripts/compare-counters" ncu.csv ./lab2 json
    [[ $stderr != *"counting"* ]] # the CPU's half is kept
    [[ $output == *,st_requests,50,40,-0.2000,0.02,outside,* ]]
    [[ $stderr == *"  outside: $TINY N=32 lab2 spmm_warp_per_row_kernel<3> st_requests: ncu 50, CPU 40 (-20.0 %)"* ]]
}

@test "estimates of measured rows, beside the times" {
    simt_only
    cat >measured.csv <<END
lab,contender,dataset,origin,nnz,max_row,N,device,commit,flags,tuning,l2,median_ms,status
0,vendor,"$TINY",generated,240,100,32,NVIDIA H200,c1,,,warm,0.1,ok
1,row_per_thread,"$TINY",generated,240,100,32,NVIDIA H200,c1,,,warm,9,ok
2,warp_per_row,"$TINY",generated,240,100,32,NVIDIA H200,c1,,,warm,0.01,ok
2,warp_per_row,"$TINY",generated,240,100,32,NVIDIA H200,c1,,,cold,7,ok
2,warp_per_row,"$TINY",real,240,100,32,NVIDIA H200,c1,,,warm,5,ok
END
    run --separate-stderr -0 "$ROOT/scripts/predict-rows" measured.csv ./lab2 rows
    [[ $stderr == "predict-rows: $TINY N=32, tracing all of the blocks" ]]
    echo "$output" >counted.csv
    [ "${#lines[@]}" -eq 3 ]
    run --separate-stderr -0 "$ROOT/scripts/predict-rows" measured.csv ./lab2 rows
    [ -z "$stderr" ] # they are kept
    [ "$output" = "$(cat counted.csv)" ]

    run --separate-stderr -0 "$ROOT/scripts/rows" predictions counted.csv measured.csv
    echo "$output"
    [ "${#lines[@]}" -eq 3 ]
    [[ ${lines[1]} == "\"$TINY\",generated,32,1,row_per_thread,1,"*,9,*",NVIDIA H200,"*,c1 ]]
    [ "$stderr" = \
        "rows predictions: 1 measured rows without an estimate of the same data and tuning" ]
    run --separate-stderr -0 "$ROOT/scripts/rows" predictions summary=1 counted.csv measured.csv
    [[ ${lines[2]} == "| all 2 rows | 1 | 100.0 % |" ]]
    [[ $output == *"rank correlation over all rows: 1.000."*"0 of 2 estimates are of a sample"* ]]

    # A hub decides: in full, though there is more than the budget.
    BUDGET=0.0001 run --separate-stderr -0 "$ROOT/scripts/predict-rows" measured.csv ./lab2 rows
    [ -z "$stderr" ]
    sed -i 's/,240,100,/,24000,5,/' measured.csv
    BUDGET=0.01 run --separate-stderr -0 "$ROOT/scripts/predict-rows" measured.csv ./lab2 rows
    [[ $stderr == *"tracing the share 0.417 of the blocks" ]]
    sed -i 's/skew=1/skew=x/' measured.csv
    run --separate-stderr -4 "$ROOT/scripts/predict-rows" measured.csv ./lab2 rows
    [ -z "$output" ]
    [[ $stderr == *"predict-rows: some runs failed: see rows/*.log"* ]]
}

@test "without ncu" {
    command -v ncu >/dev/null && skip "it is here"
    [ ! -e /usr/local/cuda/bin/ncu ] || skip "it is here"
    fails 77 "ncu is not here" env CUDA_HOME=/nowhere "$ROOT/scripts/cuda-tool" ncu
}
