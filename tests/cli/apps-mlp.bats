# apps/mlp as a user meets it: it learns, changes its pattern, finds wrong gradients, writes rows and curves, every exit code.

# bats sets $output, $lines and $stderr:
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0

setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    cd "$ROOT" || return
    OUT=${OUT:-build/simt}
    mlp=$OUT/apps/mlp/mlp
    [ -x "$mlp" ] || skip "$mlp is not built"
    unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
    small="--hidden 32 --batch 16 --samples 128"
    export OMP_WAIT_POLICY=passive # as scripts/run-tests has it
}

# fails STATUS TEXT WORD...: mlp says this one line on stderr, and ends so.
fails() {
    local expected=$1 text=$2
    shift 2
    # shellcheck disable=SC2086
    run --separate-stderr "$mlp" $small "$@"
    echo "status $status, stderr: $stderr"
    [ "$status" -eq "$expected" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == "mlp: "*"$text"* ]]
}

# learns WORD...: the check passes, and the loss falls to less than half of what it was.
learns() {
    # shellcheck disable=SC2086
    run -0 "$mlp" $small --vs none --sparsity 0.8 --steps 60 --rate 1 "$@"
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
    # shellcheck disable=SC2086
    run -0 "$mlp" $small --vs dense --steps 12 --change 4 --csv "$BATS_TEST_TMPDIR/dense.csv"
    # shellcheck disable=SC2086
    run -0 "$mlp" $small --vs split_rows --steps 12 --change 4 --csv "$BATS_TEST_TMPDIR/split.csv"
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
    run -0 "$mlp" --vs none --check-only --hidden 7 --batch 5 --samples 5 --sparsity 0.3
    run -0 "$mlp" --vs dense --check-only --hidden 1 --batch 1 --samples 1 --sparsity 0
    [ "$(grep -c PASS <<<"$output")" -eq 2 ]
    run -0 "$mlp" --vs none --hidden 6 --batch 3 --samples 9 --steps 9 --change 3
    run -0 "$mlp" --vs none --check-only --hidden 33 --batch 33 --samples 40 --sparsity 0.99 --seed 7
}

@test "a curve has a line a step, and is drawn" {
    # shellcheck disable=SC2086
    run -0 "$mlp" $small --vs none --steps 20 --curve "$BATS_TEST_TMPDIR/loss.csv"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/loss.csv")" -eq 21 ]
    command -v gnuplot >/dev/null || skip "gnuplot is not here"
    run -0 apps/mlp/draw "$BATS_TEST_TMPDIR/loss.svg" "one=$BATS_TEST_TMPDIR/loss.csv" "two=$BATS_TEST_TMPDIR/loss.csv"
    grep -q 'two: .* % of the digits held out' "$BATS_TEST_TMPDIR/loss.svg"
    run -2 apps/mlp/draw "$BATS_TEST_TMPDIR/loss.svg"
    run -2 apps/mlp/draw "$BATS_TEST_TMPDIR/loss.svg" "$BATS_TEST_TMPDIR/loss.csv"
    run -3 apps/mlp/draw "$BATS_TEST_TMPDIR/loss.svg" one=/no/such.csv
    run -4 apps/mlp/draw /no/such/loss.svg "one=$BATS_TEST_TMPDIR/loss.csv"
}

@test "without a GPU no time and no vendor is shown" {
    [ "${BACKEND:-simt}" = simt ] || skip "a GPU has both"
    # shellcheck disable=SC2086
    run -0 "$mlp" $small --steps 3
    [[ $output == *"n/a (simt)"*"cuSPARSE "*"n/a (no GPU)"* ]]
    [[ $output != *" ms each"* && $output != *"parts of"* ]]
}

# build_wrong FILE SCRIPT: the program with that file edited by sed, from the objects of the build under test.
build_wrong() {
    local file=$1 script=$2
    [ "${BACKEND:-simt}" = simt ] || skip "one backend is enough"
    mkdir -p "$BATS_TEST_TMPDIR/build/simt"
    cp -rp Makefile config.mk mk scripts common labs apps "$BATS_TEST_TMPDIR"
    cp -rp "$OUT"/{common,labs,apps,generated,settings} "$BATS_TEST_TMPDIR/build/simt"
    cp -rp datasets "$BATS_TEST_TMPDIR"
    cd "$BATS_TEST_TMPDIR" || return
    sed -i "$script" "$file"
    run ! cmp -s "$file" "$ROOT/$file"
    until [ "$file" -nt "$mlp" ]; do touch "$file"; done
    make -s BACKEND=simt build/simt/apps/mlp/mlp >log 2>&1 || { cat log; return 1; }
    mlp=build/simt/apps/mlp/mlp
}

@test "1: the check finds a tanh that the backward pass forgot" {
    build_wrong apps/mlp/kernels.cu 's/dY\[i\] \*= 1 - Y\[i\] \* Y\[i\]/dY[i] *= 1/'
    fails 1 "wrong gradient: W of layer 1" --vs none --steps 3
    fails 1 "times its bound" --vs none --check-only
    [[ $output == *"FAIL"* ]]
}

@test "1: the check finds a softmax whose gradient lacks the label" {
    build_wrong apps/mlp/kernels.cu 's/(c == label\[n\] ? 1 : 0)/0/'
    fails 1 "wrong gradient: " --vs none --steps 3
}

@test "1: a loss that does not fall" {
    fails 1 "the loss did not fall" --vs none --steps 3 --rate 1e6
}

@test "2: what is no command line" {
    fails 2 "unknown option --hide; did you mean --hidden?" --hide 3
    fails 2 "unknown option -x" -x
    fails 2 "what is 'arxiv'?" arxiv
    fails 2 "--hidden must be a whole number from 1 to 65536; got '0'" --hidden 0
    fails 2 "--sparsity must be a number from 0 to 0.999; got '1'" --sparsity=1
    fails 2 "--steps needs a value" --steps
    fails 2 "--check-only takes no value" --check-only=1
    fails 2 "--grow must be one of gradient, random; got 'wide'" --grow wide
    fails 2 "--samples 8 are fewer than --batch 16" --samples 8
    fails 2 "--vs cuSPARSE FAST: no such kernel" --vs "cuSPARSE FAST"
    echo text >"$BATS_TEST_TMPDIR/notes.csv"
    fails 2 "holds no rows of this suite" --csv "$BATS_TEST_TMPDIR/notes.csv"
    [ "$(cat "$BATS_TEST_TMPDIR/notes.csv")" = text ]
}

@test "4: files that cannot be written" {
    fails 4 "/no/such/folder/rows.csv" --csv /no/such/folder/rows.csv
    fails 4 "/no/such/folder/loss.csv" --curve /no/such/folder/loss.csv
}

@test "--help names every option" {
    run -0 "$mlp" --help
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
