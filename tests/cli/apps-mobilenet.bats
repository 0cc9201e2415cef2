# apps/mobilenet as a user meets it: right layers and scores in every precision, wrong kernels found, rows, exit codes.

# bats sets $output, $lines and $stderr:
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0

load apps

setup() {
    open_app mobilenet
    tiny=(--width 0.25 --image 32 --batch 2 --classes 10)
}

@test "sparse and dense nets are right, layer by layer and as a whole, in fp32, TF32 and fp16" {
    run -0 "$app" "${tiny[@]}" --csv "$BATS_TEST_TMPDIR/rows.csv"
    [ "$(grep -c PASS <<<"$output")" -ge 5 ]
    [[ $output == *"128 x 128 x 8 "*"10.0 "* ]]
    # shellcheck disable=SC2016
    echo 'FNR == 1 { csv_columns($0, at); next }
        { csv_split($0, cell); word = cell[at["status"]]; all = cell[at["layer"]] == "all"; ok += word == "ok" }
        word != "ok" && word != "skip" { bad = 1 }
        word == "ok" && all { nets++; bad = bad || cell[at["of_bound"]] > 1 || cell[at["scores_off"]] + 0 > cell[at["scores_bound"]] + 0 }
        cell[at["network"]] == "suite" && cell[at["layer"]] == 26 { tenth = cell[at["weights"]] == 6554 && cell[at["rows"]] == 256 }
        END { exit bad || nets < 5 || !tenth || ok < 5 * 30 }' >"$BATS_TEST_TMPDIR/look"
    awk -f tests/csv.awk -f "$BATS_TEST_TMPDIR/look" "$BATS_TEST_TMPDIR/rows.csv"
}

@test "images of any size are right: single pixels, borders, several tiles" {
    for size in 1 7 35 70; do
        run -0 "$app" --width 0.15 --image $size --batch 3 --classes 5 --seed $size
        [ "$(grep -c PASS <<<"$output")" -ge 5 ]
    done
}

@test "a kernel by name, with the epilogue of its own or behind it" {
    for kernel in split_rows length_bins selection; do
        run -0 "$app" "${tiny[@]}" --vs none --kernel $kernel
        [[ $output == *"PASS"*"$kernel"* ]]
    done
}

@test "a sparse net is compared with a narrower dense one" {
    run -0 "$app" --width 0.25 --dense-width 0.2 --image 8 --classes 3 --vs cublas --csv -
    [[ $output == *"dense nets of width 0.2"* ]]
    [[ $output == *"1,mobilenet,cuBLAS + kernel,all,net,0.2,8,1,3,0,fp32,"* ]]
    [[ $output == *"1,mobilenet,suite,all,net,0.25,8,1,3,0.9,fp32,"* ]]
}

@test "without a GPU no time and no vendor is shown" {
    [ "${BACKEND:-simt}" = simt ] || skip "a GPU has both"
    run -0 "$app" "${tiny[@]}"
    [[ $output == *"cuBLASLt"*"n/a: this program has no cuBLASLt"* ]]
    [[ $output == *"cuSPARSE + kernel"*"n/a: "* ]]
    [[ $output != *"a launch that does nothing"* ]]
}

@test "1: the check finds a border that is taken from the next row" {
    build_wrong kernels.cu 's/const bool inside = r >= 0 \&\& r < p.in_side \&\& c >= 0 \&\& c < p.in_side;/const bool inside = r >= 0 \&\& r < p.in_side \&\& r * p.in_side + c >= 0 \&\& r * p.in_side + c < p.in_side * p.in_side;/'
    fails 1 "(depthwise) is off" "${tiny[@]}" --vs none
}

@test "1: the check finds a second stride that is off by one, and a ReLU before the bias" {
    build_wrong kernels.cu 's/const int r = row0 \* STRIDE - 1 + i/const int r = row0 * STRIDE - STRIDE + i/'
    fails 1 "(depthwise) is off" "${tiny[@]}" --vs none
    sed -i 's/row0 \* STRIDE - STRIDE/row0 * STRIDE - 1/; s/narrow<H>(relu(sum + bias))/narrow<H>(relu(sum) + bias)/' apps/mobilenet/kernels.cu
    touch apps/mobilenet/kernels.cu
    make -s BACKEND=simt build/simt/apps/mobilenet/mobilenet
    fails 1 "(depthwise) is off" "${tiny[@]}" --vs none
}

@test "2, 4, 5: what is no command line, no file, and too large" {
    fails 2 "unknown option --with; did you mean --width?" --with 1
    fails 2 "--batch must be a whole number from 1 to 1024; got '0'" --batch 0
    fails 2 "--vs must be one of all, cublas, none; got 'x'" --vs x
    fails 2 "--kernel rom: no such kernel" --kernel rom
    fails 2 "what is 'arxiv'?" arxiv
    fails 4 "/no/such/folder/rows.csv" "${tiny[@]}" --csv /no/such/folder/rows.csv
    fails 5 "GB of device memory and" --batch 1024 --image 1024 --width 4 --vs none
}

@test "--help names every option" {
    run -0 "$app" --help
    for option in width dense-width image batch classes sparsity kernel vs runs check-only csv seed device; do
        grep -q -e "^  --$option " <<<"$output"
    done
}

@test "the page's commands run as written" {
    [ "${BACKEND:-simt}" = simt ] || skip "they are those of the CPU backend"
    [ "$OUT" = build/simt ] || skip "the page names build/simt"
    awk '/^```/ { c = $0 == "```sh"; next } c && !/^make/' apps/mobilenet/README.md >"$BATS_TEST_TMPDIR/commands"
    [ "$(grep -c . "$BATS_TEST_TMPDIR/commands")" -ge 3 ]
    bash -e "$BATS_TEST_TMPDIR/commands"
}
