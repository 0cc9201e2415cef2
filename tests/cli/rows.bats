# The program `rows` as a command: what it refuses, with one line, the right status and nothing printed; and that the
# figures' numbers are those of the tables.

# bats sets $output and $stderr:
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.." || return
    ROWS_PROGRAM=$(scripts/rows --program)
    h200=report/results/h200
}

# refused STATUS TEXT WORD...: what `rows WORD...` does.
refused() {
    local status_wanted=$1 wanted=$2
    shift 2
    run "-$status_wanted" --separate-stderr "$ROWS_PROGRAM" "$@"
    [[ $stderr == "rows"*": "*"$wanted"* && -z $output ]] || { echo "$stderr"; false; }
    [ "$(wc -l <<<"$stderr")" -eq 1 ]
}

@test "a command line that makes no sense: status 2" {
    refused 2 'wants a command'
    refused 2 "no command 'tables'" tables
    refused 2 'usage: rows table NAME FILE...' table
    refused 2 "unknown table 'speeds'" table speeds "$h200/spmm.csv"
    refused 2 "unknown value 'speed'" value speed "$h200/spmm.csv"
    refused 2 'takes no option colour' table speedups colour=red "$h200/spmm.csv"
    refused 2 'no option colour' ladder colour=red "$h200/spmm.csv"
    refused 2 'lab=x: not a lab' ladder lab=x "$h200/spmm.csv"
    refused 2 'usage: rows compare' compare "$h200/spmm.csv"
    refused 2 'only=(: no expression' value time 'only=(' "$h200/spmm.csv"
    refused 2 "no figure 'nosuch'" series nosuch "$h200" report/published.tsv
}

@test "rows of a problem that flags make another one: only by name" {
    head -n 2 "$h200/bsmm-bprop.csv" >"$BATS_TEST_TMPDIR/rows.csv"
    grep -q ,PASS=bprop, "$BATS_TEST_TMPDIR/rows.csv"
    refused 3 'no rows of lab50' value time of=lab50 "$BATS_TEST_TMPDIR/rows.csv"
    refused 3 'no rows of lab50' value time of=lab50 flags=PASS=update "$BATS_TEST_TMPDIR/rows.csv"
    [[ $("$ROWS_PROGRAM" value time of=lab50 flags=PASS=bprop "$BATS_TEST_TMPDIR/rows.csv") =~ ^[0-9.]+$ ]]
}

@test "a file that is no file of rows: status 3, whatever the command" {
    cd "$BATS_TEST_TMPDIR"
    : >empty.csv
    echo 'name,grade' >grades.csv
    sed '2s/,/,,/' "$OLDPWD/tests/cli/golden/report.csv" >torn.csv
    head -c 4096 /dev/urandom >noise.csv
    for command in ladder leaderboard dense resources 'table cases' 'value time of=lab5'; do
        for file in empty grades torn noise none; do
            # shellcheck disable=SC2086 # words
            run -3 --separate-stderr "$ROWS_PROGRAM" $command $file.csv
            [[ $stderr == "rows "*": "* && -z $output ]]
            [ "$(wc -l <<<"$stderr")" -eq 1 ]
        done
    done
    refused 3 'torn.csv:2: not the 22 cells of the first line' ladder torn.csv
    refused 3 'empty.csv: an empty file' ladder empty.csv
    refused 3 'grades.csv: no column lab' compare grades.csv grades.csv
    refused 3 'grades.csv: no rows of this suite' merge grades.csv grades.csv
}

@test "what cannot be written is said: status 4" {
    refused 4 'cannot write' merge /proc/nowhere.csv "$h200/spmm.csv"
    run -4 --separate-stderr sh -c "'$ROWS_PROGRAM' ladder '$h200/spmm.csv' >/dev/full"
    [[ $stderr == *"standard output: cannot write"* ]]
}

