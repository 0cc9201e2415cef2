# Layouts of blocks on the command line: files, choices of the problem, and what is refused.

# bats sets $output and $lines:
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0

setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    cd "$ROOT" || return
    programs=${OUT:-build/simt}
    for lab in 50 51 52 54 55; do
        if [ ! -x "$programs/lab$lab" ]; then skip "lab $lab is not built"; fi
    done
}

# multiply LAB LAYOUT [OPTION...]: a small product, checked alone.
multiply() {
    local lab=$1 layout=$2
    shift 2
    "$programs/lab$lab" "$layout" 9 --check-only --vs none "$@"
}

@test "a layout file says how large its blocks are, whatever BLOCK is" {
    printf '2 3 16\n101\n011\n' >"$BATS_TEST_TMPDIR/a.blocks"
    run -0 multiply 50 "$BATS_TEST_TMPDIR/a.blocks" --set BLOCK=8,PASS=bprop
    [[ $output = *"bsmm, N = 9, BLOCK=16 PASS=bprop GATES=0, fp32"* ]]
    [[ $output = *"right in all 288 elements"* ]]
    run -0 multiply 50 rand:rows=4,deg=2 --set BLOCK=8
    [[ $output = *"BLOCK=8 PASS=fprop"* ]]
}

@test "rows name the choices of an update" {
    run -0 multiply 51 blocks:in=64,block=16,density=0.5 --set PAIRS=3,GATES=stop,ALPHA=-0.5,BETA=1 --csv -
    [[ $output = *"PAIRS=3;GATES=stop;ALPHA=-0.5;BETA=1"* ]]
}

@test "a run of block importance has a number for every block, and one more for each that exists" {
    run -0 multiply 55 blocks:in=128,out=64,block=16,density=0.5 --set PAIRS=2,NORM=l2,SCALE=0.5,BETA=1 --csv -
    [[ $output = *"PAIRS=2;NORM=l2;SCALE=0.5;BETA=1"* ]]
    run -0 multiply 55 blocks:in=128,out=64,block=16,density=0.5 --precision bf16 --set SCALE=0
    [[ $output = *"right in all 48 elements"* ]]
}

@test "2: choices that there are not" {
    run -2 multiply 50 blocks:in=64,density=1 --set BLOCK=12
    [ "$output" = "lab50: --set BLOCK=12: choose one of 8, 16, 32, 64" ]
    run -2 multiply 51 blocks:in=64,density=1 --set PAIRS=9
    [ "$output" = "lab51: --set PAIRS=9: choose one of 1, 2, 3, 4, 5, 6, 7, 8" ]
    run -2 multiply 55 blocks:in=64,density=1 --set NORM=l1
    [ "$output" = "lab55: --set NORM=l1: choose one of max, l2" ]
    run -2 multiply 50 blocks:in=64,density=1 --set SUM=fast
    [ "$output" = "lab50: --set SUM=fast: choose one of parts, locks, atomics, uncut" ]
}

@test "3: files and recipes that are no layout, and gates that are no number" {
    printf '2 2 32\n10\n12\n' >"$BATS_TEST_TMPDIR/b.blocks"
    run -3 multiply 50 "$BATS_TEST_TMPDIR/b.blocks"
    [ "$output" = "lab50: $BATS_TEST_TMPDIR/b.blocks:3: column 2: expected 0 or 1, found '2'" ]
    printf '2 2 12\n10\n11\n' >"$BATS_TEST_TMPDIR/c.blocks"
    run -3 multiply 50 "$BATS_TEST_TMPDIR/c.blocks"
    [ "$output" = "lab50: $BATS_TEST_TMPDIR/c.blocks:1: blocks have a side of 8, 16, 32 or 64, not 12" ]
    run -3 multiply 50 blocks:in=100
    [ "$output" = "lab50: blocks: in=100: not a multiple of block=32; try 96 or 128" ]
    printf '%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 nan\n' >"$BATS_TEST_TMPDIR/d.mtx"
    run -3 multiply 50 "$BATS_TEST_TMPDIR/d.mtx" --set GATES=1
    [[ $output = "lab50: "*"row 0"* ]]
}

@test "77: blocks of 8 are too small for tensor cores" {
    run -77 multiply 52 blocks:in=64,block=8,density=1 --precision fp16
    [[ $output = *"an mma is 16 deep: blocks of 16 at least"* ]]
    run -77 multiply 54 blocks:in=64,block=8,density=1 --precision fp16
    [[ $output = *"an mma is 16 wide: blocks of 16 at least"* ]]
}
