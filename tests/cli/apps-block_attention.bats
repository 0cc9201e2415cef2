# apps/block_attention as a user meets it: every variant is right at awkward sizes, planted errors are found, rows, every exit code.

# bats sets $output, $lines and $stderr:
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0

load apps

setup() {
    open_app block_attention
    small=(--length 320 --heads 2 --head-size 32 --block 32 --band 2 --stride 3)
}

# passes COUNT WORD...: so many variants pass all their checks.
passes() {
    local count=$1
    shift
    run -0 "$app" "$@"
    echo "$output"
    [ "$(grep -c '^check .* PASS .*oracle .*ones .*whole .*causal' <<<"$output")" -eq "$count" ]
}

@test "four variants in 16 bits, two in fp32, and what each stores" {
    passes 4 "${small[@]}"
    [ "$(grep -c '^check .*one_pass .*absent 0$\|^check three_steps .*absent 0$' <<<"$output")" -eq 2 ]
    [[ $output == *"28 of 55 causal blocks a head (50.9 %)"* ]]
    passes 4 "${small[@]}" --precision bf16 --seed 3
    passes 2 "${small[@]}" --precision fp32
    [[ $output == *"block_gradients, block_lut"* ]]
}

@test "blocks and heads of every size, every unit of one pass" {
    passes 4 --length 192 --heads 3 --head-size 128 --band 1 --stride 2
    passes 1 --length 192 --heads 1 --head-size 64 --band 1 --stride 2 --variant one_pass --unit mma32 --precision bf16
    passes 1 --length 192 --heads 1 --head-size 64 --band 1 --stride 2 --variant one_pass --unit mma16
    passes 1 --length 256 --heads 1 --head-size 32 --band 1 --stride 3 --variant one_pass --unit wgmma
    passes 1 --length 160 --heads 1 --head-size 128 --block 32 --band 2 --variant one_pass --precision bf16
}

@test "one block, a band alone, all blocks, another kernel for the last step" {
    passes 4 --length 32 --heads 1 --head-size 64 --block 32 --band 1
    passes 4 --length 256 --heads 2 --head-size 64 --band 2 --stride 0
    passes 2 --length 160 --heads 1 --head-size 32 --block 32 --band 1 --stride 1 --precision fp32
    passes 1 "${small[@]}" --variant three_steps --product block_tensor_core_fp16
    [[ $output == *", block_tensor_core_fp16"* ]]
}

@test "a row a variant; without a GPU no time" {
    run -0 "$app" "${small[@]}" --csv "$BATS_TEST_TMPDIR/rows.csv"
    [ "${BACKEND:-simt}" != simt ] || [[ $output != *" ms"* ]]
    # A GPU fills in times. Scores: 2 heads, 28 of 32 x 32 blocks or 320 x 320 numbers, of 2 bytes.
    awk -F, -v times="$([ "${BACKEND:-simt}" = simt ] || echo 1)" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { if ($at["status"] != "ok" || !($at["of_bound"] < 1) || ($at["median_ms"] != "") != times + 0) exit 1; bytes = bytes " " $at["score_bytes"] }
        END { exit bytes != " 114688 0 409600 0" }' <(sed 's/"[^"]*"/quoted/g' "$BATS_TEST_TMPDIR/rows.csv")
}

@test "1: a diagonal that is not masked, a softmax without it" {
    build_wrong one_pass.cu 's/if (step == steps - 1) mask/if (step == steps) mask/'
    fails 1 "one_pass: head " "${small[@]}" --variant one_pass
    [[ $output == *"FAIL"* ]]
}

@test "1: powers that are not scaled down where the maximum moves" {
    build_wrong one_pass.cu 's/const float shrink = .*/const float shrink = old == -INFINITY ? 0 : 1;/'
    fails 1 "times its bound (oracle)" "${small[@]}" --variant one_pass
}

@test "1: a softmax in three steps that attends to the future" {
    build_wrong softmax.cu 's/c <= own)/c <= own + block)/'
    fails 1 "three_steps: head " "${small[@]}" --variant three_steps
}

@test "2: what is no command line" {
    fails 2 "unknown option --strid; did you mean --stride?" --strid 3
    fails 2 "--block 48: choose 32 or 64" --block 48
    fails 2 "--head-size 80: choose 32, 64 or 128" --head-size 80
    fails 2 "--length 100 is not a multiple of --block 64" --length 100
    fails 2 "--band 9 is wider than all: --length 512 has 8 blocks" --length 512 --band 9
    fails 2 "--heads must be a whole number from 1 to 1024; got '0'" --heads 0
    fails 2 "--variant one_pass: one pass works in fp16 and bf16" --variant one_pass --precision fp32
    fails 2 "--unit must be one of wgmma, mma16, mma32; got 'mma'" --unit mma
    fails 2 "--product block_wgma_fp16: no kernel of bsmm in fp16; did you mean block_wgmma_fp16?" --product block_wgma_fp16
    fails 2 "need 64-bit offsets; try fewer --heads" --length 1048576 --heads 1024
    echo text >"$BATS_TEST_TMPDIR/notes.csv"
    fails 2 "holds no rows of this suite" "${small[@]}" --csv "$BATS_TEST_TMPDIR/notes.csv"
}

@test "4, 5 and 77: no folder, no room, no kernel" {
    fails 4 "/no/such/folder/rows.csv" "${small[@]}" --csv /no/such/folder/rows.csv
    fails 5 "dense takes 1103.81 GB of device memory (scores: 1099.51 GB)" --length 65536 --heads 128 --variant dense
    fails 77 "wgmma is for blocks of 64, and heads up to 64" "${small[@]}" --variant one_pass --unit wgmma
}

@test "--help names every option" {
    run -0 "$app" --help
    for option in length heads head-size block band stride precision variant unit product runs seed check-only csv device; do
        grep -q -e "^  --$option " <<<"$output"
    done
}

@test "the page's commands run as written" {
    [ "${BACKEND:-simt}" = simt ] || skip "they are those of the CPU backend"
    [ "$OUT" = build/simt ] || skip "the page names build/simt"
    awk '/^```/ { c = $0 == "```sh"; next } c && !/^make/' apps/block_attention/README.md >"$BATS_TEST_TMPDIR/commands"
    [ "$(grep -c . "$BATS_TEST_TMPDIR/commands")" -ge 3 ]
    bash -e "$BATS_TEST_TMPDIR/commands"
}
