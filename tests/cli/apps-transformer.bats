# apps/sparse_transformer: the program on small masks, its rows and pictures, and what it refuses.

# bats sets $output, $lines and $stderr:
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0

setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    cd "$ROOT" || return
    app=$ROOT/${OUT:-build/simt}/apps/sparse_transformer/sparse_transformer
    if [ ! -x "$app" ]; then skip "apps/sparse_transformer is not built"; fi
    small=("mask:rows=96,band=16" --heads 2 --hidden 32 --filter 48)
    on_cpu=1
    case ${OUT:-build/simt} in *cuda*) on_cpu= ;; esac
}

# fails CODE MESSAGE ARGUMENT...: the program ends so, with that one line alone.
fails() {
    local code=$1 message=$2
    shift 2
    run --separate-stderr "-$code" "$app" "$@"
    [[ $stderr == "sparse_transformer: $message"* ]] || { echo "$stderr"; false; }
    [ "$(wc -l <<<"$stderr")" -eq 1 ]
}

# cell NUMBER COLUMN FILE: that column of a line of rows without quotes, the header being line 1.
cell() {
    awk -F, -v n="$1" -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i } NR == n { print $at }' \
        <(sed 's/"[^"]*"/quoted/g' "$3")
}

@test "sparse and dense: every part of a layer is checked, bytes are counted, and the CPU backend has no speed" {
    run -0 "$app" "${small[@]}" --csv "$BATS_TEST_TMPDIR/rows.csv"
    [[ ${lines[0]} == "sparse_transformer | mask:rows=96,band=16, 96 tokens, nnz 1578 (33.892 % of the causal half) | 3 layers, 2 heads of 16, hidden 32, filter 48 | attention in fp32 | "* ]]
    [[ ${lines[1]} == "check   sparse PASS"*" norm "*" qkv "*" attention "*" dense with the mask "*" projection "*" up "*" bias "*" down "* ]]
    [[ ${lines[2]} == "check   dense  PASS"* && ${lines[2]} != *"with the mask"* ]]
    [[ $output == *"sparse (fused_attention)"*"dense (cuBLAS)"*"sparse against dense:"*" of the memory"* ]]
    # weights 3 x 7376 + 64; input, x, norm 3 x 3072; Q, K, V 9216; logits and shares 2 x 2 x 96 x 96
    [ "$(cell 3 peak_bytes "$BATS_TEST_TMPDIR/rows.csv")" -eq $((4 * (3 * 7376 + 64 + 3 * 3072 + 9216 + 4 * 96 * 96))) ]
    [ "$(cell 2 status "$BATS_TEST_TMPDIR/rows.csv")" = ok ]
    if [ -n "$on_cpu" ]; then
        [[ $output == *"n/a"* && $output != *"parts of a pass"* ]]
        [ -z "$(cell 2 tokens_per_s "$BATS_TEST_TMPDIR/rows.csv")" ]
    fi
}

@test "a softmax in place saves the second copy of the logits" {
    "$app" "${small[@]}" --variant dense --check-only --csv "$BATS_TEST_TMPDIR/two.csv"
    "$app" "${small[@]}" --variant dense --check-only --in-place --csv "$BATS_TEST_TMPDIR/one.csv"
    two=$(cell 2 peak_bytes "$BATS_TEST_TMPDIR/two.csv") one=$(cell 2 peak_bytes "$BATS_TEST_TMPDIR/one.csv")
    [ $((two - one)) -eq $((4 * 2 * 96 * 96)) ]
}

@test "three kernels, fp16, a head size that no vector divides, a mask that is not causal" {
    run -0 "$app" "${small[@]}" --variant sparse --attention attention --layers 1
    [[ $output == *"sparse PASS"*"sparse (attention)"* ]]
    run -0 "$app" mask:rows=70,band=9 --heads 3 --hidden 33 --filter 40 --layers 1 --precision fp16
    [[ $output == *"sparse PASS"*"dense  PASS"* ]]
    run -0 "$app" weights:rows=64,cols=64,nnz=640,kind=quota --heads 2 --hidden 8 --filter 8 --variant sparse
    [[ $output == *"sparse PASS"* ]]
    run -0 "$app" mask:rows=1 --heads 1 --hidden 8 --filter 4
    [[ $output == *"1 tokens, nnz 1 "*"sparse PASS"* ]]
}

