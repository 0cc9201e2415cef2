# The report: tables and numbers of made-up rows, what is said where rows are missing or malformed, the same
# bytes twice; and that the report in the tree is the one of the rows in the tree.

# bats sets $stderr:
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.." || return
    rows=$BATS_TEST_TMPDIR/rows
    page=$BATS_TEST_TMPDIR/page
    text=$BATS_TEST_TMPDIR/text.md
    mkdir -p "$rows" "$page/figures"
    cp tests/cli/golden/report.csv "$rows/spmm.csv"
    printf '# limits of GPU, measured by ./limits\ncopy_gbs\t4000\nfp32_gflops\t60000\nlaunch_us\t5\n' >"$rows/limits.tsv"
}

# row COLUMN=VALUE...: a row of the golden ones, but for these cells.
row() {
    awk -F , -v OFS=, '
        BEGIN { for (i = 2; i < ARGC; i++) { split(ARGV[i], part, "="); value[part[1]] = substr(ARGV[i], length(part[1]) + 2); ARGV[i] = "" } }
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        NR == 2 { for (name in value) $at[name] = value[name]; print }' tests/cli/golden/report.csv "$@"
}

# report [FORMAT]: the page of the text on standard input.
report() {
    cat >"$text"
    run --separate-stderr scripts/report "$rows" "$page" "${1:-md}" "$text"
    echo "status $status: $stderr"
}

@test "tables are those of the rows: golden text" {
    report <<'END'
{{table speedups dense=1 spmm.csv: Labs.}}
{{table cases of=lab10 spmm.csv: Cases.}}
{{table cases of=lab10 behind=1 spmm.csv: Behind.}}
{{table prepare of=lab10 spmm.csv: Preparing.}}
{{table sweep lab=10 spmm.csv: Settings.}}
{{table ablation spmm.csv: Swizzle.}}
{{table stand_ins spmm.csv: Stand-ins.}}
{{table files spmm.csv: Files.}}
{{table ladder-table spmm.csv: Ladder.}}
END
    [ "$status" -eq 0 ]
    diff tests/cli/golden/report.md "$page/report.md"
}

@test "of dense products with B in either layout the fastest counts, and is named" {
    dense() { row lab=0 contender="$1" prepare_ms=1 median_ms="$2"; }
    {
        dense 'cuBLAS SGEMM column-major B (dense)' 1.6
        dense 'cuBLAS SGEMM TF32 column-major B (dense)' 0.7
    } >>"$rows/spmm.csv"
    report <<<'{{table cases of=lab10 spmm.csv: Cases.}}
{{table speedups labs=10 dense=1 spmm.csv: Labs.}}'
    [ "$status" -eq 0 ]
    grep -qF '| 4000 (B) | 1600 (SGEMM column-major B) | 500 (SGEMM TF32) | 6.00 | 4.00 | 1.60 |' "$page/report.md"
    grep -q '^| 10 | graphs |.*| 1[.]60 | 1 |$' "$page/report.md"
    # In another order of rows the same.
    dense 'cuBLAS SGEMM TF32 column-major B (dense)' 0.3 >>"$rows/spmm.csv"
    dense 'cuBLAS SGEMM TF32 (dense)' 0.5 >>"$rows/spmm.csv"
    report <<<'{{table cases of=lab10 spmm.csv: Cases.}}'
    grep -qF '| 300 (SGEMM TF32 column-major B) |' "$page/report.md"
}

