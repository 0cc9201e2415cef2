# The figures of the report, of made-up rows: what is drawn, and what is said when rows are not what they should be.

# bats sets $output:
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.." || return
    /usr/bin/python3 -c 'import matplotlib' 2>/dev/null || skip "matplotlib is missing: scripts/setup --report installs it"
    results=$BATS_TEST_TMPDIR/results
    figures=$BATS_TEST_TMPDIR/figures
    mkdir "$results"
    awk 'BEGIN {
        print "lab,contender,precision,dataset,origin,N,device,driver,toolkit,commit,flags,l2,median_ms,status," \
            "vendor_best,vendor_default"
        for (N = 32; N <= 256; N += 224)
            for (graph = 1; graph <= 2; graph++) {
                row("1,one", 30); row("10,ten", graph); row("0,X", 3); row("0,Y", 4)
            }
    }
    function row(who, ms) {
        print who ",fp32," (graph == 1 ? "a,real" : "b,stand-in") "," N ",GPU,1.2,3.4,c0ffee,,warm," ms ",ok,X,Y"
    }' >"$results/spmm.csv"
}

# series NAME PANEL LINE: the points of a line of a figure, "name=value".
series() {
    scripts/rows series "$1" "$results" report/published.tsv |
        awk -F '\t' -v panel="$2" -v line="$3" '$1 == "point" && $2 == panel && $3 == line { printf "%s%s=%.6g", n++ ? " " : "", $4, $5 }'
}

@test "a figure is made of rows, says where they come from, and is the same every time" {
    run -0 scripts/plots "$results" "$figures" speedups
    [ "$output" = "" ]
    for said in 'a (real)' b 'lab 10' 'N = 256; grey: cuSPARSE is faster' 2.12 'GPU, driver 1.2, CUDA 3.4; commits c0ffee' \
        'data real: a; stand-in: b; rows of spmm.csv'; do # the mean of 3/1 and 3/2 is 2.12
        grep -qF -- "<!-- $said -->" "$figures/speedups.svg"
    done
    scripts/plots "$results" "$figures/again" speedups
    cmp "$figures/speedups.svg" "$figures/again/speedups.svg"
    cmp "$figures/speedups.png" "$figures/again/speedups.png"
}

@test "what is not there is named, with the command that measures it; other figures are made" {
    sed -i '/,256,/d' "$results/spmm.csv"
    run -3 scripts/plots "$results" "$figures" speedups roofline split_size row_lengths
    [ "${#lines[@]}" -eq 3 ]
    [[ ${lines[0]} == "speedups: no rows of N 256, "*"spmm.csv; make bench PLAN=full measures them" ]]
    [[ ${lines[1]} == "roofline: no $results/limits.tsv; make limits measures them" ]]
    [[ ${lines[2]} == "split_size: no $results/spmm-lab5-sweep*.csv; make bench PLAN=full measures them" ]]
    [ "$(cd "$figures" && echo *)" = "roofline.txt row_lengths.png row_lengths.svg speedups.txt split_size.txt" ]
    [[ $(cat "$figures/speedups.txt") == "${lines[0]}" ]] # which the report shows in the figure's place
}

@test "a malformed file is named with its line, and the figure of before stays" {
    mkdir "$figures"
    echo before >"$figures/speedups.svg"
    sed '3s/,warm,1,/,warm,1ms,/' "$results/spmm.csv" >"$results/new"
    mv "$results/new" "$results/spmm.csv"
    run -3 scripts/plots "$results" "$figures" speedups
    [ "$output" = "speedups: spmm.csv:3: median_ms is '1ms'" ]
    echo '1,one,fp32' >>"$results/spmm.csv"
    run -3 scripts/plots "$results" "$figures" speedups
    [[ $output == "speedups: "*"spmm.csv:18: not the 16 cells of the first line" ]]
    printf 'lab,precision\n' >"$results/spmm.csv"
    run -3 scripts/plots "$results" "$figures" speedups
    [ "$(cat "$figures/speedups.svg")" = before ]
}

# sddmm_rows OPERATION: rows of labs 31, 33 and 99 and of the vendor on a graph and on weights, at two widths.
sddmm_rows() {
    awk -v operation="$1" 'BEGIN {
        print "operation,lab,contender,precision,dataset,origin,rows,cols,nnz,N,device,driver,toolkit,commit,flags,l2," \
            "median_ms,status,vendor_best,vendor_default"
        for (K = 32; K <= 64; K *= 2) {
            both("31,balanced", K, 2, 9); both("33,tensor", K, 8, 3); both("99,open", K, 2, 3)
            both("0,X", K, 6, 12); both("0,cuBLAS (dense)", K, 30, 4)
        }
    }
    function both(who, K, graph, weights) { row(who, K, "a,real,1000,1000,5000", graph); row(who, K, "sweep-50,stand-in,100,100,5000", weights) }
    function row(who, K, matrix, ms) {
        print operation "," who ",fp32," matrix "," K ",GPU,1.2,3.4,c0ffee,,warm," ms * (operation == "spmm" ? 2 : 1) ",ok,X,X"
    }'
}

