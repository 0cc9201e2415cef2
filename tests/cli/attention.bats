# Choices of the problem (operation.knobs): --set HEADS, MODE and BIAS of attention, and the widths of softmax.

# bats sets $output and $lines:
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0

setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    cd "$ROOT" || return
    programs=${OUT:-build/simt}
    if [ ! -x "$programs/lab35" ] || [ ! -x "$programs/lab34" ]; then skip "labs 34 and 35 are not built"; fi
}

# attend KNOBS: runs attention on a small matrix.
attend() {
    "$programs/lab35" rand:rows=30,deg=3 7 --check-only --vs none --precision fp32 --set "$1"
}

@test "a run of lab 35 is attention, with the choices in its heading and the memory that it takes" {
    run -0 attend HEADS=5,MODE=gatv2,BIAS=1
    [[ $output = *"attention, d = 7, HEADS=5 MODE=gatv2 BIAS=1, fp32"* ]]
    [[ $output = *WORKSPACE=* ]]
    # Pattern and scores of five heads: 151 offsets, and a column and a score for each of 450 nonzeros.
    [[ $output = *WORKSPACE=$((4 * 151 + 8 * 450))* ]]
}

@test "rows name the choices" {
    run -0 "$programs/lab35" rand:rows=30,deg=3 7 --check-only --vs none --set HEADS=2,MODE=gat --csv -
    [[ ${lines[1]} = *"HEADS=2;MODE=gat"* ]]
}

@test "instruments find nothing hidden where there is nothing to read" {
    if [ ! -x "$programs/traced/lab35" ]; then skip "the traced lab 35 is not built"; fi
    run -0 "$programs/lab35" rand:rows=10,deg=0 7 --counters --vs none --precision fp32 --set MODE=gatv2
    [[ $output = *"PASS: "* ]]
}

@test "2: heads, modes and widths that there are not" {
    run -2 attend HEADS=9
    [ "$output" = "lab35: --set HEADS=9: choose one of 1, 2, 3, 4, 5, 6, 7, 8" ]
    run -2 attend MODE=fast
    [ "$output" = "lab35: --set MODE=fast: choose one of dot, gat, gatv2, weighted" ]
    run -2 "$programs/lab35" rand:rows=30,deg=3 0
    run -2 "$programs/lab34" rand:rows=30,deg=3 9
    [ "$output" = "lab34: H must be a whole number from 1 to 8, or several as in 1,2; got '9'" ]
}

@test "5: more than the memory" {
    run -5 "$programs/lab35" rand:rows=3000000,deg=3 65536 --set HEADS=8 --check-only --vs none --precision fp32
    [[ $output = *"try a smaller d or fewer HEADS" ]]
}

@test "--list and --help name the choices" {
    run -0 "$programs/lab35" --list
    [[ $output = *"MODE = dot gat gatv2 weighted"* ]]
    run -0 "$programs/lab35" --help
    [[ $output = *"--set HEADS=8"* ]]
}