@test "what was asked is met at the target itself; what is no number is missed" {
    printf '%s\t%s\t%s\t%s\t%s\n' a equal 'at least' 1.5 1.5 a above 'at most' 2 2.01 a below 'at least' 97 '96.9 %' \
        a nowhere 'at most' 70 nowhere a any stated - nowhere a none stated - '**not measured**' a open 'at most' 3 '**not measured**' a 'no target' 'at least' '**not measured**' 3 \
        >"$BATS_TEST_TMPDIR/targets"
    run -0 "$ROWS_PROGRAM" targets "$BATS_TEST_TMPDIR/targets"
    [ "${lines[2]}" = '| a: equal | at least 1.5 | 1.5 | met |' ]
    [ "${lines[3]}" = '| a: above | at most 2 | 2.01 | <mark>missed</mark> |' ]
    [ "${lines[4]}" = '| a: below | at least 97 | 96.9 % | <mark>missed</mark> |' ]
    [ "${lines[5]}" = '| a: nowhere | at most 70 | nowhere | <mark>missed</mark> |' ]
    [ "${lines[6]}" = '| a: any | stated | nowhere | no target |' ]
    [ "${lines[7]}" = '| a: none | stated | - | not measured |' ]
    [ "${lines[8]}" = '| a: open | at most 3 | - | not measured |' ]
    [ "${lines[9]}" = '| a: no target | at least **not measured** | 3 | no target |' ]
    [ "${lines[10]}" = '1 met, 3 missed, 2 not measured.' ]
    printf 'a\tb\tabove\t1\t2\n' >"$BATS_TEST_TMPDIR/targets"
    refused 3 "targets:1: not a group, what, 'at least', 'at most' or 'stated', a target, what was reached" targets "$BATS_TEST_TMPDIR/targets"
    refused 3 'none: cannot be read' targets "$BATS_TEST_TMPDIR/none"
}

@test "a figure's means are the tables'" {
    # Counts lab 99 over the vendor's best, at both widths.
    for N in 32 256; do
        mean=$("$ROWS_PROGRAM" series speedups "$h200" report/published.tsv | awk -F '\t' -v N=$N '$1 == "mean" && $2 == N && $3 == 99 { printf "%.2f\n", $4 }')
        [ "$mean" = "$("$ROWS_PROGRAM" value speedup of=lab99 over=best N=$N "$h200/spmm.csv")" ]
    done
    "$ROWS_PROGRAM" series list | while read -r figure; do
        "$ROWS_PROGRAM" series "$figure" "$h200" report/published.tsv | grep -q '^origin	'
    done
}

@test "split: the committed halves are those of the seed, whatever the order; the set real is in them" {
    run -0 --separate-stderr "$ROWS_PROGRAM" split seed=29 report/split.tsv
    [ "$output" = "$(cat report/split.tsv)" ]
    cut -f 1,2 report/split.tsv | tac >"$BATS_TEST_TMPDIR/names.tsv"
    run -0 --separate-stderr "$ROWS_PROGRAM" split "$BATS_TEST_TMPDIR/names.tsv"
    [ "$(grep -v '^#' <<<"$output" | sort)" = "$(grep -v '^#' report/split.tsv | sort)" ]
    run -0 --separate-stderr "$ROWS_PROGRAM" split seed=30 report/split.tsv
    [ "$output" != "$(cat report/split.tsv)" ]
    awk -F '\t' '$2 == "real" { print $1 }' datasets/registry.tsv | sort >"$BATS_TEST_TMPDIR/real"
    awk -F '\t' '$2 == "real" { print $1 }' report/split.tsv | sort | diff - "$BATS_TEST_TMPDIR/real"
    for group in real dlmc; do
        fit=$(grep -c "	$group	fit$" report/split.tsv) judge=$(grep -c "	$group	judge$" report/split.tsv)
        [ $((fit - judge)) -eq $(((fit + judge) % 2)) ]
    done
    printf 'a\tx\na\ty\n' >"$BATS_TEST_TMPDIR/twice.tsv"
    refused 3 'twice.tsv:2: a second a' split "$BATS_TEST_TMPDIR/twice.tsv"
    echo a >"$BATS_TEST_TMPDIR/alone.tsv"
    refused 3 'alone.tsv:1: not a name, a group and a half' split "$BATS_TEST_TMPDIR/alone.tsv"
    refused 3 'cannot be read' split "$BATS_TEST_TMPDIR/none.tsv"
    refused 2 'seed=-1: no number' split seed=-1 report/split.tsv
}