@test "the sweep checks each mask in two precisions, and its rows are the suite's" {
    run -0 "$app" mask:rows=64 --sweep --heads 2 --hidden 16 --csv "$BATS_TEST_TMPDIR/sweep.csv"
    [[ $output == *"fp32, 2 heads of 8"*"a band alone"*"mask:rows=64,band=1,share=0"*"fp16, 2 heads of 8"* ]]
    [[ $output == *"against a dense flash attention: not measured (--rivals FILE)"* ]]
    head -n 1 "$BATS_TEST_TMPDIR/sweep.csv" | grep -q '^schema,operation,lab,contender,precision,dataset,'
    [ "$(cut -d, -f2 "$BATS_TEST_TMPDIR/sweep.csv" | sort -u | tr '\n' ' ')" = "attention operation " ]
    [ "$(grep -c ',"mask:rows=64,band=64",' "$BATS_TEST_TMPDIR/sweep.csv")" -eq 2 ] # dense
    [ "$(cut -d, -f4 "$BATS_TEST_TMPDIR/sweep.csv" | sort -u | tr '\n' ' ')" = "contender cuBLAS dense fused_attention fused_attention_fp16 " ]
    if [ -n "$on_cpu" ]; then [[ $output == *"against cuBLAS: not measured"* ]]; fi
    [ -z "$(cut -d, -f4-9 "$BATS_TEST_TMPDIR/sweep.csv" | sort | uniq -d)" ] # no mask twice
}

@test "rows on standard output" {
    cd "$BATS_TEST_TMPDIR"
    run -0 "$app" "${small[@]}" --variant sparse --layers 1 --check-only --csv -
    [[ $output == *$'\n'"schema,application,"*$'\n'"1,sparse_transformer,sparse,"* ]]
    run -0 "$app" mask:rows=16 --sweep --heads 1 --hidden 4 --check-only --csv -
    [[ $output == *$'\n'"schema,operation,"* ]]
    [ -z "$(ls -- -* 2>/dev/null)" ]
}

@test "rivals are rows of their own: the fastest of the precision, the sequence and the heads" {
    rivals=$BATS_TEST_TMPDIR/rivals.csv
    printf 'contender,precision,rows,N,flags,median_ms\n' >"$rivals"
    run -0 "$app" mask:rows=32 --sweep --heads 2 --hidden 16 --rivals "$rivals"
    [[ $output == *"against rivals: not measured"* ]]
    printf 'slow,fp16,32,8,HEADS=2,9\nquick,fp16,32,8,HEADS=2,2\nother,fp16,32,8,HEADS=4,1\n,,\n' >>"$rivals"
    run -0 "$app" mask:rows=32 --sweep --heads 2 --hidden 16 --rivals "$rivals"
    [[ $output == *"fp32"*"against rivals"*"fp16"*"against quick"* && $output != *"against slow"* ]]
    echo contender,precision >"$rivals"
    fails 3 "$rivals:1: no column rows" mask:rows=32 --sweep --heads 2 --hidden 16 --rivals "$rivals"
    fails 3 "/nowhere.csv: not found (--rivals)" mask:rows=32 --sweep --heads 2 --hidden 16 --rivals /nowhere.csv
}

@test "the handout's picture is what the program draws" {
    "$app" mask:rows=12288 --picture "$BATS_TEST_TMPDIR/mask.svg"
    cmp "$BATS_TEST_TMPDIR/mask.svg" apps/sparse_transformer/mask.svg
}

@test "the handout's commands run as written" {
    [ "${OUT:-build/simt}" = build/simt ] || skip "they name build/simt"
    awk '/^```/ { inside = $0 == "```sh"; next } inside && !/^make/' apps/sparse_transformer/README.md \
        >"$BATS_TEST_TMPDIR/commands"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/commands")" -ge 3 ]
    mkdir "$BATS_TEST_TMPDIR/here"
    ln -s "$ROOT/build" "$BATS_TEST_TMPDIR/here/build"
    cd "$BATS_TEST_TMPDIR/here"
    bash -e "$BATS_TEST_TMPDIR/commands"
}

# timed FILE MS...: the rows of a file with these times, as a GPU would give them.
timed() {
    local file=$1
    shift
    awk -F, -v OFS=, -v given="$*" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; split(given, ms, " "); print; next }
        { $at["median_ms"] = ms[NR - 1]; print }' <(sed 's/"[^"]*"/mask:/g' "$file")
}