@test "a figure's line of dense products is that of the faster layout of B" {
    # The lab is ahead of the first layout everywhere, and of the second from 75 % on.
    awk 'BEGIN {
        print "operation,lab,contender,precision,dataset,origin,rows,cols,nnz,N,device,driver,toolkit,commit,flags,l2," \
            "median_ms,status,vendor_best,vendor_default"
        for (zeros = 50; zeros <= 90; zeros += 10) {
            row("99,open", 5 - zeros / 25); row("0,X", 9)
            row("0,cuBLAS SGEMM (dense)", 4); row("0,cuBLAS SGEMM TF32 (dense)", 0.1)
        }
    }
    function row(who, ms) {
        print "spmm," who ",fp32,sweep-" zeros ",generated,100,100," 10000 - 100 * zeros ",32,GPU,1.2,3.4,c0ffee,,warm," ms ",ok,X,X"
    }' >"$results/spmm-sparsity.csv"
    run -0 scripts/plots "$results" "$figures" sparsity
    grep -qF 'lab 99: 50 %, the least / never' "$figures/sparsity.svg"
    run ! grep -qF 'the faster layout' "$figures/sparsity.svg"
    sed -n 's/SGEMM (dense),\(.*\),4,ok/SGEMM column-major B (dense),\1,2,ok/p' "$results/spmm-sparsity.csv" >"$BATS_TEST_TMPDIR/more"
    cat "$BATS_TEST_TMPDIR/more" >>"$results/spmm-sparsity.csv"
    run -0 scripts/plots "$results" "$figures" sparsity
    grep -qF 'lab 99: 75 % / never' "$figures/sparsity.svg"
    grep -qF 'the faster layout' "$figures/sparsity.svg"
}

@test "SDDMM: beside SpMM of the same width, and which lab wins at which density" {
    sddmm_rows sddmm >"$results/sddmm.csv"
    sddmm_rows sddmm | grep -v ',32,GPU' >"$results/sddmm-sparsity.csv"
    sddmm_rows spmm >"$results/spmm-beside-sddmm.csv"
    run -0 scripts/plots "$results" "$figures" sddmm_beside_spmm sddmm_density
    [ "$output" = "" ]
    # Lab 99 takes half of what SpMM takes on both, the graph of 0.5 % is lab 31's and the weights are lab 33's.
    for said in 'K = 64' 'lab 99: 0.50' 'a (real)' 'rows of sddmm.csv, spmm-beside-sddmm.csv'; do
        grep -qF -- "<!-- $said" "$figures/sddmm_beside_spmm.svg" || grep -qF -- "$said -->" "$figures/sddmm_beside_spmm.svg"
    done
    for said in 'lab 31: 2 of 4' 'lab 33: 2 of 4' "cuSPARSE's best" 'cuBLAS'; do
        grep -qF -- "$said" "$figures/sddmm_density.svg"
    done
    cat "$results/spmm-beside-sddmm.csv" >>"$results/sddmm.csv"
    sed -i '2,${/^operation/d}' "$results/sddmm.csv"
    run -3 scripts/plots "$results" "$figures" sddmm_beside_spmm
    [[ $output == "sddmm_beside_spmm: sddmm.csv:2: times of sddmm and spmm in one" ]]
}

@test "a figure that there is not is a usage error, and nothing is made" {
    run -2 scripts/plots "$results" "$figures" speedups nosuch
    [[ $output == "plots: no figure 'nosuch' in report/plots; there are:"*" roofline "* ]]
    [[ $output != *suite* ]]
    run -2 scripts/plots "$results"
    [ ! -e "$figures" ]
}

@test "a wrong result has no time, and the fastest of many settings counts" {
    for ms in 3 2 4; do sed -n "s/^1,one,fp32,a,real,256\(.*\),30,ok/1,one,fp32,a,real,256\1,$ms,ok/p" "$results/spmm.csv"; done >"$results/more"
    sed -n 's/^1,one,fp32,a,real,256\(.*\),30,ok/1,one,fp32,a,real,256\1,1,wrong/p' "$results/spmm.csv" >>"$results/more"
    cat "$results/more" >>"$results/spmm.csv"
    [ "$(wc -l <"$results/more")" -eq 4 ]
    [ "$(series speedups 256 1)" = "a=1.5 b=0.1" ] # of a the vendor's 3 ms over 2
}

# sweep_row GRAPH TUNING MS: a row of lab 5.
sweep_row() { echo "5,split,fp32,$1,real,32,GPU,1.2,3.4,c0ffee,sweep,warm,$3,ok,X,Y,$2"; }

# sweep_of GRAPH...: the files of a sweep of these graphs, without rows; the vendor's default takes 20 ms.
sweep_of() {
    sed -n '1s/$/,tuning/p' "$results/spmm.csv" >"$results/spmm-lab5-sweep.csv"
    sed -i 1q "$results/spmm.csv"
    for graph; do echo "0,Y,fp32,$graph,real,32,GPU,1.2,3.4,c0ffee,,warm,20,ok,X,Y"; done >>"$results/spmm.csv"
}