@test "halves: means, the least and the stand-ins of either half, by size; other matrices are in no line" {
    printf '%s\n' 'cant	real	fit' 'pubmed	real	judge' 'ecology1	real	judge' 'rn50/x	dlmc	judge' \
        >"$BATS_TEST_TMPDIR/split.tsv"
    rows=$BATS_TEST_TMPDIR/real.csv
    columns=schema,operation,lab,contender,precision,dataset,origin,rows,cols,nnz,N,device,driver,toolkit,commit
    echo "$columns,flags,tuning,seed,l2,prepare_ms,median_ms,gflops,vendor_best,vendor_default,status" >"$rows"
    row() { echo "2,spmm,$1,$2,fp32,$3,$4,10,10,$5,32,GPU,1,2,c0ffee,,,1,warm,0.5,$6,7,V,V,ok" >>"$rows"; }
    for matrix in cant,stand-in,4007383,2 pubmed,real,88651,1 ecology1,stand-in,4996000,3 rn50/x,file,900,0.5 \
        arxiv,real,1166243,9; do
        IFS=, read -r name origin nnz times <<<"$matrix"
        row 5 split_rows "$name" "$origin" "$nnz" 0.1
        row 99 open "$name" "$origin" "$nnz" 0.2
        row 0 V "$name" "$origin" "$nnz" "$(awk "BEGIN { print 0.2 * $times }")"
    done
    run -0 --separate-stderr "$ROWS_PROGRAM" table halves "$BATS_TEST_TMPDIR/split.tsv" "$rows"
    [ "$(grep -c '^|' <<<"$output")" -eq 6 ]
    [[ $output == *'| fitted to | more than 1 M nonzeros | 1 (1) | 1 of 1 | 2.00 | 2.00 (cant, N = 32) | 50.0 %, least 50.0 % |'* ]]
    [[ $output == *'| unseen | more than 1 M nonzeros | 1 (1) | 1 of 1 | 3.00 | 3.00 (ecology1, N = 32) |'* ]]
    [[ $output == *'| unseen | up to 1 M nonzeros | 1 (0) | 0 of 1 | 1.00 | 1.00 (pubmed, N = 32) |'* ]]
    [[ $output == *'| unseen | dlmc | 1 (0) | 0 of 1 | 0.50 | 0.50 (behind) (rn50/x, N = 32) |'* ]]
    refused 3 'a split (split.tsv)' table halves "$rows"
    refused 3 'lab7' table halves of=lab7 "$BATS_TEST_TMPDIR/split.tsv" "$rows"
}

@test "a network's line: whole steps over all its problems, beside the vendor's fastest; a wrong rival has no time" {
    networks=tests/cli/golden/apps-rnn.csv
    # Steps: 0.8 over 0.4 and 1.6 over 0.2. The wrong rival would be ahead.
    run -0 "$ROWS_PROGRAM" lines "$networks"
    grep -qx '| \[60\](apps/rnn/README.md) | recurrent networks: .* | 4.00 | 2 of 2 | cuSPARSE, a step |' <<<"$output"
    [[ $output == "GPU, driver 1, CUDA 2, commit \`c0ffee\`."* ]]
    grep -v cuSPARSE "$networks" >"$BATS_TEST_TMPDIR/dense.csv" # 0.5 over 0.4 and over 0.2
    run -0 "$ROWS_PROGRAM" lines "$BATS_TEST_TMPDIR/dense.csv"
    grep -q '^| \[60\].* | 1.77 | 2 of 2 | cuBLAS, dense, a step |$' <<<"$output"
    grep -v ,suite, "$networks" >"$BATS_TEST_TMPDIR/rivals.csv"
    run -0 "$ROWS_PROGRAM" lines "$BATS_TEST_TMPDIR/rivals.csv"
    grep -q '^| \[60\].* | - | - | not measured yet |$' <<<"$output"
    refused 3 'rows of GPU, driver 1, CUDA 2 and of' lines "$networks" <(sed 's/,GPU,1,/,GPU,9,/; s/,rnn.gru-1024-0/,rnn.gru-2048-0/g' "$networks")
}

