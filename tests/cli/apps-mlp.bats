# apps/mlp as a user meets it: it learns, changes its pattern, finds wrong gradients, writes rows and curves, every exit code.

# bats sets $output, $lines and $stderr:
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0

load apps

setup() {
    open_app mlp
    small=(--hidden 32 --batch 16 --samples 128)
}

# learns WORD...: the check passes, and the loss falls to less than half of what it was.
learns() {
    run -0 "$app" "${small[@]}" --vs none --sparsity 0.8 --steps 60 --rate 1 "$@"
    echo "$output"
    grep -q '^suite  *PASS' <<<"$output"
    awk '$4 == "%" && $1 == 0 { first = $2 } $4 == "%" { last = $2 } END { exit !(last < first / 2) }' <<<"$output"
}

@test "it learns digits" { learns; }
@test "it learns while its pattern changes by gradients" {
    learns --change 10
    [[ $output == *"4 changes of the pattern"* ]]
}
@test "it learns while its pattern changes at random" { learns --change 15 --grow random --share 0.1; }

@test "dense products and another SpMM compute the same, also after changes" {
    run -0 "$app" "${small[@]}" --vs dense --steps 12 --change 4 --csv "$BATS_TEST_TMPDIR/dense.csv"
    run -0 "$app" "${small[@]}" --vs split_rows --steps 12 --change 4 --csv "$BATS_TEST_TMPDIR/split.csv"
    [[ $output == *"split_rows, transposed_spmm"* ]]
    # A GPU fills in times.
    awk -F, -v times="$([ "${BACKEND:-simt}" = simt ] || echo 1)" 'FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { gsub(/"[^"]*"/, "-") }
        $at["status"] != "ok" || $at["of_bound"] > 0.5 || $at["changes"] != 2 || ($at["step_ms"] != "") != times + 0 || ($at["plans_ms"] != "") != times + 0 { bad = 1 }
        !rows++ { loss = $at["last_loss"] }
        { d = loss - $at["last_loss"]; if (d * d > 1e-6) bad = 1 }
        END { exit bad || rows != 4 }' "$BATS_TEST_TMPDIR/dense.csv" "$BATS_TEST_TMPDIR/split.csv"
}

@test "sizes of any number have a right gradient" {
    run -0 "$app" --vs none --check-only --hidden 7 --batch 5 --samples 5 --sparsity 0.3
    run -0 "$app" --vs dense --check-only --hidden 1 --batch 1 --samples 1 --sparsity 0
    [ "$(grep -c PASS <<<"$output")" -eq 2 ]
    run -0 "$app" --vs none --hidden 6 --batch 3 --samples 9 --steps 9 --change 3
    run -0 "$app" --vs none --check-only --hidden 33 --batch 33 --samples 40 --sparsity 0.99 --seed 7
}

@test "a curve has a line a step, and is drawn" {
    run -0 "$app" "${small[@]}" --vs none --steps 20 --curve "$BATS_TEST_TMPDIR/loss.csv"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/loss.csv")" -eq 21 ]
    command -v gnuplot >/dev/null || skip "gnuplot is not here"
    run -0 common/training/draw-loss "$BATS_TEST_TMPDIR/loss.svg" "one=$BATS_TEST_TMPDIR/loss.csv" "two=$BATS_TEST_TMPDIR/loss.csv"
    grep -q 'two: .* % of the digits held out' "$BATS_TEST_TMPDIR/loss.svg"
    run -2 common/training/draw-loss "$BATS_TEST_TMPDIR/loss.svg"
    run -2 common/training/draw-loss "$BATS_TEST_TMPDIR/loss.svg" "$BATS_TEST_TMPDIR/loss.csv"
    run -3 common/training/draw-loss "$BATS_TEST_TMPDIR/loss.svg" one=/no/such.csv
    run -4 common/training/draw-loss /no/such/loss.svg "one=$BATS_TEST_TMPDIR/loss.csv"
}

@test "without a GPU no time and no vendor is shown" {
    [ "${BACKEND:-simt}" = simt ] || skip "a GPU has both"
    run -0 "$app" "${small[@]}" --steps 3
    [[ $output == *"n/a (simt)"*"cuSPARSE "*"n/a (no GPU)"* ]]
    [[ $output != *" ms each"* && $output != *"parts of"* ]]
}

@test "1: the check finds a tanh that the backward pass forgot" {
    build_wrong ../../common/training/activations.cu 's/dY\[i\] \*= 1 - Y\[i\] \* Y\[i\]/dY[i] *= 1/'
    fails 1 "wrong gradient: W of layer 1" "${small[@]}" --vs none --steps 3
    fails 1 "times its bound" "${small[@]}" --vs none --check-only
    [[ $output == *"FAIL"* ]]
}

@test "1: the check finds a softmax whose gradient lacks the label" {
    build_wrong ../../common/training/activations.cu 's/(c == label\[n\] ? 1 : 0)/0/'
    fails 1 "wrong gradient: " "${small[@]}" --vs none --steps 3
}

@test "1: a loss that does not fall" {
    fails 1 "the loss did not fall" "${small[@]}" --vs none --steps 3 --rate 1e6
}

@test "2: what is no command line" {
    fails 2 "unknown option --hide; did you mean --hidden?" "${small[@]}" --hide 3
    fails 2 "unknown option -x" "${small[@]}" -x
    fails 2 "what is 'arxiv'?" "${small[@]}" arxiv
    fails 2 "--hidden must be a whole number from 1 to 65536; got '0'" "${small[@]}" --hidden 0
    fails 2 "--sparsity must be a number from 0 to 0.999; got '1'" "${small[@]}" --sparsity=1
    fails 2 "--steps needs a value" "${small[@]}" --steps
    fails 2 "--check-only takes no value" "${small[@]}" --check-only=1
    fails 2 "--grow must be one of gradient, random; got 'wide'" "${small[@]}" --grow wide
    fails 2 "--samples 8 are fewer than --batch 16" "${small[@]}" --samples 8
    fails 2 "--vs cuSPARSE FAST: no such kernel" "${small[@]}" --vs "cuSPARSE FAST"
    echo text >"$BATS_TEST_TMPDIR/notes.csv"
    fails 2 "holds no rows of this suite" "${small[@]}" --csv "$BATS_TEST_TMPDIR/notes.csv"
    [ "$(cat "$BATS_TEST_TMPDIR/notes.csv")" = text ]
}

@test "4: files that cannot be written" {
    fails 4 "/no/such/folder/rows.csv" "${small[@]}" --csv /no/such/folder/rows.csv
    fails 4 "/no/such/folder/loss.csv" "${small[@]}" --curve /no/such/folder/loss.csv
}

@test "--help names every option" {
    run -0 "$app" --help
    for option in hidden batch sparsity samples steps rate change share grow curve seed vs runs check-only csv device; do
        grep -q -e "^  --$option " <<<"$output"
    done
}

@test "the page's commands run as written" {
    [ "${BACKEND:-simt}" = simt ] || skip "they are those of the CPU backend"
    [ "$OUT" = build/simt ] || skip "the page names build/simt"
    awk '/^```/ { c = $0 == "```sh"; next } c && !/^make/' apps/mlp/README.md >"$BATS_TEST_TMPDIR/commands"
    [ "$(grep -c . "$BATS_TEST_TMPDIR/commands")" -ge 3 ]
    bash -e "$BATS_TEST_TMPDIR/commands"
}
