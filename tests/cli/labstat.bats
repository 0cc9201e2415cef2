# labstat as a user meets it: one matrix, collections, CSV, every exit code.
#
# bats sets $stderr, and runs each test in a process of its own:
# shellcheck disable=SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0

setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    case ${OUT:=build/simt} in
        /*) PROGRAM=$OUT/labstat ;;
        *) PROGRAM=$ROOT/$OUT/labstat ;;
    esac
    [ -x "$PROGRAM" ] || skip "$PROGRAM is not built"
    cd "$BATS_TEST_TMPDIR" || return
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
    unset SPMM_DATA_DIR SPMM_REGISTRY
    mkdir layers layers/deep
    printf '2, 4, 4\n0 1 4\n0 1 2 3\n' >layers/uneven.smtx # rows of 1 and 3: CoV 1/2
    printf '2, 4, 0\n0 0 0\n\n' >layers/deep/empty.smtx
}

# fails STATUS TEXT WORD...: labstat says this one line, and nothing else.
fails() {
    local expected=$1 text=$2
    shift 2
    run --separate-stderr "$PROGRAM" "$@"
    echo "status $status, stdout: $output, stderr: $stderr"
    [ "$status" -eq "$expected" ]
    [ -z "$output" ]
    [ "$stderr" = "labstat: $text" ]
}

@test "labstat --storage: formats by formula, without a matrix" {
    run -0 "$PROGRAM" --storage 28672x8192x8
    [[ ${lines[0]} == "28672 x 8192 in 16 bits, N = 8, 4300 GB/s" ]]
    [[ $output == *"    50 %      1.000      0.667      1.000      1.185      1.776"* ]]
    fails 2 "--storage 3x: expected ROWSxCOLS or ROWSxCOLSxN" --storage 3x
    fails 2 "--storage 3x4 : expected ROWSxCOLS or ROWSxCOLSxN" --storage "3x4 "
    fails 2 "--storage takes no matrix: 'layers'" --storage 3x4 layers
}

@test "labstat --storage --csv: what the report's figure is drawn from is what the formulas say now" {
    run -0 "$PROGRAM" --storage 28672x8192x16 --csv now.csv
    [[ ${lines[0]} == "28672 x 8192 in 16 bits, N = 16, 4300 GB/s" ]]
    cmp now.csv "$ROOT/report/storage.csv" || {
        echo "make storage writes it again"
        false
    }
    grep -qx '1,TCA-BME,28672,8192,16,0.50,1.7762,28.392,0.0630' now.csv # published: 1.776, 28.39, .063
    run -0 "$PROGRAM" --storage 28672x8192x16 --csv -
    [ "$output" = "$(cat now.csv)" ]
}

@test "labstat --formats: bytes of a matrix in each format, as the encoders count them" {
    run -0 "$PROGRAM" --formats weights:rows=128,cols=64,kind=two_four layers/uneven.smtx
    # CSR 4 x 129 + 8 x 4096 bytes; COO 12, TC-GNN 16 a nonzero and 8 windows more; 8 blocks a window of ME-TCF;
    # BRP 96 a run of eight, 9 windows' first runs and the end of an empty residual.
    # In 16 bits: 4 x 129 + 6 x 4096; 2 groups of 512 bytes of bits, tiles of 4 bytes a nonzero, 9/8 bytes an element.
    [[ ${lines[0]} == "32 bits: MB "*"COO    TC-GNN    ME-TCF       BRP    BRP-64 16 bits: MB "*"TCA-BME      lane Tiled-CSL   2:4+CSR  matrix" ]]
    run -0 "$PROGRAM" --formats weights:rows=128,cols=64,kind=two_four --csv -
    for cell in CSR,32,33284 COO,32,49152 TC-GNN,32,66084 ME-TCF,32,22824 BRP,32,49192 CSR,16,25092 TCA-BME,16,9228 \
        Tiled-CSL,16,16396 2:4+CSR,16,9732; do
        echo "looking for $cell"
        [[ $output == *",$cell,"* ]]
    done
    run -0 "$PROGRAM" --formats rand:rows=20000,deg=2 --csv -
    [[ $output == *",2:4+CSR,16,,"* ]] # too sparse: refused, in an empty cell
    fails 2 "--storage has formulas, --formats matrices: one of them" --storage 3x4 --formats
}

@test "labstat: one matrix is one line, without a summary" {
    run -0 "$PROGRAM" layers/uneven.smtx
    [ "${#lines[@]}" -eq 2 ]
    [[ ${lines[0]} =~ ^\ +rows\ +cols\ +nonzeros\ +sparsity\ +mean\ row\ +CoV\ +longest\ +empty\ +matrix$ ]]
    [[ ${lines[1]} =~ ^\ +2\ +4\ +4\ +0.500000\ +2.00\ +0.500\ +3\ +0\ \ uneven.smtx\ \(file\)$ ]]
}

@test "labstat: a folder; a matrix without nonzeros has no CoV" {
    run -0 "$PROGRAM" layers
    [[ ${lines[1]} =~ ^\ +2\ +4\ +0\ +1.000000\ +0.00\ +-\ +0\ +2\ \ empty.smtx\ \(file\)$ ]]
    [[ ${lines[2]} == *" uneven.smtx (file)" ]]
    grep -qx 'sparsity: median 0.75 of 2' <<<"$output"
    grep -qx 'mean row: median 1 of 2' <<<"$output"
    grep -qx 'CoV: median 0.5 of 1; 1 without' <<<"$output"
    [[ $output == *"CoV           0.5 to 0.75         1  ###"* ]]
}

@test "labstat: sets, by name and by words; the data folder" {
    run -0 "$PROGRAM" set:dlmc-like/rn50.g1.enter/random
    [ "$(grep -c '(stand-in)$' <<<"$output")" -eq 7 ]
    grep -qx 'sparsity: median 0.800049 of 7' <<<"$output"
    run -0 "$PROGRAM" set:dlmc --data-dir layers
    [ "$(grep -c '(file)$' <<<"$output")" -eq 2 ]
    SPMM_DATA_DIR=layers run -0 "$PROGRAM" set:dlmc/uneven rn50.g1.enter-l0-0.5
    [ "$(grep -c ')$' <<<"$output")" -eq 2 ]
}

@test "labstat --csv" {
    run -0 "$PROGRAM" layers --csv figures.csv
    [ "$(head -n 1 figures.csv)" = \
        schema,dataset,origin,source,rows,cols,nnz,sparsity,mean_row,cov_row,max_row,empty_rows ]
    [ "$(sed -n 2p figures.csv)" = 1,empty.smtx,file,layers/deep/empty.smtx,2,4,0,1,0,,0,2 ]
    [ "$(sed -n 3p figures.csv)" = 1,uneven.smtx,file,layers/uneven.smtx,2,4,4,0.5,2,0.5,3,0 ]
    run -0 --separate-stderr "$PROGRAM" layers --csv -
    [ "$output" = "$(cat figures.csv)" ]
    run -0 "$PROGRAM" layers/uneven.smtx --csv figures.csv # rows may replace rows
    [ "$(wc -l <figures.csv)" -eq 2 ]
    fails 2 "layers/uneven.smtx is there and holds no rows of this suite: remove it, or choose another name" \
        layers --csv layers/uneven.smtx
    fails 4 "nowhere/x.csv: cannot write: No such file or directory" layers --csv nowhere/x.csv
}

@test "labstat: goes on after a matrix that is none, and says so in the exit code" {
    echo garbage >layers/bad.mtx
    run --separate-stderr -3 "$PROGRAM" layers/uneven.smtx layers/bad.mtx layers/deep --csv out.csv
    [[ $stderr == "labstat: layers/bad.mtx"* ]]
    [ "$(wc -l <out.csv)" -eq 3 ]
}

@test "labstat: usage" {
    run -0 "$PROGRAM" --help
    [ "${lines[0]}" = "usage: labstat [--csv FILE] [--data-dir DIR] MATRIX..." ]
    fails 2 "wants a matrix, a set or a folder (--help)"
    fails 2 "unknown option --cvs; did you mean --csv? (--help lists them)" --cvs x
    fails 2 "--csv needs a value" layers --csv
    fails 3 "set:dlmc-lke: no such set; did you mean set:dlmc-like? (--list shows the names)" set:dlmc-lke
    fails 3 "arxv: no such file or dataset; did you mean arxiv? (--list shows the names)" arxv
    fails 3 "nowhere: no such folder (named by --data-dir)" set:dlmc --data-dir nowhere
}
