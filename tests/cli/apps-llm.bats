# apps/llm_decode as a user meets it: every part is right, wrong kernels are found, memory, formats, rows, every exit code.

# bats sets $output, $lines and $stderr:
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0

load apps

setup() {
    open_app llm_decode
    small=(--batch 2 --prompt 3 --out 5)
}

@test "three kernels are right in every part and agree, one pass over all tokens with single steps" {
    run -0 "$app" "${small[@]}" --kv-test 4 --csv "$BATS_TEST_TMPDIR/rows.csv" --json "$BATS_TEST_TMPDIR/rows.json"
    [ "$(grep -c '^[a-z_]* *PASS' <<<"$output")" -eq 3 ]
    [ "$(grep -c 'of the bound from the first' <<<"$output")" -eq 2 ]
    for part in embed norm qkv attention out up relu down head argmax; do
        [ "$(grep -c "PASS.* $part [0-9]" <<<"$output")" -ge 1 ]
    done
    # A GPU fills in times.
    awk -F, -v times="$([ "${BACKEND:-simt}" = simt ] || echo 1)" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { gsub(/"[^"]*"/, "-") }
        $at["status"] != "ok" || $at["worst_error"] > 1 || ($at["step_ms"] != "") != times + 0 || $at["weight_bytes"] == "" { bad = 1 }
        { print $at["kernel"] }
        END { exit bad || NR != 4 }' "$BATS_TEST_TMPDIR/rows.csv"
    jq -e 'map(.kernel) == ["dense", "bitmap", "lane_major"] and all(.status == "ok" and .weights_over_count > 0.9 and .weights_over_count < 1.1)' "$BATS_TEST_TMPDIR/rows.json"
}

@test "both layouts of dense products, and kernels that start before the one before ends" {
    run -0 "$app" --batch 1 --prompt 2 --out 2 --passes 2 --kernel dense --layout rows --early on
    [[ $output == *"dense           rows"* ]]
    run -0 "$app" --batch 9 --prompt 2 --out 2 --passes 1 --kernel dense --layout columns --prefill 17
    [[ $output == *"dense        columns"*"a prompt of 17 tokens in one pass"* ]]
}

@test "memory is counted without a device, and what does not fit is refused with the sum" {
    run -0 "$app" --model 13B --batch 16 --prompt 64 --out 192 --memory
    [[ $output == *"13B, 16 sequences of 256 tokens"* ]]
    awk '$1 == "dense" { dense = $8 } $1 == "bitmap" { sparse = $8 } END { exit !(dense > 27 && dense < 27.2 && sparse > 14.5 && sparse < 15.5) }' <<<"$output"
    run -0 "$app" --model 66B --batch 256 --prompt 64 --out 1984 --memory --kernel lane_major
    [ "${BACKEND:-simt}" = simt ] || skip "a GPU may hold it"
    fails 5 "66B with dense weights, 256 sequences of 2048 tokens: " --model 66B --batch 256 --prompt 64 --out 1984 --kernel dense
    [[ $stderr == *" GiB (weights 121.5, cache "* ]]
}

@test "what formats are worth, by formula" {
    run -0 "$app" --formats --sparsity 0.5 --batch 16 --csv "$BATS_TEST_TMPDIR/shapes.csv"
    [[ $output == *"CSR from 96.9 % zeros"* && $output == *" 28672    8192     469.8     264.5     15.99     28.39"* ]]
    [ "$(wc -l <"$BATS_TEST_TMPDIR/shapes.csv")" -eq 32 ]
    run -0 "$app" --formats --gpu "No Such GPU"
    [[ $output == *"no rates of No Such GPU are known"* ]]
}

@test "1: attention that misses the last position, or reads another sequence's cache, is found" {
    build_wrong kernels.cu 's/first + i > h.position) continue/first + i >= h.position) continue/'
    fails 1 "wrong attention: layer 0" "${small[@]}" --kernel dense
    cp "$ROOT/apps/llm_decode/kernels.cu" apps/llm_decode/kernels.cu
    sed -i 's/(size_t)sequence \* a.own.heads + head;/(size_t)head;/' apps/llm_decode/kernels.cu
    make -s BACKEND=simt "$app"
    fails 1 "wrong attention: layer 0" "${small[@]}" --kernel dense
}

@test "1: a norm whose blocks take their own means for that of all is found" {
    build_wrong kernels.cu 's/ + each \* off \* off;/ + 0 * off;/'
    fails 1 "wrong norm: layer 0" "${small[@]}" --kernel dense --layout rows
}

@test "1: a head that reads stale activations, and a norm that forgets the sum, are found" {
    build_wrong decoder.c 's/&d->normed, d->d_logits/\&d->attended, d->d_logits/'
    fails 1 "wrong head: " "${small[@]}" --kernel dense
    cp "$ROOT/apps/llm_decode/decoder.c" apps/llm_decode/decoder.c
    sed -i 's/norm(d, l, true, parameter_at(d, l, OUT_BIAS))/norm(d, l, true, NULL)/' apps/llm_decode/decoder.c
    make -s BACKEND=simt "$app"
    fails 1 "wrong norm: layer 0" "${small[@]}" --kernel dense
}

@test "2: what is no command line" {
    fails 2 "unknown option --batsh; did you mean --batch?" --batsh 3
    fails 2 "--model 13b: there are tiny, 13B, 30B and 66B; did you mean 13B?" --model 13b
    fails 2 "--batch must be a whole number from 1 to 256; got '0'" --batch 0
    fails 2 "--sparsity must be a number from 0 to 0.99; got '1'" --sparsity 1
    fails 2 "--kernel must be one of all, dense, bitmap, lane_major; got 'csr'" --kernel csr
    fails 2 "--prompt 100 and --out 64 are more than the 128 positions of tiny" --prompt 100
    fails 2 "--passes 9: the --prompt has 4 tokens" --prompt 4 --passes 9
    fails 2 "tiny has only 128 positions" --prefill 129
    fails 2 "what is '13B'?" 13B
    fails 2 "--memory takes no value" --memory=1
    echo text >"$BATS_TEST_TMPDIR/notes.csv"
    fails 2 "holds no rows of this suite" --csv "$BATS_TEST_TMPDIR/notes.csv"
}

@test "4: files that cannot be written" {
    fails 4 "/no/such/folder/rows.csv" --csv /no/such/folder/rows.csv
    fails 4 "/no/such/folder/rows.json" --json /no/such/folder/rows.json
}

@test "--help names every option" {
    run -0 "$app" --help
    for option in model kernel sparsity batch prompt out layout early fuse prefill passes kv-test check-only memory formats gpu runs seed csv json device; do
        grep -q -e "^  --$option " <<<"$output"
    done
}

@test "the page's commands run as written" {
    [ "${BACKEND:-simt}" = simt ] || skip "they are those of the CPU backend"
    [ "$OUT" = build/simt ] || skip "the page names build/simt"
    awk '/^```/ { c = $0 == "```sh"; next } c && !/^make/' apps/llm_decode/README.md >"$BATS_TEST_TMPDIR/commands"
    [ "$(grep -c . "$BATS_TEST_TMPDIR/commands")" -ge 3 ]
    bash -e "$BATS_TEST_TMPDIR/commands"
}