@test "apps whose rows have columns of their own: their line names the report, and other lines stay" {
    echo schema,app,network,layer,ms,device,driver,toolkit,commit >"$BATS_TEST_TMPDIR/apps-mobilenet.csv"
    echo 1,mobilenet,suite,all,1,GPU,1,2,c0ffee >>"$BATS_TEST_TMPDIR/apps-mobilenet.csv"
    echo schema,application,model,tokens_per_s,device,driver,toolkit,commit >"$BATS_TEST_TMPDIR/apps-llm_decode.csv"
    echo 1,llm_decode,13B,1,GPU,1,2,c0ffee >>"$BATS_TEST_TMPDIR/apps-llm_decode.csv"
    run -0 "$ROWS_PROGRAM" lines tests/cli/golden/apps-rnn.csv "$BATS_TEST_TMPDIR"/apps-*.csv
    [ "$(grep -c '^| \[6[12]\](apps/.*) | .* | - | - | \[in the report\](report/report.md) |$' <<<"$output")" -eq 2 ]
    grep -q '^| \[60\].* | 4.00 | 2 of 2 | cuSPARSE, a step |$' <<<"$output"
    refused 3 'make measure-app APP=llm_decode measures them' value cell column=tokens_per_s row=model=66B "$BATS_TEST_TMPDIR/apps-llm_decode.csv"
}

