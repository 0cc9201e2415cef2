# apps/gat as a user meets it: both networks, the check of the gradient and what it finds, rows, every exit code.

# bats sets $output, $lines and $stderr:
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0

load apps

setup() {
    open_app gat
    small=rand:rows=60,deg=4,skew=1
}

# learns WORD...: the check passes, and the loss falls to less than half of what it was.
learns() {
    run -0 "$app" "$small" --vs none --classes 4 --steps 15 --rate 0.05 "$@"
    echo "$output"
    grep -q '^suite  *PASS' <<<"$output"
    awk '$1 == 0 && NF == 4 { first = $2 } $1 == 15 { last = $2 } END { exit !(last < first / 2) }' <<<"$output"
}

@test "a gat learns" { learns; }
@test "a gcn learns" { learns --model gcn; }

@test "a graph has both directions of each edge once, and one from every vertex to itself" {
    printf '%%%%MatrixMarket matrix coordinate pattern general\n4 4 4\n1 2\n2 1\n1 2\n3 3\n' >"$BATS_TEST_TMPDIR/tiny.mtx"
    run -0 "$app" "$BATS_TEST_TMPDIR/tiny.mtx" --vs none --classes 2 --check-only --seed 3
    [[ $output == *"  4 vertices, 6 edges"* ]]
}

@test "layers, heads and widths of any number have a right gradient" {
    run -0 "$app" "$small" --vs none --check-only --layers 3 --heads 3 --hidden 5 --classes 3 --features 7
    [[ $output == *"gat of 3 layers, 3 heads of 5 features"*"PASS"* ]]
    run -0 "$app" "$small" --vs none --check-only --layers 1 --classes 2
    run -0 "$app" "$small" --vs none --check-only --heads 1 --features 1
    run -0 "$app" "$small" --vs none --check-only --model gcn --layers 4 --hidden 3
}

@test "a row of more nonzeros than a warp walks along" {
    awk 'BEGIN { print "%%MatrixMarket matrix coordinate pattern general\n600 600 599"
        for (i = 2; i <= 600; i++) print 1, i }' >"$BATS_TEST_TMPDIR/star.mtx"
    run -0 "$app" "$BATS_TEST_TMPDIR/star.mtx" --vs roma --check-only --heads 2 --hidden 2 --features 4
    [ "$(grep -c PASS <<<"$output")" -eq 2 ]
}

@test "rivals side by side: lab 22 on tensor cores, and another" {
    run -0 "$app" "$small" --model gcn --vs block_row_partition,roma --check-only --hidden 2 --features 4
    [ "$(grep -c PASS <<<"$output")" -eq 3 ]
    [[ $output == *block_row_partition* && $output == *roma* ]]
}

