# machine.awk - the machine that a row was measured on, in words. Needs the row split into `cell`, and the
# columns' numbers by name.

function machine_of(cell, column) {
    return cell[column["device"]] ", driver " cell[column["driver"]] ", CUDA " cell[column["toolkit"]]
}

# Rows of one table come from one machine, which is `table_machine`. False, and says so, if this row's is another.
function one_machine(cell, column, table,    machine) {
    machine = machine_of(cell, column)
    if (table_machine == "") table_machine = machine
    if (machine == table_machine) return 1
    print table ": rows of " table_machine " and of " machine " in one table" > "/dev/stderr"
    return 0
}