@test "the table of pruned weights names the dense products that were the fastest" {
    llm() { row lab="$1" contender="$2" dataset="llm.$3-random-0.5" l2=cold precision=fp16 N=16 median_ms="$4"; }
    {
        head -n 1 tests/cli/golden/report.csv
        llm 20 lane 64x64 1
        llm 0 'cuBLASLt (dense)' 64x64 3
        llm 0 'cuBLASLt column-major B (dense)' 64x64 2
        llm 20 lane 32x32 1
        llm 0 'cuBLASLt (dense)' 32x32 1.5
        llm 0 'cuBLAS GemmEx column-major B (dense)' 32x32 4
        llm 0 'cuBLASLt (dense)' 8x8 1 # beside no lab
    } >"$BATS_TEST_TMPDIR/llm.csv"
    run -0 scripts/rows dense "$BATS_TEST_TMPDIR/llm.csv"
    [[ $output == *"| **1.73** | 2 of 2 | 1.50 (32x32) | 2.00 (64x64) |"* ]]
    [[ $output == *"The fastest dense product of the 2 problems: cuBLASLt (dense) in 1, cuBLASLt column-major B (dense) in 1."* ]]
}

@test "a lab at all its widths beside another, matrix by matrix" {
    # timed LAB DATASET N MS; without MS the lab ran out of memory.
    timed() { row lab="$1" contender="of $1" dataset="$2" N="$3" median_ms="$4" status="$([ "$4" ] && echo ok || echo oom)"; }
    {
        head -n 1 tests/cli/golden/report.csv
        timed 20 a 16 1
        timed 10 a 16 2
        timed 20 a 512 4
        timed 10 a 512 2
        timed 20 b 16 1
        timed 10 b 16 8
        timed 20 b 512 ""
        timed 10 b 512 3
        timed 10 c 16 5 # the lab itself has no row of it
    } >"$rows/widths.csv"
    report <<'END'
{{table widths of=lab20 over=lab10 widths.csv: Widths.}}
END
    [ "$status" -eq 0 ]
    diff - <(grep '^|' "$page/report.md") <<'END'
| matrix | N = 16, us | over lab 10 | N = 512, us | over lab 10 |
|---|---:|---:|---:|---:|
| a (real) | 1000 | 2.00 | 4000 | <mark>0.50 (behind)</mark> |
| b (real) | 1000 | 8.00 | - | - |
| geometric mean, ahead | | 4.00, 2 of 2 | | 0.50, 0 of 1 |
END
}

@test "an operation's own table: its width's name, the kernel behind a rule, another operation at the same width" {
    # sddmm LAB CONTENDER DATASET K MS [TUNING]
    sddmm() { row lab="$1" contender="$2" dataset="$3" N="$4" median_ms="$5" tuning="${6-}" status=ok; }
    {
        head -n 1 tests/cli/golden/report.csv | sed 's/^/operation,/; s/$/,gather_share/'
        {
            sddmm 99 open a 32 2 "KERNEL=sddmm_tiles U=4"
            sddmm 31 sddmm_balanced a 32 4
            sddmm 0 'cuSPARSE B' a 32 6
            sddmm 0 'cuSPARSE D' a 32 8
            sddmm 99 open a 64 5
            sddmm 0 'cuSPARSE B' a 64 4
        } | sed 's/^/sddmm,/; s/$/,0.75/'
    } >"$rows/sddmm.csv"
    {
        head -n 1 tests/cli/golden/report.csv | sed 's/^/operation,/'
        { sddmm 99 open a 32 4 && sddmm 99 open a 64 4; } | sed 's/^/spmm,/'
    } >"$rows/spmm-beside-sddmm.csv"
    report <<'END'
{{table graphs op=sddmm beside=spmm sddmm.csv spmm-beside-sddmm.csv: Graphs.}}
{{table speedups labs=31 sddmm.csv: Labs.}}
{{table ladder-table sddmm.csv: Ladder.}}
{{value beside of=lab99 op=sddmm over=lab99 other=spmm sddmm.csv spmm-beside-sddmm.csv}} {{value beside of=lab99 op=sddmm over=lab99 other=spmm stat=most sddmm.csv spmm-beside-sddmm.csv}}
END
    [ "$status" -eq 0 ]
    diff - <(grep '^|' "$page/report.md" | head -n 8) <<'END'
| matrix | K | lab 99, us | kernel | gather share | over default | over best (which) | spmm, us | sddmm over it |
|---|---:|---:|---|---:|---:|---|---:|---:|
| a (real) | 32 | 2000 | tiles | 75 % | 4.00 | 3.00 (B) | 4000 | 0.50 |
| a (real) | 64 | 5000 | open | 75 % | - | <mark>0.80 (behind)</mark> (B) | 4000 | 1.25 |
| geometric mean, ahead | | | | | 4.00, 1 of 1 | 1.55, 1 of 2 | | 0.79 |
| lab | problems | K | cases | over best | least, on | most | ahead | over default | ahead |
|---:|---|---:|---:|---:|---|---:|---:|---:|---:|
| 31 | graphs | 32 | 1 | **1.50** | 1.50, a | 1.50 | 1 | 2.00 | 1 |
END
    grep -qx 'K = 32' "$page/report.md"
    grep -qx '0.79 1.25' "$page/report.md"
    # The ladder's table is of one operation.
    report <<<'{{table ladder-table sddmm.csv spmm-beside-sddmm.csv: Both.}}'
    [[ $status -eq 3 && $stderr == *"rows of sddmm and of spmm in one table"* ]]
}

