# measure-app.sh - what the scripts share that measure an app: apps/NAME/measure reads it. `make measure-app APP=NAME` builds
# what they need.
#
#     measure_app NAME            begins: the program and lab 36 must be built for a GPU
#     rows_of FILE WORD...        runs it with the words, and joins its rows to those of FILE
#     rows_of_lab36 FILE WORD...  the same of lab 36
#     measured                    ends the script
#
# Rows go to report/results/GPU/FILE, or to the folder that RESULTS names; a FILE is begun anew, and written after each
# run, so that a run that is cut off loses only its own. Rows of runs that ended well are kept below KEPT (default:
# build/kept), and the same command goes on from there while commit and GPU are the same; RETRY=1 measures them again.
# What fails does not stop the rest; what does not fit into memory is a row, and no failure.
#
# Exit status of all: 0; the first that was neither 0 nor 5; 2 not built; 4 no file can be written; 77 no GPU.
set -u
programs=${PROGRAMS:-build/cuda}

measure_app() {
    app=$programs/apps/$1/$1 worst=0
    for program in "$app" "$programs/lab36"; do
        [ -x "$program" ] || {
            echo "measure: $program is not built (make measure-app APP=$1)" >&2
            exit 2
        }
    done
    version=$("$programs/lab36" --version)
    gpu=$(echo "$version" | sed -n 's/^folder: //p')
    [ -n "$gpu" ] || {
        echo "measure: needs a GPU; $programs has programs for the CPU, or there is no GPU here" >&2
        exit 77
    }
    folder=${RESULTS:-report/results/$gpu}
    work=$(mktemp -d) || exit 4
    trap 'rm -rf "$work"' EXIT
    commit=$(echo "$version" | sed -n '1s/.*, commit \([^,]*\).*/\1/p')
    case $commit in
    unknown | *-dirty) kept=$work/kept ;; # other sources may have the same name
    *) kept=${KEPT:-build/kept}/$gpu/$commit ;;
    esac
    mkdir -p "$folder" "$kept" || exit 4
}

# joined FILE PROGRAM WORD...
joined() {
    file=$1
    shift
    rm -f "$work/run.csv"
    run=$kept/$(printf %s "$*" | tr -c 'A-Za-z0-9.,=-' _).csv
    if [ -e "$run" ] && [ "${RETRY:-0}" != 1 ]; then
        echo "kept: $*"
        cp "$run" "$work/run.csv"
    else
        echo "+ $*"
        "$@" --csv "$work/run.csv"
        code=$?
        case $code in
        0 | 5) [ ! -e "$work/run.csv" ] || { cp "$work/run.csv" "$run.part" && mv "$run.part" "$run"; } || exit 4 ;;
        *)
            echo "measure: exit $code: $*" >&2
            [ "$worst" -ne 0 ] || worst=$code
            ;;
        esac
    fi
    [ -e "$work/run.csv" ] || return 0
    if [ -e "$work/$file" ]; then sed 1d "$work/run.csv" >>"$work/$file"; else cp "$work/run.csv" "$work/$file"; fi
    cp "$work/$file" "$folder/$file" || exit 4
}
rows_of() {
    name=$1
    shift
    joined "$name" "$app" "$@"
}
rows_of_lab36() {
    name=$1
    shift
    joined "$name" "$programs/lab36" "$@"
}

measured() {
    for file in "$work"/*.csv; do
        [ "$file" = "$work/run.csv" ] || [ ! -e "$file" ] || echo "$folder/${file##*/}: $(($(wc -l <"$file") - 1)) rows"
    done
    exit "$worst"
}
