# apps/rnn as a user meets it: all cells learn, wrong gradients are found, rows, every exit code.

# bats sets $output, $lines and $stderr:
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0

load apps

setup() {
    open_app rnn
    lstm=weights:rows=80,cols=20,sparsity=0.7
}

@test "every cell has a right gradient and learns, with dense products as with sparse ones" {
    for gates in 1 3 4; do
        run -0 "$app" "weights:rows=$((gates * 20)),cols=20,sparsity=0.7" --batch 6 --time 4 --steps 8 --vs dense --csv "$BATS_TEST_TMPDIR/rows.csv"
        [ "$(grep -c PASS <<<"$output")" -eq 2 ]
        awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            { gsub(/"[^"]*"/, "-") }
            $at["status"] != "ok" || $at["of_bound"] > 0.5 || !($at["last_loss"] < $at["first_loss"]) { bad = 1 }
            { loss[NR] = $at["last_loss"] }
            END { d = loss[2] - loss[3]; exit bad || NR != 3 || d * d > 1e-8 }' "$BATS_TEST_TMPDIR/rows.csv"
        # The rows that the tables are tested with have these columns.
        head -n 1 "$BATS_TEST_TMPDIR/rows.csv" | diff - <(head -n 1 tests/cli/golden/apps-rnn.csv)
    done
}

@test "sizes of any number have a right gradient" {
    run -0 "$app" weights:rows=21,cols=7,sparsity=0.5 --batch 5 --time 3 --check-only --vs split_rows
    [ "$(grep -c PASS <<<"$output")" -eq 2 ]
    run -0 "$app" weights:rows=7,cols=7,sparsity=0 --batch 1 --time 2 --check-only --vs none
    run -0 "$app" weights:rows=44,cols=11,sparsity=0.6 --batch 33 --time 7 --check-only --vs none --seed 9
}

@test "without a GPU no time and no vendor is shown" {
    [ "${BACKEND:-simt}" = simt ] || skip "a GPU has both"
    run -0 "$app" "$lstm" --batch 4 --steps 2
    [[ $output == *"lstm of 20 units"*"n/a (simt)"*"cuSPARSE "*"n/a (no GPU)"* ]]
    [[ $output != *"parts of"* ]]
}

@test "1: the check finds time steps whose gradients are not summed" {
    build_wrong network.c 's/P, s.h, t < last, error/P, s.h, false, error/'
    fails 1 "wrong gradient: W" "$lstm" --batch 4 --vs none --steps 3
}

@test "1: the check finds a state that no gradient passes" {
    build_wrong cell.cu 's/dc\[at\] = by_c \* f/dc[at] = 0/'
    fails 1 "wrong gradient: W" "$lstm" --batch 4 --vs none --check-only
    [[ $output == *"FAIL"* ]]
}

@test "1: a loss that does not fall" {
    fails 1 "the loss did not fall" "$lstm" --batch 4 --vs none --steps 3 --rate 1e6
}

@test "2, 3, 4: what is no command line, no cell, no file" {
    fails 2 "unknown option --tim; did you mean --time?" --tim 3
    fails 2 "--time must be a whole number from 2 to 64; got '65'" --time 65
    fails 2 "one dataset at a time: 'ddi'" arxiv ddi
    fails 2 "--vs cuSPARSE FAST: no such kernel" --vs "cuSPARSE FAST"
    fails 3 "40 x 20 is no cell" weights:rows=40,cols=20
    fails 3 "did you mean" rnn.gru-1024-0.75
    printf '%%%%MatrixMarket matrix coordinate pattern general\n2 2 3\n1 1\n2 2\n2 2\n' >"$BATS_TEST_TMPDIR/twice.mtx"
    fails 3 "row 1 has a column twice" "$BATS_TEST_TMPDIR/twice.mtx"
    fails 4 "/no/such/folder/rows.csv" --csv /no/such/folder/rows.csv
}

@test "--help names every option" {
    run -0 "$app" --help
    for option in batch time steps rate seed vs runs check-only csv data-dir device; do
        grep -q -e "^  --$option " <<<"$output"
    done
}

@test "the page's commands run as written" {
    [ "${BACKEND:-simt}" = simt ] || skip "they are those of the CPU backend"
    awk '/^```/ { c = $0 == "```sh"; next } c && !/^make/' apps/rnn/README.md | sed "s,^\./lab60,$app," >"$BATS_TEST_TMPDIR/commands"
    [ "$(grep -c . "$BATS_TEST_TMPDIR/commands")" -ge 3 ]
    bash -e "$BATS_TEST_TMPDIR/commands"
}