@test "settings are compared with those alike that were measured with every value of the knob" {
    sweep_of a
    while read -r split C ms; do
        sweep_row a "SPLIT=$split D=1 C=$C LANES=32" "$ms"
    done >>"$results/spmm-lab5-sweep.csv" <<'END'
64 1 4
128 1 5
64 4 2
64 2 3
128 2 1
END
    [ "$(series split_size times a)" = "64=3 128=1" ]
    [ "$(series split_size means fastest)" = "64=6.66667 128=20" ]
    [ "$(series split_size means kernel)" = "64=5 128=4" ] # the published kernel's settings: C=1
}

@test "only settings that every graph was measured with are compared, and the legend names them" {
    sweep_of ddi arxiv
    for split in 64 128; do
        for graph in ddi arxiv; do
            sweep_row $graph "SPLIT=$split D=1 C=1 LANES=32" 4
            sweep_row $graph "SPLIT=$split D=1 C=2 LANES=32" 3
        done
        sweep_row arxiv "SPLIT=$split D=1 C=4 LANES=8" 1
    done >>"$results/spmm-lab5-sweep.csv"
    [ "$(series split_size times arxiv)" = "64=3 128=3" ]
    run -0 scripts/plots "$results" "$figures" split_size
    grep -qF '<text>lab 5, D 1, LANES 32, the fastest C</text>' "$figures/split_size.svg"
    grep -qF '<text>geometric mean of 2 graphs</text>' "$figures/split_size.svg"
    sed -i '/SPLIT=128/d' "$results/spmm-lab5-sweep.csv"
    run -3 scripts/plots "$results" "$figures" split_size
    [[ $output == "split_size: no rows of lab 5 at N = 32 that differ in SPLIT alone in "*"; make bench PLAN=full measures them" ]]
}

@test "the gather limit is the one of the harness, which wrote gather_share" {
    results=report/results/h200
    for problem in arxiv ddi citation; do # one over the share of lab 99's time
        share=$(awk -f tests/csv.awk -f /dev/fd/3 "$results/spmm.csv" 3<<AWK
            FNR == 1 { csv_columns(\$0, column); next }
            { csv_split(\$0, cell) }
            cell[column["lab"]] == 99 && cell[column["dataset"]] == "$problem" && cell[column["N"]] == 32 { print cell[column["gather_share"]] }
AWK
        )
        series gather_limit 32 99 | tr ' ' '\n' | awk -F = -v share="$share" -v problem=$problem '
            $1 == problem { found = 1; off = $2 * share - 1 } END { exit !(found && off < 1e-4 && off > -1e-4) }'
    done
    # Every row of a problem has the same limit: its rate over its share of it.
    awk -f tests/csv.awk -f /dev/fd/3 "$results/spmm.csv" 3<<AWK
        BEGIN { limits = "$(series roofline 32 gather_limit | tr ' ' '\n' | sed 's/.*=//' | paste -s -d ' ')" }
        FNR == 1 { csv_columns(\$0, column); split(limits, limit, " "); next }
        { csv_split(\$0, cell); which = cell[column["dataset"]] == "arxiv" ? 1 : cell[column["dataset"]] == "ddi" ? 2 : 0 }
        which && cell[column["N"]] == 32 && cell[column["gather_share"]] != "" {
            off = cell[column["gflops"]] / cell[column["gather_share"]] / limit[which] - 1
            if (off > 1e-4 || off < -1e-4) exit bad = 1
            rows++
        }
        END { exit bad || rows < 20 }
AWK
}

@test "every figure has its numbers from the program, none reads rows itself, and every lab has its look" {
    diff <(scripts/rows series list) <(for plot in report/plots/*; do [ -d "$plot" ] || [ ! -x "$plot" ] || basename "${plot%.*}"; done | sort)
    run ! grep -nE '\.csv|import csv|geomean\(' report/plots/*.py report/plots/*.gp
    for lab in labs/*_*; do
        lab=${lab#labs/}
        grep -qE "^$((10#${lab%%_*}))	#[0-9a-f]{6}	[os^Dvp]	[0-9]+$" report/plots/looks.tsv || { echo "$lab is not in looks.tsv"; false; }
    done
}

@test "a figure by gnuplot is the same every time, as SVG and as PNG, with its origin and its name" {
    for folder in "$figures" "$figures/again"; do scripts/plots report/results/h200 "$folder" dlmc choice; done
    for figure in dlmc choice; do
        cmp "$figures/$figure.svg" "$figures/again/$figure.svg"
        cmp "$figures/$figure.png" "$figures/again/$figure.png"
        grep -q "<title>$figure</title>" "$figures/$figure.svg"
        run ! grep -E "gpPt.*currentColor|gpPt.* color=" "$figures/$figure.svg" # which WeasyPrint cannot draw
        grep -q 'NVIDIA H200, driver [0-9.]*, CUDA [0-9.]*; commits' "$figures/$figure.svg"
    done
}