@test "the switches of a lab, each alone and all of them, per model and batch" {
    # sweep DATASET TUNING MS: a row of lab 6.
    sweep() { row lab=6 contender=roma dataset="$1" flags=sweep N=256 tuning="$2" median_ms="$3" status=ok; }
    {
        head -n 1 tests/cli/golden/report.csv
        sweep rn50.a-0.9 "V=4 P=1" 1
        sweep rn50.a-0.9 "V=1 P=1" 2
        sweep rn50.a-0.9 "V=4 P=0" 1.1
        sweep rn50.a-0.9 "V=1 P=0" 3
        sweep rn50.a-0.9 "V=2 P=1" 9 # a value that is neither: not counted
        sweep rn50.b-0.9 "V=4 P=1" 1
        sweep rn50.b-0.9 "V=1 P=1" 8
        sweep transformer.c-0.9 "V=4 P=1" 2
        sweep transformer.c-0.9 "V=1 P=1" 1
    } >"$rows/sweep.csv"
    report <<'END'
{{table switches lab=6 full=V:4,P:1 off=V:1,P:0 sweep.csv: Switches.}}
END
    [ "$status" -eq 0 ]
    diff - <(grep '^|' "$page/report.md") <<'END'
| model | N | V=1 instead of 4 | P=0 instead of 1 | all of these |
|---|---:|---:|---:|---:|
| rn50 | 256 | 4.000 (2) | 1.100 (1) | 3.000 (1) |
| transformer | 256 | 0.500 (1) | - | - |
END
    report <<'END'
{{table switches lab=7 full=V:4 off=V:1 sweep.csv: Switches.}}
END
    [ "$status" -eq 3 ]
}

@test "numbers in the text are those of the rows" {
    report <<'END'
{{value speedup of=lab10 over=best spmm.csv}} {{value speedup of=lab10 over=best stat=least spmm.csv}};
{{value speedup of=lab10 over=default N=32 only=^a$ spmm.csv}}; {{value speedup of=lab10 over=best stat=ahead spmm.csv}};
{{value time of=lab10 only=^b$ N=32 spmm.csv}} {{value peak of=lab10 spmm.csv limits.tsv}}
{{value rule lab=10 spmm.csv}} {{value limit name=copy_gbs limits.tsv}}
{{value share column=status value=ok skip=oom spmm.csv}} {{value crossover of=lab10 over=dense spmm.csv}}
{{value chosen of=lab10 among=2,5 spmm.csv}}; {{value chosen of=lab2 among=5,10 only=^b$ spmm.csv}}
END
    [ "$status" -eq 0 ]
    # Ratios 4 and 1/2; 6 at a; 100 of 60000 GFLOP/s; of sweeps b's best
    # takes 1.5 of the rule's 2 ms, a's 1.25, and the rule 1 with a setting that was not swept. Lab 10 is the
    # fastest on both, lab 2 takes twice as long on b.
    diff - <(head -n 6 "$page/report.md") <<'END'
1.41 0.50;
6.00; 1 of 2;
2000 0.2 %
86.6 % 4000.0
18 of 18 50 %
100.0 %; 50.0 %
END
}

