# make plot: pictures of any file of rows, by gnuplot: what is drawn, in which terminal, and what is refused.

# bats sets $output and $stderr:
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.." || return
    command -v gnuplot >/dev/null || skip "gnuplot is missing: scripts/setup installs it"
    sweep=$BATS_TEST_TMPDIR/sweep.csv
    awk 'BEGIN {
        print "schema,lab,contender,precision,dataset,origin,N,device,driver,toolkit,commit,flags,tuning,l2,median_ms,status," \
            "vendor_best,vendor_default,speedup_vendor_best"
        for (graph = 1; graph <= 2; graph++)
            for (D = 1; D <= 4; D *= 2)
                for (C = 1; C <= 2; C++)
                    print "2,5,split,fp32," (graph == 1 ? "a" : "b") ",real,32,GPU,1.2,3.4,c0ffee,sweep,D=" D " C=" C \
                        ",warm," graph * D * C ",ok,X,Y," 8 / (graph * D * C)
    }' >"$sweep"
}

# plot WORD...: the program for gnuplot.
plot() { scripts/rows plot "$@" "$sweep"; }

@test "X is the setting with the most values, a point is the best of the others, datasets have lines of their own" {
    run -0 plot
    [[ $output == *"set xtics ('1' 0, '2' 1, '4' 2)"* && $output == *"set xlabel 'D'"* ]]
    [[ $output == *$'<< END\n0 1\n1 2\n2 4\n\n\n0 2\n1 4\n2 8\n'* ]] # C=1 is the faster one, b takes twice as long
    [[ $output == *"title 'lab 5, a'"*"title 'lab 5, b'"* ]]
    run -0 plot X=C Y=over_best only=^b$ # of speedups the largest
    [[ $output == *$'<< END\n0 4\n1 2\n'* && $output == *"set title 'spmm, b; a point is the best of all other settings'"* ]]
}

@test "many datasets become geometric means, of those that each line has everywhere" {
    for name in c d e f g h i j k l m; do sed -n "s/,b,/,$name,/p" "$sweep"; done >"$BATS_TEST_TMPDIR/more"
    cat "$BATS_TEST_TMPDIR/more" >>"$sweep"
    sed -i '/,m,.*D=4/d' "$sweep"
    run -0 plot
    [[ $output == *"geometric means of 13 datasets"* ]]
    [[ $output == *$'<< END\n0 1.89616\n1 3.79231\n2 ?\n'* ]] # (1 x 2^12) ^ (1/13)
}

@test "a picture in the terminal, as SVG and as PNG; the same rows give the same bytes" {
    run -0 scripts/plot terminal "$sweep"
    [[ $output == *"lab 5, a"* && ${#lines[@]} -gt 15 ]]
    for term in svg png; do
        run -0 scripts/plot $term "$sweep"
        [ "$output" = "${sweep%.csv}.$term" ]
        cp "$output" "$BATS_TEST_TMPDIR/first"
        scripts/plot $term "$sweep"
        cmp "$output" "$BATS_TEST_TMPDIR/first"
    done
    grep -q '; data real: a, b; rows of sweep.csv' "${sweep%.csv}.svg"
    file "${sweep%.csv}.png" 2>/dev/null | grep -q 'PNG image' || head -c 4 "${sweep%.csv}.png" | grep -q PNG
}

@test "make plot passes its words on, and a terminal's own TERM is none of them" {
    run -0 env TERM=xterm-256color make plot CSV="$sweep" X=C ONLY=^a$
    [[ $output == *"spmm, a;"* ]]
    run -2 make plot
    [[ $output == *"usage: make plot CSV="* ]]
}

@test "where no row has a time, as on the CPU backend, it says which number it shows" {
    sed -i '1s/$/,worst_error/; 2,$s/,warm,[0-9]*,/,warm,,/; 2,$s/,[0-9.]*$/,,0.5/' "$sweep"
    run -0 --separate-stderr plot
    [ "$stderr" = "rows plot: no row has a time (the CPU backend takes none): Y=worst_error" ]
    [[ $output == *"set ylabel 'worst_error: the largest error over its bound'"* ]]
    run -3 --separate-stderr plot Y=over_best
    [ "$stderr" = "rows plot: no row has a number in over_best: that takes times of a GPU, of both sides" ]
}

@test "bad input is one line with the right status, and no picture" {
    # refused STATUS TEXT WORD...
    refused() {
        local status_wanted=$1 wanted=$2
        shift 2
        run "-$status_wanted" --separate-stderr scripts/plot "$@"
        [[ $stderr == *"$wanted"* && -z $output ]] || { echo "$stderr"; false; }
        [ "$(wc -l <<<"$stderr")" -eq 1 ]
    }
    : >"$BATS_TEST_TMPDIR/empty.csv"
    echo 'name,grade' >"$BATS_TEST_TMPDIR/grades.csv"
    sed '3s/,ok/,ok,more/' "$sweep" >"$BATS_TEST_TMPDIR/torn.csv"
    refused 3 'empty.csv: an empty file' svg "$BATS_TEST_TMPDIR/empty.csv"
    refused 3 'grades.csv: no column schema: no rows of this suite' svg "$BATS_TEST_TMPDIR/grades.csv"
    refused 3 'torn.csv:3: not the 19 cells of the first line' svg "$BATS_TEST_TMPDIR/torn.csv"
    refused 3 'none.csv: cannot be read' svg "$BATS_TEST_TMPDIR/none.csv"
    refused 3 'status is no number' svg "$sweep" Y=status
    refused 2 'X=E: neither a column nor a setting' svg "$sweep" X=E
    refused 2 'Y=speed: no column' svg "$sweep" Y=speed
    refused 2 'term=gif: no such terminal' gif "$sweep"
    refused 2 'only=(: no expression' svg "$sweep" 'only=('
    refused 3 'no right result with D and median_ms of lab7' svg "$sweep" who=lab7
    [ ! -e "${sweep%.csv}.svg" ]
    PATH=$BATS_TEST_TMPDIR/none:/nowhere run -4 /bin/sh scripts/plot svg "$sweep"
    [ "$output" = "plot: gnuplot is missing: scripts/setup installs it" ]
}