@test "a network of three kernels by name computes the same" {
    run -0 "$app" "$small" --vs split_rows --steps 5 --heads 2 --csv "$BATS_TEST_TMPDIR/rows.csv"
    [[ $output == *"fused_attention"* && $output == *"sparse_softmax, split_rows"* ]]
    # A GPU fills in times and bytes.
    awk -F, -v times="$([ "${BACKEND:-simt}" = simt ] || echo 1)" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { gsub(/"[^"]*"/, "-") }
        $at["status"] != "ok" || $at["of_bound"] > 0.5 || ($at["step_ms"] != "") != times + 0 || ($at["device_bytes"] != "") != times + 0 { bad = 1 }
        { loss[NR] = $at["last_loss"]; first[NR] = $at["first_loss"] }
        END { d = loss[2] - loss[3]; exit bad || NR != 3 || d * d > 1e-6 || !(loss[2] < first[2]) }' "$BATS_TEST_TMPDIR/rows.csv"
    run -0 "$app" "$small" --check-only --features 5 --csv - --vs none
    [[ $output == *$'\n'"1,gat,suite,"* ]]
}

@test "without a GPU no time and no vendor is shown" {
    [ "${BACKEND:-simt}" = simt ] || skip "a GPU has both"
    run -0 "$app" "$small" --steps 1
    [[ $output == *"n/a (simt)"*"cuSPARSE "*"n/a (no GPU)"* ]]
    [[ $output != *"parts of"* ]]
}

@test "1: the check finds a softmax's gradient without its mean" {
    build_wrong kernels.cu 's/(gradient\[k\] - D)/gradient[k]/'
    fails 1 "wrong gradient: " "$small" --vs none --steps 3
    run ! grep -qE 'FAIL +[0-9.e+-]+ +[0-9]' <<<"$output" # no time
    fails 1 "times its bound" "$small" --vs none --check-only --features 5
    [[ $output == *"FAIL"* ]]
}

@test "1: the check finds a slope that was forgotten" {
    build_wrong kernels.cu 's/ds : ds \* ATTENTION_SLOPE/ds : ds/'
    fails 1 "wrong gradient: " "$small" --vs none --steps 3
}

@test "1: the check finds shares in the order of the pattern that is not transposed" {
    build_wrong network.c 's/&product, &s->transposed/\&(sparse_request){.operation = "spmm", .width = own->d, .values = net->shares}, \&s->transposed/'
    fails 1 "wrong gradient: " "$small" --vs none --steps 3
}

@test "1: a loss that does not fall" {
    fails 1 "the loss did not fall" "$small" --vs none --steps 3 --rate 1e4
}

@test "2: what is no command line" {
    fails 2 "unknown option --head; did you mean --heads?" --head 3
    fails 2 "unknown option -x" -x
    fails 2 "--heads must be a whole number from 1 to 8; got '9'" --heads 9
    fails 2 "--hidden must be a whole number from 1 to 256; got 'wide'" --hidden=wide
    fails 2 "--steps needs a value" --steps
    fails 2 "--check-only takes no value" --check-only=1
    fails 2 "--model must be one of gat, gcn; got 'gnn'" --model gnn
    fails 2 "--rate must be a number from 1e-09 to 1000000000; got '-1'" --rate -1
    fails 2 "one dataset at a time: 'ddi'" arxiv ddi
    fails 2 "--vs cuSPARSE FAST: no such kernel" --vs "cuSPARSE FAST"
    fails 2 "--vs rom: no such kernel" --vs roma,rom
    fails 2 "--vs : no such kernel" --vs roma,
    fails 2 "--vs dense: no such kernel; best, default or none, or an SpMM as roma" --vs dense
    echo text >"$BATS_TEST_TMPDIR/notes.csv"
    fails 2 "holds no rows of this suite" "$small" --csv "$BATS_TEST_TMPDIR/notes.csv"
    [ "$(cat "$BATS_TEST_TMPDIR/notes.csv")" = text ]
}

@test "3: what is no graph" {
    fails 3 "did you mean arxiv" arxvi
    fails 3 "40 x 30 is no graph" rand:rows=40,cols=30,deg=2
    fails 3 "10 vertices are too few for 8 classes" rand:rows=10,deg=2
}

@test "4, 5: rows that cannot be written, features that do not fit" {
    fails 4 "/no/such/folder/rows.csv" "$small" --csv /no/such/folder/rows.csv
    [ "${BACKEND:-simt}" = simt ] || return 0 # CUDA wants more address space than this leaves
    ulimit -v 16000000                        # for a machine that has the memory
    fails 5 "features" rand:rows=3000000,deg=0 --features 4096
}

@test "--help names every option, and what it prints is a program's own name" {
    run -0 "$app" --help
    for option in model layers heads hidden features classes steps runs rate seed vs check-only csv data-dir device; do
        grep -q -e "^  --$option " <<<"$output"
    done
}

@test "the page's commands run as written" {
    [ "${BACKEND:-simt}" = simt ] || skip "they are those of the CPU backend"
    [ "$OUT" = build/simt ] || skip "the page names build/simt"
    awk '/^```/ { c = $0 == "```sh"; next } c && !/^make/' apps/gat/README.md >"$BATS_TEST_TMPDIR/commands"
    [ "$(grep -c . "$BATS_TEST_TMPDIR/commands")" -ge 3 ]
    bash -e "$BATS_TEST_TMPDIR/commands"
}