@test "times of a problem that several files have are of the first: of one sitting" {
    sed 's/cuSPARSE D,\(.*\),6,ok/cuSPARSE D,\1,3,ok/' "$rows/spmm.csv" >"$rows/spmm-again.csv"
    report <<<'{{value speedup of=lab10 over=default only=^a$ spmm.csv spmm-again.csv}} {{value speedup of=lab10 over=default only=^a$ spmm-again.csv}}'
    [ "$(head -n 1 "$page/report.md")" = '6.00 3.00' ]
}

@test "an unknown marker, table or number is one line with its place, status 2, and no page" {
    for marker in '{{picture a: b}}' 'text {{value speed spmm.csv}}' '{{table speeds spmm.csv: All.}}' '{{figure a}}' \
        'not closed {{value time'; do
        report <<<"one
$marker"
        [ "$status" -eq 2 ]
        [[ $stderr == "report: $text:2: unknown "* && $(wc -l <<<"$stderr") -eq 1 ]]
        [ ! -e "$page/report.md" ]
    done
    run -2 scripts/report "$rows" "$page" txt
    run -2 scripts/report "$rows"
}

@test "a number of a summary stands under the name of its row; an app measures its own" {
    printf 'name,least,device,driver,toolkit,commit\none,1.5,GPU,1,2,c\ntwo,2.25,GPU,1,2,c\n' >"$rows/apps-mobilenet.csv"
    report <<'END'
a {{value cell row=name=two column=least apps-mobilenet.csv}} b
END
    [ "$status" -eq 0 ]
    grep -qxF 'a 2.25 b' "$page/report.md"
    report <<'END'
a {{value cell row=name=three column=least apps-mobilenet.csv}} b
END
    [ "$status" -eq 3 ]
    grep -qxF 'a **not measured** b' "$page/report.md"
    rm "$rows/apps-mobilenet.csv"
    report <<'END'
{{value cell row=name=two column=least apps-mobilenet.csv}}
END
    [ "$status" -eq 3 ]
    [[ $stderr == *"make measure-app APP=mobilenet measures it"* ]]
}

@test "missing rows: the place says which command measures them, status 3, and the rest is made" {
    echo 'drawn' >"$page/figures/there.svg"
    echo 'of other rows' >"$page/figures/gone.svg"
    echo 'gone: no rows of lab 5; make bench PLAN=full measures them' >"$page/figures/gone.txt"
    report <<'END'
{{table cases spmm-rnn.csv: A file that is not there.}}
{{table cases of=lab9 spmm.csv: A lab that is not there.}}
{{table counters counters.csv: What make bench does not measure.}}
{{table resources-table resources.csv: Nor this.}}
{{table graphs sddmm-rnn.csv: Of another plan.}}
{{figure there: Drawn.}}
{{figure gone: Not drawn.}}
a {{value time of=lab5 only=^a$ N=32 spmm.csv}} b {{value limit name=launch_us limits.tsv}} c
END
    [ "$status" -eq 3 ]
    grep -qxF '> **Not shown:** no spmm-rnn.csv; make bench PLAN=full measures it' "$page/report.md"
    grep -qxF '> **Not shown:** no counters.csv; make validate-counters measures it' "$page/report.md"
    grep -qxF '> **Not shown:** no resources.csv; make resources measures it' "$page/report.md"
    grep -qxF '> **Not shown:** no sddmm-rnn.csv; make bench PLAN=sddmm measures it' "$page/report.md"
    grep -qxF '> **Not shown:** no rows of lab9; make bench PLAN=full measures them' "$page/report.md"
    grep -qxF '![there](figures/there.svg)' "$page/report.md"
    grep -qxF '> **Not shown:** gone: no rows of lab 5; make bench PLAN=full measures them' "$page/report.md"
    grep -qxF 'a **not measured** b 5.0 c' "$page/report.md"
    grep -qxF '**Figure 2.** Not drawn.' "$page/report.md"
    [ "$(wc -l <<<"$stderr")" -eq 7 ]
}

