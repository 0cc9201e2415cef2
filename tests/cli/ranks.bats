# Several devices as a user meets them: --devices, launches of processes, and how both end when a rank is lost. On the CPU
# backend, which has as many devices as SIMT_DEVICES says, and whose NCCL fails on demand.
#
# bats sets $stderr:
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0

GRAPH=rand:rows=300,deg=9,skew=1

setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    cd "$ROOT" || return
    programs=${OUT:-build/simt}
    [ "${BACKEND:-simt}" = simt ] || skip "faults on demand are those of the CPU backend"
    [ -x "$programs/lab71" ] || skip "$programs/lab71 is not built"
    export SIMT_DEVICES=3 OMP_WAIT_POLICY=passive EXCHANGE_TIMEOUT=20
    unset EXCHANGE_FILE EXCHANGE_RANK EXCHANGE_RANKS SIMT_NCCL_FAULT
}

# refused STATUS TEXT COMMAND...: it ends so, with one line that has the text.
refused() {
    local wanted=$1 text=$2
    shift 2
    run "-$wanted" --separate-stderr "$@"
    [[ $stderr == *"$text"* ]] || { echo "$stderr"; false; }
    [ "$(wc -l <<<"$stderr")" -eq 1 ]
}

# launch RANKS COMMAND...: a process a rank; what each says is in out.0, err.0 ..., and $ends has their status.
launch() {
    local ranks=$1 r pids=()
    shift
    ends=
    for ((r = 0; r < ranks; r++)); do
        EXCHANGE_FILE=$BATS_TEST_TMPDIR/meet EXCHANGE_RANK=$r EXCHANGE_RANKS=$ranks timeout 60 "$@" \
            >"$BATS_TEST_TMPDIR/out.$r" 2>"$BATS_TEST_TMPDIR/err.$r" &
        pids+=($!)
    done
    for r in "${pids[@]}"; do
        wait "$r" && ends+="0 " || ends+="$? "
    done
}

@test "--devices: threads with a device each give right results, in rows that say so" {
    for setting in ROWS=all ROWS=named,WIRE=fp16,CHUNKS=2; do
        run -0 "$programs/lab71" "$GRAPH" 33 --vs none --devices 3 --set "$setting" --csv "$BATS_TEST_TMPDIR/rows.csv"
        [[ $output == *"lab71: RANKS=3 CHUNKS="* && $output == *"PASS: 1 of 1"* ]]
    done
    grep -q 'devices=3;ROWS=named;WIRE=fp16;CHUNKS=2' "$BATS_TEST_TMPDIR/rows.csv"
    run -0 "$programs/lab71" "$GRAPH" 33 --vs lab70 --devices 2
    [[ $output == *"lab70: RANKS=2 B=gathered"* ]]
    run -0 "$programs/lab71" "$GRAPH" 33 --vs lab70 --devices 2 --set B=replicated
}

@test "--devices: what cannot be is one line" {
    refused 2 'this machine has 3 devices; ranks share one without it (--set RANKS=4)' \
        "$programs/lab71" "$GRAPH" 8 --devices 4
    refused 2 '--devices 0: expected 1 to 64' "$programs/lab71" "$GRAPH" 8 --devices 0
    refused 2 'the instruments look at one device' "$programs/lab71" "$GRAPH" 8 --devices 2 --racecheck
    [ ! -x "$programs/lab3" ] || refused 2 'no lab of this program' "$programs/lab3" "$GRAPH" 8 --devices 2
    EXCHANGE_FILE=/tmp/none refused 2 'no launcher says which rank' "$programs/lab71" "$GRAPH" 8
    EXCHANGE_FILE=/tmp/none EXCHANGE_RANK=0 EXCHANGE_RANKS=3 refused 2 'the launch has 3 ranks' \
        "$programs/lab71" "$GRAPH" 8 --devices 2
    EXCHANGE_FILE=/tmp/none EXCHANGE_RANK=0 EXCHANGE_RANKS=65 refused 2 'the launch has 65 ranks; there may be 64' \
        "$programs/lab71" "$GRAPH" 8
}

@test "threads: a rank that fails or hangs ends all of them with status 4 and a line" {
    SIMT_NCCL_FAULT=error:1:3 refused 4 'rank 1 of 3 has an error of NCCL' \
        "$programs/lab71" "$GRAPH" 8 --vs none --devices 3
    SIMT_NCCL_FAULT=async:2:2 refused 4 'rank 2 of 3 has an error of NCCL: remote process' \
        "$programs/lab71" "$GRAPH" 8 --vs none --devices 3
    SIMT_NCCL_FAULT=miss:0:1 EXCHANGE_TIMEOUT=1 refused 4 'of 3' \
        "$programs/lab71" "$GRAPH" 8 --vs none --devices 3 --set CHUNKS=1
}

@test "processes of a launch: one prints, all end alike; the file of the meeting is gone" {
    launch 3 "$programs/lab71" "$GRAPH" 8 --vs lab70
    [ "$ends" = "0 0 0 " ]
    grep -q 'PASS: 1 of 1' "$BATS_TEST_TMPDIR/out.0"
    [ ! -s "$BATS_TEST_TMPDIR/out.1" ] && [ ! -s "$BATS_TEST_TMPDIR/err.1" ] && [ ! -e "$BATS_TEST_TMPDIR/meet" ]
}

@test "processes of a launch: one dies, and the others end with status 4 and a line each" {
    export EXCHANGE_TIMEOUT=10 # all must meet within it, on a busy machine, too
    SIMT_NCCL_FAULT=exit:1:3 launch 3 "$programs/lab71" "$GRAPH" 8 --vs none
    [ "$ends" = "4 9 4 " ]
    for r in 0 2; do
        [ "$(wc -l <"$BATS_TEST_TMPDIR/err.$r")" -eq 1 ]
        grep -q "rank $r of 3 waited 10 s for another rank" "$BATS_TEST_TMPDIR/err.$r"
    done
    : >"$BATS_TEST_TMPDIR/meet" # of an earlier launch: rank 0 says so
    launch 2 "$programs/lab71" "$GRAPH" 8 --vs none
    grep -q 'give each launch the name of a new file' "$BATS_TEST_TMPDIR/err.0"
    [[ $ends == "4 4 " ]]
}
