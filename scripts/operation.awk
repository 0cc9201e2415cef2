# operation.awk - which operation rows are of, and what its width is called. Needs csv.awk, and OPERATIONS, which
# scripts/operations says: "sddmm K spmm N".

function width_of(operation,    n, i, word) {
    n = split(OPERATIONS, word, " ")
    for (i = 1; i < n; i += 2) if (word[i] == operation) return word[i + 1]
    return "N"
}

# Rows of one table are of one operation, which is `table_operation`. False, and says so, if this row's is another.
function one_operation(cell, at, table,    operation) {
    operation = operation_of(cell, at)
    if (table_operation == "") table_operation = operation
    if (operation == table_operation) return 1
    print table ": rows of " table_operation " and of " operation " in one table" > "/dev/stderr"
    return 0
}