@test "tables: the handout's are those of the measured rows; ratios and the rows without a time" {
    cp apps/sparse_transformer/README.md "$BATS_TEST_TMPDIR/page.md"
    apps/sparse_transformer/tables report/results/h200 "$BATS_TEST_TMPDIR/page.md"
    diff apps/sparse_transformer/README.md "$BATS_TEST_TMPDIR/page.md"
    [ -n "$on_cpu" ] || skip "a GPU's rows have times of their own"

    rows=$BATS_TEST_TMPDIR/rows
    mkdir "$rows"
    "$app" "${small[@]}" --csv "$rows/sparse_transformer.csv"
    "$app" mask:rows=48 --sweep --heads 2 --hidden 16 --csv "$rows/attention-mask.csv"
    apps/sparse_transformer/tables "$rows" "$BATS_TEST_TMPDIR/page.md"
    [ "$(grep -cx 'Not measured yet.' "$BATS_TEST_TMPDIR/page.md")" -eq 2 ]

    timed "$rows/sparse_transformer.csv" 10 25 >"$rows/timed"
    mv "$rows/timed" "$rows/sparse_transformer.csv"
    # 4 ms dense, then 1 ms for a band of one token; the rest has no time.
    sed 's/"mask:rows=48,band=1,share=0"/narrow:share=0/' "$rows/attention-mask.csv" >"$rows/plain"
    timed "$rows/plain" 4 1 >"$rows/attention-mask.csv"
    apps/sparse_transformer/tables "$rows" "$BATS_TEST_TMPDIR/page.md"
    grep -qE '^\| sparse, fused_attention \| fp32 \| 10\.00 \| .* \| \*\*2\.50\*\* \| 0\.000 \| [0-9.]+ \|$' "$BATS_TEST_TMPDIR/page.md"
    grep -qE '^\| dense, two copies \| fp32 \| 25\.00 \| .* \| 1\.00 \| 0\.000 \| 1\.0 \|$' "$BATS_TEST_TMPDIR/page.md"
    grep -qxF '| a band alone | all | - |' "$BATS_TEST_TMPDIR/page.md"
}

@test "2: options that make no sense" {
    fails 2 "no option --head; did you mean --heads? (--help shows them)" --head 8
    fails 2 "--hidden 1024 is no multiple of --heads 7" --heads 7
    fails 2 "--heads 0: it is a whole number from 1 to 256" --heads 0
    fails 2 "--layers 1.5: it is a whole number from 1 to 48" --layers 1.5
    fails 2 "--runs needs a value: --runs N" --runs
    fails 2 "no option -x (--help shows them)" -x
    fails 2 "--sweep takes no value" --sweep=1
    fails 2 "--hidden 1024 is no multiple of --heads 7" --heads=7
    fails 2 "--variant fast: it is both, sparse or dense" --variant fast
    fails 2 "--precision bf16: it is fp32 or fp16" --precision bf16
    fails 2 "--attention fused: no such contender in fp32" --attention fused
    fails 2 "--attention fused_atention: no such contender in fp32; did you mean fused_attention?" --attention fused_atention
    fails 2 "two masks: mask: and arxiv" mask: arxiv
    fails 2 "--rivals needs --sweep" --rivals x.csv
    fails 2 "--sweep and --picture exclude each other" --sweep --picture x.svg
    fails 2 "--sweep needs 16 tokens or more; mask:rows=15 has 15" mask:rows=15 --sweep
    fails 2 "--picture x.png: its name ends with .svg or .pgm" mask:rows=20 --picture x.png
    echo text >"$BATS_TEST_TMPDIR/notes.csv"
    fails 2 "" mask:rows=20 --heads 1 --hidden 4 --filter 4 --csv "$BATS_TEST_TMPDIR/notes.csv"
    [ "$(cat "$BATS_TEST_TMPDIR/notes.csv")" = text ]
}

@test "3: masks that are none" {
    fails 3 "mask: rows=0: rows is a whole number from 1 to 131072" mask:rows=0
    fails 3 "rand:rows=5,cols=6: 5 x 6 is no mask: it has as many columns as rows" rand:rows=5,cols=6
    fails 3 "rand:rows=0: 0 x 0 is no mask" rand:rows=0
    fails 3 "rand:rows=9,deg=0.5,empty=0.5: row " rand:rows=9,deg=0.5,empty=0.5
    [[ $stderr == *" is empty: its token attends to none" ]]
}

@test "4 and 5: a file that cannot be written; logits that do not fit, with the sum before anything is allocated" {
    fails 4 "" mask:rows=20 --heads 1 --hidden 4 --filter 4 --variant sparse --csv /nowhere/rows.csv
    [ -z "$output" ] # it is found before anything is computed
    fails 5 "the dense model takes 309.32 GB of device memory (logits: 154.62 GB) and " \
        mask:rows=12288,share=0 --heads 256 --hidden 256 --filter 256 --variant dense
}
