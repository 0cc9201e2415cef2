# cell-key.awk - what is measured by all contenders of a cell: the same in rows and in what a program says to --cells.
# Needs csv.awk, the row split into `cell`, and the columns' numbers by name.

function cell_key(cell, at) {
    return operation_of(cell, at) SUBSEP cell[at["dataset"]] SUBSEP cell[at["N"]] SUBSEP cell[at["precision"]] SUBSEP cell[at["l2"]] \
        SUBSEP cell[at["seed"]] SUBSEP cell[at["flags"]]
}