@test "programs of apps are labs where their second line says so, in the order of all numbers" {
    mkdir -p "$BATS_TEST_TMPDIR"/{labs/07_x,labs/70_y,apps/b,apps/a,apps/none}
    cd "$BATS_TEST_TMPDIR"
    printf '/*\n * Lab 7 - x: seven.\n' >labs/07_x/lab.cu
    printf '/*\n * Lab 70 - y: seventy.\n' >labs/70_y/lab.cu
    printf '/*\n * Lab 62 - b: sixty-two.\n' >apps/b/b.c
    printf '/*\n * Lab 61 - a: sixty-one.\n' >apps/a/a.c
    printf '/*\n * Lab 63 - of another file.\n' >apps/a/other.c
    printf '/*\n * none.c - a program.\n' >apps/none/none.c
    run -0 "$ROWS_PROGRAM" lines
    [ "$(grep -o '^| \[[0-9]*\]([a-z0-9_/]*' <<<"$output")" = '| [7](labs/07_x/
| [61](apps/a/
| [62](apps/b/
| [70](labs/70_y/' ] || { echo "$output"; false; }
}

@test "networks beside others: each part by the vendor's fastest pipeline of that part; a part's share of the suite's step" {
    networks=tests/cli/golden/apps-rnn.csv
    value() { "$ROWS_PROGRAM" value "$@" "$networks"; }
    [ "$(value network over=sparse)" = 4.00 ]                          # 0.8 over 0.4, 1.6 over 0.2
    [ "$(value network over=dense)" = 1.77 ]                           # 0.5 over either
    [ "$(value network over=sparse stat=ahead need=2)" = '2 of 2' ]
    [ "$(value network over=sparse part=input_gradient stat=most)" = 4.29 ] # 0.3 over 0.07: not of the wrong one
    [ "$(value network over=sparse part=move stat=least)" = 5.00 ]     # 0.04 over 0.008; 0.14 over 0.02 is 7
    [ "$(value network_share part=move stat=most)" = '5.0 %' ]         # 0.02 of 0.4, 0.008 of 0.2
    [ "$(value network_share part=input_gradient)" = '31.0 %' ]        # 27.5 and 35 %, in the geometric mean
    refused 3 'only 2 of 72 cases; make measure-app APP=rnn measures them' value network over=dense need=72 "$networks"
    refused 3 'with move_ms; make measure-app APP=rnn measures them' value network over=dense part=move "$networks"
    refused 3 'no column nosuch_ms' value network_share part=nosuch "$networks"
    refused 2 'over=fast: not sparse or dense' value network over=fast "$networks"
}

@test "the table of networks: shares of the parts, a line a group; other files have none" {
    run -0 "$ROWS_PROGRAM" table networks by=cell,sparsity tests/cli/golden/apps-rnn.csv
    # 0.12 of 0.4 and so on: parts add up to the step here.
    [ "${lines[2]}" = '| gru | 0.7 | 1 | 0.4000 | 30 % | 28 % | 25 % | 5 % | 13 % | 5.0 % | 2.00 | 1.25 |' ]
    [ "${lines[3]}" = '| gru | 0.9 | 1 | 0.2000 | 30 % | 35 % | 20 % | 5 % | 10 % | 4.0 % | 8.00 | 2.50 |' ]
    [[ ${lines[4]} == '<small>GPU, driver 1, CUDA 2;'*'rows of apps-rnn.csv</small>' ]]
    run -0 "$ROWS_PROGRAM" table networks by=cell tests/cli/golden/apps-rnn.csv
    [ "${lines[2]}" = '| gru | 2 | - | 30 % | 31 % | 23 % | 5 % | 11 % | 4.5 % | 4.00, 2 of 2 | 1.77, 2 of 2 |' ]
    # Where the suite moves no values there is no column of them: 0.02 and 0.008 ms are gone.
    sed '/,suite,/s/,0\.0[0-9]*,\(0\.5,0\.4,,0,\)/,,\1/' tests/cli/golden/apps-rnn.csv >"$BATS_TEST_TMPDIR/stay.csv"
    run -0 "$ROWS_PROGRAM" table networks by=cell "$BATS_TEST_TMPDIR/stay.csv"
    [ "${lines[2]}" = '| gru | 2 | - | 30 % | 31 % | 23 % | 5 % | 11 % | 4.00, 2 of 2 | 1.77, 2 of 2 |' ]
    refused 3 'no column colour' table networks by=colour tests/cli/golden/apps-rnn.csv
    refused 3 'no rows of this suite' table networks "$h200/spmm.csv"
    grep -v ,suite, tests/cli/golden/apps-rnn.csv >"$BATS_TEST_TMPDIR/rivals.csv"
    refused 3 'no rows of networks with times; make measure-app APP=rnn measures them' table networks "$BATS_TEST_TMPDIR/rivals.csv"
}

@test "masks by density: where sparse attention meets dense attention, by family and precision" {
    masks=$BATS_TEST_TMPDIR/attention-mask.csv
    echo 'contender,precision,dataset,rows,nnz,status,median_ms,device,driver,toolkit,commit' >"$masks"
    mask() { echo "$1,$2,\"$3\",99,$4,ok,$5,GPU,1,2,c0ffee" >>"$masks"; }
    # 4950 pairs in the causal half: masks of 10, 20 and 40 %.
    mask 'cuBLAS dense' fp32 'mask:rows=99,band=99' 4950 4
    mask 'cuBLAS dense' fp16 'mask:rows=99,band=99' 4950 1
    for precision in fp32 fp16; do
        mask fused_attention $precision 'mask:rows=99,band=5,share=0' 495 2
        mask fused_attention $precision 'mask:rows=99,band=10,share=0' 990 8
        mask fused_attention $precision 'mask:rows=99,band=5,share=0.3' 1980 3
    done
    run -0 "$ROWS_PROGRAM" table transformer_sweep "$masks"
    grep -qxF '| band=5,share=0 | 10.00 | 2.000 | **2.00** | 2.000 | 0.50 |' <<<"$output"
    grep -qxF '| all pairs, dense | 100 | 4.000 | 1 | 1.000 | 1 |' <<<"$output"
    run -0 "$ROWS_PROGRAM" table transformer_crossings "$masks"
    # Half way from 2 to 8 ms by the logarithm: 10 % times the root of 2. In fp16 dense is the faster one everywhere.
    grep -qxF '| a band alone | 14.1 | none |' <<<"$output"
    grep -qxF '| a band of 5, and beyond it | all | none |' <<<"$output"
    sed -i 's/,ok,[0-9]*,/,ok,,/' "$masks"
    run -0 "$ROWS_PROGRAM" table transformer_sweep "$masks"
    [ "${lines[0]}" = 'Not measured yet.' ]
}

@test "value cell: a number of an application's rows, or of two of them" {
    apps=$BATS_TEST_TMPDIR/apps.csv
    {
        echo "schema,model,kernel,tokens_per_s,device,driver,toolkit,commit"
        echo "1,13B,dense,2000,GPU,1,2,abc"
        echo "1,13B,sparse,3000,GPU,1,2,abc"
        echo "1,30B,dense,,GPU,1,2,abc"
    } >"$apps"
    run -0 "$ROWS_PROGRAM" value cell column=tokens_per_s row=model=13B,kernel=dense "$apps"
    [ "$output" = 2000 ]
    run -0 "$ROWS_PROGRAM" value cell column=tokens_per_s row=model=13B,kernel=sparse over=model=13B,kernel=dense "$apps"
    [ "$output" = 1.50 ]
    # Files may have columns of their own.
    printf 'who,tokens_per_s,device,driver,toolkit,commit\nothers,1000,GPU,1,2,abc\n' >"$BATS_TEST_TMPDIR/others.csv"
    run -0 "$ROWS_PROGRAM" value cell column=tokens_per_s row=model=13B,kernel=sparse over=who=others "$apps" "$BATS_TEST_TMPDIR/others.csv"
    [ "$output" = 3.00 ]
    refused 3 "no rows of tokens_per_s of model=30B" value cell column=tokens_per_s row=model=30B "$apps"
    refused 3 "no rows of tokens_per_s of model=66B" value cell column=tokens_per_s row=model=66B "$apps"
    refused 3 "two rows with model=13B" value cell column=tokens_per_s row=model=13B "$apps"
    refused 2 "'13B' is no COLUMN=VALUE" value cell column=tokens_per_s row=13B "$apps"
    refused 2 "column kernel of model=13B,kernel=dense has 'dense', no number" value cell column=kernel row=model=13B,kernel=dense "$apps"
}

@test "scaling: a model of parts that were timed alone; ranks: what several GPUs took" {
    rows=$BATS_TEST_TMPDIR/parts.csv
    columns=schema,operation,lab,contender,precision,dataset,origin,rows,cols,nnz,N,device,driver,toolkit,commit
    echo "$columns,flags,tuning,seed,l2,prepare_ms,median_ms,gflops,vendor_best,vendor_default,status" >"$rows"
    row() { echo "2,spmm,$1,$2,fp32,\"$3\",real,$4,1000000,9,32,GPU,1,2,c0ffee,$5,,1,warm,0.5,$6,7,V,V,ok" >>"$rows"; }
    row 99 open g 1000000 "" 1.0
    row 99 open g@0/2 500000 "" 0.5
    refused 3 'lab99 on all parts of a matrix' table scaling "$rows"
    row 99 open g@1/2 500000 "" 0.625
    # t = 0.625, mean 0.5625; g = 1/2 * 4 * 32 * 10^6 B / 128 GB/s = 0.5 ms; in 4 chunks 0.625 + 0.125
    run -0 --separate-stderr "$ROWS_PROGRAM" table scaling bus=128 "$rows"
    [[ $output == *'| g (real) | 32 | 2 | 625 | 1.111 | 80 % | 500 | 44 % | 67 % |'* ]]
    [[ ${lines[0]} == *'| model: efficiency, B replicated | model: exchange, us |'* ]]
    refused 2 'bus=0: a number above 0' table scaling bus=0 "$rows"
    refused 2 'chunks=0.5: a whole number' table scaling chunks=0.5 "$rows"
    row 99 open rand:rows=10,deg=2 10 "" 1.0
    row 99 open rand:rows=20,deg=2@0/2 10 "" 1.25
    row 99 open rand:rows=20,deg=2@1/2 10 "" 1.25
    run -0 --separate-stderr "$ROWS_PROGRAM" table scaling weak=1 bus=128 "$rows"
    [[ $output == *'| rand:rows=20,deg=2 (real) | 32 | 2 | 1250 | 1.000 | 80 % | 500 | 57 % | 73 % |'* ]]
    [[ $output != *'| g (real) |'* ]]

    refused 2 'flags=devices=P' table ranks "$rows"
    refused 3 '4 GPUs' table ranks flags=devices=4 "$rows"
    row 99 open g 1000000 devices=4 1.0
    row 70 row_partition g 1000000 devices=4 0.5
    run -0 --separate-stderr "$ROWS_PROGRAM" table ranks flags=devices=4 "$rows"
    [[ $output == *'| g (real) | 32 | 1000 | 500 | 50 % | - | - |'* && ${lines[0]} == *'measured'* ]]
}

@test "nets beside others': of equal width, or of a pair; a run's own net comes first" {
    nets=$BATS_TEST_TMPDIR/apps-mobilenet.csv
    {
        echo schema,app,network,layer,width,batch,ms,device,driver,toolkit,commit
        for run in 1.0:2:3 1.5:4:10; do # width, ms of the suite's net, ms of cuBLAS's
            IFS=: read -r width own other <<<"$run"
            echo "1,mobilenet,suite,0,$width,8,9,GPU,1,2,abc"
            echo "1,mobilenet,suite,all,$width,8,$own,GPU,1,2,abc"
            echo "1,mobilenet,cuBLAS + kernel,all,$width,8,$other,GPU,1,2,abc"
            echo "1,mobilenet,cuBLAS + kernel,all,0.5,8,$own,GPU,1,2,abc"
            echo "1,mobilenet,\"cuBLAS + kernel, TF32\",all,$width,8,1,GPU,1,2,abc"
        done
        echo "1,mobilenet,suite,all,1.8,8,,GPU,1,2,abc" # a wrong net has no time
        echo "1,mobilenet,cuBLAS + kernel,all,1.8,8,100,GPU,1,2,abc"
    } >"$nets"
    value_of() { "$ROWS_PROGRAM" value net over=cublas-kernel batch=8 "$@" "$nets"; }
    [ "$(value_of widths=equal)" = 1.94 ] # the root of 1.5 and 2.5
    [ "$(value_of widths=equal stat=least need=2)" = 1.50 ]
    [ "$(value_of widths=pairs)" = 1.00 ]
    [ "$(value_of widths=equal over=cublas-kernel-tf32 stat=most)" = 0.50 ]
    refused 3 "only 2 of 3 cases" value net over=cublas-kernel batch=8 widths=equal need=3 "$nets"
    refused 3 "nets beside cublaslt at batch 8" value net over=cublaslt batch=8 widths=equal "$nets"
}

@test "what ncu prints, as rows; what tests/counters expects of its kernels, beside it" {
    rows=$BATS_TEST_TMPDIR/rows.csv raw=$BATS_TEST_TMPDIR/raw expected=$BATS_TEST_TMPDIR/expected.csv
    printf 'dataset,origin,N,device,driver,toolkit,commit\n"rand:rows=3,deg=2",generated,32,GPU,1,2,abc\n' >"$rows"
    cat >"$raw" <<'RAW'
==PROF== Connected to process 1
"text of the program"
"ID","Kernel Name","launch__waves.sum","l1tex__t_op_st.sum","smsp__n_op_red.sum","smsp__n_op_atom.sum","lts__hit_rate.pct"
"","","","","","","%"
"0","first_kernel(int, const int *)","9","1,280","30","4","41.5"
"1","void second_kernel<(int)3, (int)4>(int)","9","2","3","","7"
"2","first_kernel(int, const int *)","9","99","99","99","99"
RAW
    run -0 "$ROWS_PROGRAM" ncu "$rows" "$raw"
    [ "${#lines[@]}" -eq 10 ]
    [ "${lines[0]}" = dataset,origin,N,kernel,metric,value,device,driver,toolkit,commit ]
    [ "${lines[1]}" = '"rand:rows=3,deg=2",generated,32,first_kernel,l1tex__t_op_st.sum,1280,GPU,1,2,abc' ]
    [[ ${lines[5]} == *',"second_kernel<3, 4>",smsp__n_op_red.sum,3,'* ]]
    run -0 "$ROWS_PROGRAM" ncu header=0 wanted='_rate\.pct$' "$rows" "$raw"
    [ "${#lines[@]}" -eq 3 ]
    refused 3 "no kernel in what ncu printed" ncu "$rows" "$rows"
    cat >"$expected" <<'END_OF_EXPECTED'
kernel,metric,expected,toolkit,commit
first_kernel,l1tex__t_op_st.sum,1280,2,abc
first_kernel,smsp__n_op_red.sum,34,2,abc
"second_kernel<3,4>",l1tex__t_op_st.sum,5,2,abc
third_kernel,smsp__n_op_red.sum,1,2,abc
END_OF_EXPECTED
    run -0 --separate-stderr "$ROWS_PROGRAM" patterns device=GPU driver=1 "$raw" "$expected"
    [ "${#lines[@]}" -eq 4 ]
    [ "${lines[2]}" = first_kernel,smsp__n_op_red.sum,34,34,yes,GPU,1,2,abc,tests/counters ]
    [ "$stderr" = "2 of 3 values as expected
  second_kernel<3,4> l1tex__t_op_st.sum: expected 5, ncu 2
  not measured by ncu: smsp__n_op_red.sum" ]
}

@test "curve: the mean loss of 16 steps, the density where there is one, and how it ends" {
    curve=$BATS_TEST_TMPDIR/curve.csv
    {
        echo step,loss,density,held_out
        for step in $(seq 0 19); do echo "$step,$step,0.5,0.25"; done
    } >"$curve"
    run -0 "$ROWS_PROGRAM" curve name='two words' "$curve"
    [ "${#lines[@]}" -eq 41 ]
    [ "${lines[0]}" = $'point\tloss\ttwo\302\240words\t0\t0.000000' ]
    [ "${lines[15]}" = $'point\tloss\ttwo\302\240words\t15\t7.500000' ]
    [ "${lines[19]}" = $'point\tloss\ttwo\302\240words\t19\t11.500000' ] # of 4 to 19
    [ "${lines[39]}" = $'point\tdensity\ttwo\302\240words\t19\t50.000' ]
    [ "${lines[40]}" = $'point\tend\ttwo\302\240words\t19\t25.0' ]
    cut -d , -f 1,2,4 "$curve" >"$BATS_TEST_TMPDIR/plain.csv"
    run -0 "$ROWS_PROGRAM" curve "$BATS_TEST_TMPDIR/plain.csv"
    [ "${#lines[@]}" -eq 21 ]
    refused 3 "no column step" curve "$h200/spmm.csv"
}

@test "a lab's table has a vendor's column where a vendor has the operation" {
    run -0 "$ROWS_PROGRAM" ladder lab=34 "$h200/softmax.csv"
    [[ $output == *$'| graph | lab34 ms |\n|---|---|\n'* && $output != *mean* && $output != *cuSPARSE* ]]
    run -0 "$ROWS_PROGRAM" ladder lab=36 "$h200/attention.csv"
    [[ $output == *$'lab36 over lab35 | lab36 over cuSPARSE default |\n|---|---|---|---|---|\n'*"| geometric mean, how many ahead | | | **"* ]]
}

@test "cases: without all algorithms the vendor's default stands alone; a row without a time is no case" {
    rows=$BATS_TEST_TMPDIR/huge.csv
    awk -F, 'NR == 1 || /,lab99|^2,spmm,(99|70|0),/' "$h200/spmm-huge.csv" >"$rows"
    grep -q '^2,spmm,70,' "$rows"
    run -0 "$ROWS_PROGRAM" table cases of=lab99 "$rows"
    [[ $output == *"| papers100M (stand-in) | 32 | "*" | - | "*" | - |"* ]]
    [ "$(grep -c '(stand-in) | 32' <<<"$output")" -eq 2 ]
    run -0 "$ROWS_PROGRAM" table cases of=lab99 behind=1 "$rows"
    [[ $output == *"| none |"* ]]
}
