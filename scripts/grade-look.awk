# grade-look.awk - of a listing by objdump -dw: the first instruction that no compiler makes of a lab, or that hides one.
# A system call is 0f 05, 0f 34 or cd 80. These bytes in a constant of an instruction, or across two of them with a
# return or a jump behind, can be jumped to. The distance of an honest jump may hold them, and is let pass.
BEGIN { FS = "\t" }

function refuse(why) {
    print why
    exit
}
function bytes_of(text) {
    gsub(/ /, "", text)
    return text
}
# Where, counted in bytes from 1, a system call begins in the hexadecimal digits; 0: nowhere.
function call_in(digits, i) {
    for (i = 1; i < length(digits) - 2; i += 2)
        if (substr(digits, i, 4) ~ /^(0f05|0f34|cd80)$/) return (i + 1) / 2
    return 0
}

NF < 3 { last = ""; next }
{
    digits = bytes_of($2)
    line = $3
    gsub(/  +/, " ", line)
    if (line ~ /^(lock |rep[a-z]* |bnd |notrack )*(syscall|sysenter|rdtscp?|rdpmc|int +\$0x[0-9a-f]+|wrpkru|svc)( |$)/)
        refuse("an instruction that no compiler makes of a lab: " line)
    if (digits ~ /0f05|0f34|cd80/ && line !~ /^(bnd |notrack )*(j[a-z]+|call[q]?|xbegin) / && call_in(digits))
        refuse("a system call in a constant: " line)
    across = substr(last, length(last) - 1) substr(digits, 1, 2)
    if (across ~ /^(0f05|0f34|cd80)$/ && substr(digits, 3) ~ /^(..)*(c[23]|e[9b]|ff)/)
        refuse("a system call across two instructions: " last_line "; " line)
    last = digits
    last_line = line
}
