# apps/moe as a user meets it: right in five ways and in awkward shapes, wrong kernels and layouts found, rows, exit codes.

# bats sets $output, $lines and $stderr:
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0

load apps

setup() {
    open_app moe
    small=(--tokens 200 --features 64 --hidden 128 --experts 4)
}

@test "five ways are right, and their rows say so" {
    run -0 "$app" --csv "$BATS_TEST_TMPDIR/rows.csv" --json "$BATS_TEST_TMPDIR/rows.json"
    [ "$(grep -c PASS <<<"$output")" -ge 4 ] # a GPU may have no wgmma
    [[ $output == *"no token is dropped"*"without dropping, GFLOP: 0.015 useful"* ]]
    # A GPU fills in times.
    # shellcheck disable=SC2016
    echo 'FNR == 1 { csv_columns($0, at); next }
        { csv_split($0, cell); word = cell[at["status"]] }
        word != "ok" && word != "skip" { bad = 1 }
        word == "ok" && (cell[at["of_bound"]] > 1 || cell[at["checked_slots"]] != 300 || cell[at["gflop"]] != 0.0147456) { bad = 1 }
        word == "ok" && (cell[at["ms"]] != "") != times + 0 { bad = 1 }
        cell[at["way"]] == "cuBLAS, loop" && cell[at["computed_rows"]] != 300 { bad = 1 }
        cell[at["way"]] == "blocks, mma.sync" && cell[at["computed_rows"]] % 64 { bad = 1 }
        END { exit bad || FNR != 6 }' >"$BATS_TEST_TMPDIR/look"
    awk -v times="$([ "${BACKEND:-simt}" = simt ] || echo 1)" -f tests/csv.awk -f "$BATS_TEST_TMPDIR/look" "$BATS_TEST_TMPDIR/rows.csv"
    jq -e 'length == 5 and all(.app == "moe" and .model == "tiny" and .precision == "fp16")' "$BATS_TEST_TMPDIR/rows.json"
}

@test "one token, one expert, two experts a token, all of them, blocks of every size" {
    for words in "--tokens 1" "--experts 1" "--chosen 2" "--experts 3 --chosen 3" "--block 16 --tokens 333" "--block 32" "--block 128" \
        "--features 192 --hidden 320 --tokens 130"; do
        # shellcheck disable=SC2086 # words
        run -0 "$app" "${small[@]}" $words --ways blocks
        [ "$(grep -c PASS <<<"$output")" -ge 1 ]
    done
}

@test "one expert takes all, and many have none" {
    run -0 "$app" "${small[@]}" --skew 100
    [[ $output == *"the fullest expert has 200 of 200 choices; 3 experts have none"* ]]
    [[ $output == *"a capacity of 1.00 times the mean: "*"drops 75.00 % of the choices"* ]]
    run -0 "$app" --tokens 20 --features 64 --hidden 64 --experts 200 --block 16
    [[ $output == *"experts have none"* ]]
}

@test "1: the check finds a layout that loses the last tile, and a row in another one's place" {
    build_wrong arrange.cu 's/i < end_tile\[MOST_EXPERTS - 1\]; i += MOST/i < end_tile[MOST_EXPERTS - 1] - 1; i += MOST/'
    fails 1 "wrong layout: " "${small[@]}" --ways mma
    cp "$ROOT/apps/moe/arrange.cu" apps/moe/arrange.cu
    sed -i 's/a.start\[t.expert\] + row - a.first\[t.expert\];/a.start[t.expert] + ((row - a.first[t.expert]) ^ 1);/' apps/moe/arrange.cu
    make -s BACKEND=simt "$app"
    fails 1 "wrong layout: row " "${small[@]}" --ways mma
}

@test "1: the check finds weights of the next expert, a depth that is left out, and a gate that is not applied" {
    build_wrong product_wgmma.cu 's/j.rows.expert \* w.p.deep + s \* DEEP/(j.rows.expert + 1) % w.p.experts * w.p.deep + s * DEEP/'
    fails 1 "wrong y: " "${small[@]}" --ways wgmma
    sed -i 's/steps = w.p.deep \/ DEEP;/steps = max(w.p.deep \/ DEEP - 1, 0);/' apps/moe/product_mma.cu
    sed -i 's/sum\[i\] += gate\[slot\] \* widen(piece\[i\]);/sum[i] += (gate[slot] > 0) * widen(piece[i]);/' apps/moe/arrange.cu
    touch apps/moe/product_mma.cu apps/moe/arrange.cu
    make -s BACKEND=simt "$app"
    fails 1 "wrong y: " "${small[@]}" --ways mma
    fails 1 "wrong out: " "${small[@]}" --ways cublas
}

@test "2, 4, 5: what is no command line, no file, and too large" {
    fails 2 "unknown option --expert; did you mean --experts?" --expert 3
    fails 2 "what is 'arxiv'?" arxiv
    fails 2 "--model dmoe: there are tiny, dmoe-xs, dmoe-s, dmoe-m and mixtral" --model dmoe
    fails 2 "--features 100 and --hidden 192 must be multiples of 64" --features 100
    fails 2 "--block 48: choose one of 16, 32, 64, 128" --block 48
    fails 2 "--chosen 5 is more than the 4 experts" --experts 4 --chosen 5
    fails 2 "--experts must be a whole number from 1 to 256; got '300'" --experts 300
    fails 4 "/no/such/folder/rows.csv" --csv /no/such/folder/rows.csv
    fails 5 "GB more of device memory and" --model mixtral --tokens 16777216 --ways mma
}

@test "--help names every option" {
    run -0 "$app" --help
    for option in model tokens features hidden experts chosen block skew ways runs check-only csv json seed device; do
        grep -q -e "^  --$option " <<<"$output"
    done
}

@test "the page's commands run as written" {
    [ "${BACKEND:-simt}" = simt ] || skip "they are those of the CPU backend"
    [ "$OUT" = build/simt ] || skip "the page names build/simt"
    awk '/^```/ { c = $0 == "```sh"; next } c && !/^make/' apps/moe/README.md >"$BATS_TEST_TMPDIR/commands"
    [ "$(grep -c . "$BATS_TEST_TMPDIR/commands")" -ge 3 ]
    bash -e "$BATS_TEST_TMPDIR/commands"
}
