# Labs in 16 bits as a user meets them: a table for each precision, who is compared with whom, and
# matrices at the borders of 16-bit columns.
#
# bats sets $stderr, and runs each test in a process of its own:
# shellcheck disable=SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0

setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    case ${OUT:=build/simt} in
        /*) PROGRAMS=$OUT ;;
        *) PROGRAMS=$ROOT/$OUT ;;
    esac
    [ -x "$PROGRAMS/lab8" ] || skip "$PROGRAMS/lab8 is not built"
    cd "$BATS_TEST_TMPDIR" || return
    ln -s "$PROGRAMS/lab8" "$PROGRAMS/lab20" "$PROGRAMS/lab21" "$PROGRAMS/lab99" .
    unset SPMM_DATA_DIR
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
}

# rows_of OPTIONS...: "lab precision" of each row that a run writes.
rows_of() {
    ./lab8 rand:rows=40,deg=3 5 "$@" --json rows.json >/dev/null
    jq -r '.rows[] | select(.status == "ok" and .lab > 0) | "\(.lab) \(.precision)"' rows.json |
        paste -s -d , -
}

@test "a table for each precision" {
    run --separate-stderr ./lab8 rand:rows=40,deg=3 5 --vs lab2
    [ "$status" -eq 0 ]
    [ "$(grep -c '^contender' <<<"$output")" -eq 3 ]
    [ "$(grep -oE 'N = 5, [a-z0-9]+' <<<"$output" | paste -s -d ' ' -)" = \
        "N = 5, fp32 N = 5, fp16 N = 5, bf16" ]
}

@test "who runs" {
    [ "$(rows_of --vs none)" = "8 fp16,8 bf16" ]
    [ "$(rows_of --vs lab2)" = "2 fp32,8 fp16,8 bf16" ]
    [ "$(rows_of --vs lab2 --precision bf16)" = "8 bf16" ]
    [ "$(rows_of --vs lab2 --precision fp32)" = "2 fp32" ]
    [[ "$(rows_of --precision fp16)" = "8 fp16" ]]
}

@test "every column index at the borders of 15 and 16 bits" {
    for cols in 32767 32768 32769 65535 65536 65537; do
        {
            echo "%%MatrixMarket matrix coordinate pattern general"
            echo "3 $cols 12"
            for row in 1 2 3; do
                echo "$row 1"
                echo "$row $((cols - 2))"
                echo "$row $((cols - 1))"
                echo "$row $cols"
            done
        } >edge.mtx
        ./lab8 edge.mtx 3,8 --vs none
    done
}

@test "what fp16 cannot hold leaves out fp16 alone: 0 as bf16 earns it, 77 where nothing is left" {
    printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 7e4\n2 2 1\n' >large.mtx
    run --separate-stderr -0 ./lab8 large.mtx 4 --vs none
    [[ $stderr == *"N = 4: fp16 is left out: row 0: the value 70000 overflows fp16"* ]]
    [[ $output == *"PASS: 1 of 1 contenders right"* ]]
    ./lab8 large.mtx 4 --vs none --precision bf16
    run --separate-stderr -77 ./lab8 large.mtx 4 --vs none --precision fp16
    [[ $stderr == *"fp16 is left out"* ]]
}

@test "--list and --precision" {
    [[ $(./lab8 --list) == *"sums in fp32; bf16"* ]]
    run --separate-stderr -2 ./lab8 --precision fp8
    [ "$stderr" = "lab8: --precision fp8: choose fp32, fp16 or bf16" ]
}

@test "nothing found by memcheck and racecheck" {
    [ "${BACKEND:-simt}" = simt ] || skip "instruments are of the CPU backend"
    ./lab8 rand:rows=300,deg=9,skew=1.2 24,33 --vs none --memcheck --racecheck
    ./lab8 rand:rows=9,cols=70000,deg=3000 64 --vs none --memcheck --racecheck
}

# Each of 132 blocks has several groups: the next does not overwrite the slots of one.
@test "lab 20: nothing found where slots share a strip and blocks have several groups" {
    [ "${BACKEND:-simt}" = simt ] || skip "instruments are of the CPU backend"
    [ -x lab20 ] || skip "$PROGRAMS/lab20 is not built"
    for ways in 2 4; do
        ./lab20 weights:rows=40000,cols=64,sparsity=0.99 8 --vs none --set WAYS=$ways --precision fp16 --memcheck --racecheck
    done
}

# kernel PRECISION DATASET N: which kernel lab 99's rule takes.
kernel() {
    ./lab99 "$2" "$3" --precision "$1" --check-only --vs none --json rows.json >/dev/null
    jq -r '.rows[0].tuning' rows.json | grep -o '^KERNEL=[a-z_]*'
}

@test "lab 99: fragments for pruned weights in 16 bits where they fit, lab 8 for all others" {
    [ -x lab99 ] || skip "$PROGRAMS/lab99 is not built"
    weights=weights:rows=512,cols=512,sparsity=0.7
    [ "$(kernel fp16 $weights 256)" = KERNEL=row_fragments ]
    [ "$(kernel bf16 $weights 256)" = KERNEL=row_fragments ]
    [ "$(kernel fp16 $weights 33)" = KERNEL=mixed ]
    [ "$(kernel fp16 $weights 64)" = KERNEL=mixed ]
    [ "$(kernel fp16 rand:rows=500,deg=9,skew=1.2 64)" = KERNEL=mixed ]
    if [ "${BACKEND:-simt}" = simt ]; then
        ./lab21 $weights 24,34 --vs none --set PANEL=32,SPLIT=2 --precision fp16 --memcheck --racecheck
    fi
}

@test "labs 9, 23 and 24 leave no sum of 20,000 products in one tensor core" {
    for lab in 9 23 24; do
        [ -x "$PROGRAMS/lab$lab" ] || skip "$PROGRAMS/lab$lab is not built"
        run -0 --separate-stderr "$PROGRAMS/lab$lab" weights:rows=100,cols=40000,sparsity=0.5 33 \
            --precision fp16 --set SPLIT=1 --vs none --check-only
        grep -qE "^lab$lab: .*SPLIT=4" <<<"$output"
    done
}

@test "lab 99: few rows go to tiles, subwarps or bins, by how many, how long and how wide" {
    [ -x lab99 ] || skip "$PROGRAMS/lab99 is not built"
    [ "$(kernel fp32 weights:rows=512,cols=512,sparsity=0.9 256)" = KERNEL=b_tiles ]
    [ "$(kernel fp32 weights:rows=512,cols=512,sparsity=0.9,kind=magnitude,cov=0.6 256)" = KERNEL=b_tiles ]
    [ "$(kernel fp32 weights:rows=512,cols=2048,sparsity=0.9 2048)" = KERNEL=b_tiles ]
    [ "$(kernel fp32 weights:rows=64,cols=256,sparsity=0.9 256)" = KERNEL=subwarp ]
    [ "$(kernel fp32 weights:rows=512,cols=2048,sparsity=0.98,kind=magnitude,cov=0.4 256)" = KERNEL=length_bins ]
    [ "$(kernel fp32 weights:rows=2048,cols=512,sparsity=0.9 256)" = KERNEL=roma ]
    [ "$(kernel fp32 weights:rows=2048,cols=2048,sparsity=0.9 128)" = KERNEL=roma ]
}