@test "what bounds a case is as ncu has it, with its machine and data" {
    cp tests/cli/golden/resources.csv "$rows"
    report <<<'{{table resources-table resources.csv: Resources.}}'
    [ "$status" -eq 0 ]
    grep -qF ' | 113.6 | L2 to the crossbar 85 %; ' "$page/report.md"
    grep -qF '; data stand-in: llm.28672x8192-random-0.5, protein; rows of resources.csv<' "$page/report.md"
}

@test "malformed rows: file and line are said, and the other tables are made" {
    said=()
    for edit in '2s/,ok,/,ok,extra,/' '2s/,8,ok/,fast,ok/' '1s/median_ms/median/'; do
        sed "$edit" tests/cli/golden/report.csv >"$rows/bad.csv"
        report <<'END'
{{table cases of=lab10 bad.csv: Malformed.}}
{{table machine limits.tsv: Whole.}}
END
        [ "$status" -eq 3 ]
        said+=("$(grep '^> \*\*Not shown:\*\*' "$page/report.md")")
        grep -qxF '| copy in memory, bytes read and written | 4.00 TB/s |' "$page/report.md"
    done
    [[ ${said[0]} == *"bad.csv:2: not the 22 cells of the first line" ]]
    [[ ${said[1]} == *"bad.csv:2: median_ms is no number: 'fast'" ]]
    [[ ${said[2]} == *"bad.csv: no column median_ms" ]]
}

@test "what was asked stands beside what was reached" {
    ROWS_PROGRAM=$(scripts/rows --program)
    export ROWS_PROGRAM
    cp -r scripts report "$BATS_TEST_TMPDIR"
    printf '%s\t%s\t%s\t%s\t%s\n' \
        graphs met 'at least' 1.4 'speedup of=lab10 over=best spmm.csv' \
        graphs missed 'at most' 1999 'time of=lab10 only=^b$ N=32 spmm.csv' \
        graphs open 'at least' 1 'speedup of=lab20 over=best spmm.csv' \
        graphs beaten 'at least' 'published experiment=E7 N=32 setting=final quantity=speedup published.tsv' \
        'speedup of=lab10 over=best spmm.csv' \
        graphs unknown 'at least' 'published experiment=E8 N=32 setting=final quantity=speedup published.tsv' \
        'speedup of=lab10 over=best spmm.csv' \
        graphs nowhere 'at most' 70 'crossover of=lab10 over=tf32 spmm.csv' \
        graphs one-sided 'at least' 'published experiment=E7 N=32 setting=none over=final published.tsv' \
        'speedup of=lab10 over=best spmm.csv' >"$BATS_TEST_TMPDIR/report/targets.tsv"
    printf 'E7\tTPU\tgeomean\t32\tfinal\t%s\t1.30\n' speedup time_s >"$BATS_TEST_TMPDIR/report/published.tsv"
    echo '{{asked}}' >"$text"
    run -3 "$BATS_TEST_TMPDIR/scripts/report" "$rows" "$page" md "$text"
    grep -qxF '| graphs: met | at least 1.4 | 1.41 | met |' "$page/report.md"
    grep -qxF '| graphs: missed | at most 1999 | 2000 | <mark>missed</mark> |' "$page/report.md"
    grep -qxF '| graphs: open | at least 1 | - | not measured |' "$page/report.md"
    grep -qxF '| graphs: beaten (published) | at least 1.30 | 1.41 | met |' "$page/report.md"
    grep -qxF '| graphs: unknown (published) | at least **not measured** | 1.41 | no target |' "$page/report.md"
    grep -qxF '| graphs: nowhere | at most 70 | nowhere | <mark>missed</mark> |' "$page/report.md"
    grep -qxF '| graphs: one-sided (published) | at least **not measured** | 1.41 | no target |' "$page/report.md"
    grep -qxF '2 met, 2 missed, 1 not measured.' "$page/report.md"
}

