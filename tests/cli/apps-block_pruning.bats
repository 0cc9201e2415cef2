# apps/block_pruning as a user meets it: it learns while blocks go and grow, finds wrong gradients, writes rows and curves,
# every exit code.

# bats sets $output, $lines and $stderr:
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0

load apps

setup() {
    open_app block_pruning
    small=(--hidden 64 --block 8 --batch 16 --samples 256)
}

# learns WORD...: both checks pass, the loss falls to less than half of what it was, and the density to what was asked.
learns() {
    run -0 "$app" "${small[@]}" --density 0.25 --steps 100 --change 10 "$@"
    echo "$output"
    [ "$(grep -c '^gradient .*: PASS' <<<"$output")" -eq 2 ]
    [[ $output == *"7 changes of the layouts"*"density 25.0 % in the end"* ]]
    awk '$4 == "%" && $1 == 0 { first = $2 } $4 == "%" { last = $2 } END { exit !(last < first / 2) }' <<<"$output"
}

@test "it learns while blocks of least norm go and those of greatest importance grow" { learns; }
@test "it learns while blocks grow at random" { learns --grow random --norm max; }

@test "a layout that stays" {
    run -0 "$app" "${small[@]}" --start 0.3 --density 0.3 --change 0 --steps 20
    [[ $output == *"0 changes of the layouts; density 29."* || $output == *"0 changes of the layouts; density 30."* ]]
}

@test "sizes of any number have a right gradient" {
    run -0 "$app" --check-only --hidden 64 --block 64 --batch 5 --samples 5
    run -0 "$app" --check-only --hidden 96 --block 32 --batch 33 --samples 40 --start 0.1 --density 0.1 --seed 7
    run -0 "$app" --check-only --hidden 16 --block 16 --batch 1 --samples 1
    run -0 "$app" --hidden 24 --block 8 --batch 7 --samples 21 --steps 60 --change 7 --density 0.3
}

@test "a curve has loss and density of each step, and is drawn; rows have both ends" {
    run -0 "$app" "${small[@]}" --steps 20 --change 5 --curve "$BATS_TEST_TMPDIR/loss.csv" --csv "$BATS_TEST_TMPDIR/row.csv"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/loss.csv")" -eq 21 ]
    awk -F, 'NR == 2 && $3 != 1 || NR > 2 && $3 > last { bad = 1 } { last = $3 } END { exit bad || last > 0.11 }' "$BATS_TEST_TMPDIR/loss.csv"
    # A GPU fills in times.
    awk -F, -v times="$([ "${BACKEND:-simt}" = simt ] || echo 1)" 'FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { exit !($at["status"] == "ok" && $at["changes"] == 3 && $at["of_bound"] < 0.5 && $at["last_loss"] < $at["first_loss"] && ($at["step_ms"] != "") == times + 0 && ($at["measure_ms"] != "") == times + 0) }' "$BATS_TEST_TMPDIR/row.csv"
    command -v gnuplot >/dev/null || skip "gnuplot is not here"
    run -0 common/training/draw-loss "$BATS_TEST_TMPDIR/loss.svg" "one=$BATS_TEST_TMPDIR/loss.csv"
    grep -q 'density, % of the blocks' "$BATS_TEST_TMPDIR/loss.svg"
}

@test "without a GPU no time is shown" {
    [ "${BACKEND:-simt}" = simt ] || skip "a GPU has times"
    run -0 "$app" "${small[@]}" --steps 8 --change 3
    [[ $output != *" ms"* ]]
}

@test "1: the check finds a gradient that was not sent back through tanh" {
    build_wrong network.c 's/TRY_CUDA(tanh_backward(.*$/(void)tanh_backward;/'
    fails 1 "wrong gradient: " "${small[@]}" --steps 3
    fails 1 "times its bound" "${small[@]}" --check-only
    [[ $output == *"FAIL"* ]]
}

@test "1: a loss that does not fall" {
    fails 1 "the loss did not fall" "${small[@]}" --steps 3 --rate 1e6
}

@test "2: what is no command line" {
    fails 2 "unknown option --hide; did you mean --hidden?" "${small[@]}" --hide 3
    fails 2 "--block 12: choose one of 8, 16, 32, 64" --block 12
    fails 2 "--hidden 100 is not a multiple of --block 32" --hidden 100
    fails 2 "--density 0.5 is above --start 0.3" --start 0.3 --density 0.5
    fails 2 "--samples 8 are fewer than --batch 16" "${small[@]}" --samples 8
    fails 2 "--grow must be one of importance, random; got 'wide'" "${small[@]}" --grow wide
    fails 2 "--norm must be one of max, l2; got 'l1'" "${small[@]}" --norm l1
    echo text >"$BATS_TEST_TMPDIR/notes.csv"
    fails 2 "holds no rows of this suite" "${small[@]}" --csv "$BATS_TEST_TMPDIR/notes.csv"
}

@test "4: files that cannot be written" {
    fails 4 "/no/such/folder/rows.csv" "${small[@]}" --csv /no/such/folder/rows.csv
    fails 4 "/no/such/folder/loss.csv" "${small[@]}" --curve /no/such/folder/loss.csv
}

@test "--help names every option" {
    run -0 "$app" --help
    for option in hidden block batch samples steps rate start density change share grow norm curve seed runs check-only csv device; do
        grep -q -e "^  --$option " <<<"$output"
    done
}

@test "the page's commands run as written" {
    [ "${BACKEND:-simt}" = simt ] || skip "they are those of the CPU backend"
    [ "$OUT" = build/simt ] || skip "the page names build/simt"
    awk '/^```/ { c = $0 == "```sh"; next } c && !/^make/' apps/block_pruning/README.md >"$BATS_TEST_TMPDIR/commands"
    [ "$(grep -c . "$BATS_TEST_TMPDIR/commands")" -ge 3 ]
    bash -e "$BATS_TEST_TMPDIR/commands"
}