@test "the targets of training are computed from the rows that its plan and its programs leave" {
    full=$BATS_TEST_TMPDIR/full
    mkdir "$full"
    # 72 problems out of two.
    awk -F , -v OFS=, 'NR == 1 { print; next } { row[NR] = $0 }
        END { for (i = 1; i <= 36; i++) for (r = 2; r <= NR; r++) { line = row[r]; gsub(/gru-1024/, "gru-" i, line); print line } }' \
        tests/cli/golden/apps-rnn.csv >"$full/apps-rnn.csv"
    grep -o '[^ 	]*[.]csv' <<<"$(grep '^Training	' report/targets.tsv)" | grep -v '^apps-' | sort -u | while read -r file; do
        grep -q "^$file " report/plans/*
    done
    echo '{{asked}}' >"$text"
    run scripts/report "$full" "$page" md "$text"
    grep -qxF '| Training: values to the transpose alone, most of a step of lab 60, 72 RNN problems, % | at most 10 | 5.0 % | met |' "$page/report.md"
    grep -qxF '| Training: values to the transpose alone, over cusparseCsr2cscEx2, 72 RNN problems, least | at least 5 | 5.00 | met |' "$page/report.md"
    grep -qxF "| Training: lab 60's steps ahead of cuSPARSE's best, 72 RNN problems | at least 72 | 72 of 72 | met |" "$page/report.md"
    grep -qxF '| Training: lab 41 ahead of dense TF32 from this sparsity, % | stated | - | not measured |' "$page/report.md"
    sed -i 's/,0.02,0.5,0.4,/,0.05,0.5,0.4,/' "$full/apps-rnn.csv" # of 0.4: 12.5 %
    run scripts/report "$full" "$page" md "$text"
    grep -q 'most of a step of lab 60.* | 12.5 % | <mark>missed</mark> |$' "$page/report.md"
    grep -q 'cusparseCsr2cscEx2.* | 2.80 | <mark>missed</mark> |$' "$page/report.md"
}

@test "the same rows give the same bytes of Markdown and HTML, and HTML is one file" {
    command -v pandoc >/dev/null || skip "no pandoc (scripts/setup --report)"
    echo '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>' >"$page/figures/a.svg"
    for kept in first second; do
        report html <<'END'
# Title

{{figure a: Drawn.}}

## Part

{{table cases of=lab10 spmm.csv: Cases.}}
END
        [ "$status" -eq 0 ]
        [ $kept = second ] || cp "$page/report.md" "$page/report.html" "$BATS_TEST_TMPDIR"
        sleep 1 # a time in it would be another one
    done
    cmp "$page/report.md" "$BATS_TEST_TMPDIR/report.md"
    cmp "$page/report.html" "$BATS_TEST_TMPDIR/report.html"
    grep -q '<table>' "$page/report.html"
    grep -q 'data:image/svg' "$page/report.html"
    run ! grep -E '(src|href)="[^#d]' "$page/report.html"
}

@test "the report in the tree is the one of the rows in the tree" {
    mkdir -p "$page"
    cp -r report/figures "$page"
    run scripts/report report/results/h200 "$page" md
    [ "$status" -eq 0 ] || [ "$status" -eq 3 ]
    diff "$page/report.md" report/report.md
    [ -z "$(git ls-files 'report/*.html' 'report/*.pdf' 'report/figures/*.png' 2>/dev/null)" ] # make report makes them
}
