# translate.awk - make a .cu file acceptable to an ordinary C++ compiler. Two constructs of CUDA C++
# are not C++, and one pragma is nvcc's; only they are rewritten:
#
#   k<T><<<grid, block, bytes, stream>>>(args)   SIMT_KERNEL(k<T>)(grid, block, bytes, stream)(args)
#   extern __shared__ T name[];                  T *const name = (T *)simt_dynamic_shared();
#   #pragma unroll 4                             SIMT_UNROLL(4)
#
# Comments, strings and line numbers stay as they are. What cannot be understood is an error with
# file and line. Works with mawk, gawk and busybox.
#
# Usage: awk -v file=labs/x/lab.cu -f common/simt/translate.awk labs/x/lab.cu > lab.cc

{ source = source $0 "\n" }

END {
    printf "#line 1 \"%s\"\n", file
    line = 1
    depth = 0  # of braces
    # The next thing that matters; all before it is passed on.
    while (match(source, /\/\/|\/\*|["']|<<<|extern[ \t\n]|#[ \t]*pragma[ \t]+unroll/)) {
        token = substr(source, RSTART, RLENGTH)
        plain = substr(source, 1, RSTART - 1)
        depth += count(plain, "[{]") - count(plain, "[}]")
        pass(RSTART - 1)
        if (token == "//") pass(line_comment_length())
        else if (token == "/*") pass(block_comment_length(source))
        else if (token == "\"") pass(string_length())
        else if (token == "'") pass(character_length())
        else if (token == "<<<") launch()
        else if (token ~ /^#/) unroll()
        else extern()
    }
    printf "%s%s", held, source
}

# Moves k characters from the source to the output. The last few thousand are held back, since a
# launch must look at what came before it.
function pass(k) {
    put(substr(source, 1, k))
    source = substr(source, k + 1)
}

function put(text) {
    line += count(text, "\n")
    held = held text
    if (length(held) > 16000) {
        printf "%s", substr(held, 1, length(held) - 8000)
        held = substr(held, length(held) - 7999)
    }
}

function count(text, pattern) { return gsub(pattern, "&", text) }

function die(message) {
    printf "%s:%d: error: %s\n", file, line, message > "/dev/stderr"
    exit 1
}

# ---- what must not be looked into: lengths from the beginning of the text -----------------------

function line_comment_length() {  # a backslash continues it
    match(source, /^\/\/([^\\\n]|\\(.|\n))*/)
    return RLENGTH
}

function block_comment_length(text,   end) {
    end = index(substr(text, 3), "*/")
    return end ? end + 3 : length(text)
}

function string_length(   delimiter, end) {
    if (held ~ /(^|[^A-Za-z0-9_])(u8|u|U|L)?R$/) {  # R"delimiter(...)delimiter"
        delimiter = substr(source, 2, index(source, "(") - 2)
        end = index(source, ")" delimiter "\"")
        return end ? end + length(delimiter) + 1 : length(source)
    }
    return match(source, /^"([^"\\\n]|\\(.|\n))*"/) ? RLENGTH : 1
}

# Between digits ' separates thousands; alone on its line it is an apostrophe in disabled code.
function character_length() {
    if (held ~ /[0-9A-Fa-f]$/ && held !~ /(^|[^0-9A-Za-z_])u8$/) return 1
    return match(source, /^'([^'\\\n]|\\(.|\n))+'/) ? RLENGTH : 1
}

# ---- launches -----------------------------------------------------------------------------------

function launch(   space, start, kernel, configuration, length_) {
    match(held, /[ \t\n]*$/)
    space = substr(held, RSTART)
    held = substr(held, 1, RSTART - 1)
    start = kernel_start(held)
    kernel = substr(held, start)
    if (kernel !~ /[A-Za-z_]/) die("cannot find the name of the kernel before <<<")
    length_ = configuration_length(substr(source, 4))
    if (length_ < 0) die("<<< without >>>")
    configuration = substr(source, 4, length_)
    source = substr(source, length_ + 7)
    if (configuration ~ /^[ \t\n]*$/) die("nothing between <<< and >>>")
    if (!followed_by_arguments(source)) die("no argument list after >>>")
    held = substr(held, 1, start - 1) "SIMT_KERNEL(" kernel ")" space
    put("(" configuration ")")
}

# Where the expression that ends the text begins: names, ::, ., ->, groups in <>, () and [], and, in
# a macro, ##.
function kernel_start(text,   p, c, before) {
    p = length(text)
    while (p > 0) {
        c = substr(text, p, 1)
        if (c == ">" || c == ")" || c == "]") {
            before = group_start(text, p) - 1
            if (before < 0) return p + 1
            p = before
            if (c == ">" || substr(text, p, 1) ~ /[A-Za-z0-9_]/) continue
            return p + 1
        }
        if (c !~ /[A-Za-z0-9_]/) return p + 1
        while (p > 0 && substr(text, p, 1) ~ /[A-Za-z0-9_]/) p--
        if (p > 1 && substr(text, p - 1, 2) ~ /^(::|->|##)$/) p -= 2
        else if (substr(text, p, 1) == ".") p--
        else return p + 1
    }
    return 1
}

# The bracket that the one at `p` closes, 0 if there is none. Inside () and [], < and > compare.
function group_start(text, p,   c, angles, others) {
    angles = others = 0
    for (; p > 0; p--) {
        c = substr(text, p, 1)
        if (c == ")" || c == "]") others++
        else if (c == "(" || c == "[") others--
        else if (c == ">" && others == 0) angles++
        else if (c == "<" && others == 0) angles--
        if (others < 0 || c ~ /[;{}]/) return 0
        if (angles == 0 && others == 0) return p
    }
    return 0
}

# The length of what stands before >>>, -1 if there is no such thing.
function configuration_length(text,   done, c, parentheses, k) {
    done = parentheses = 0
    while (match(text, /[()[\]{};"']|>>>|\/\*|\/\//)) {
        c = substr(text, RSTART, RLENGTH)
        k = RSTART - 1
        done += k
        text = substr(text, k + 1)
        if (c == ">>>" && parentheses == 0) return done
        if (c ~ /[([{]/) parentheses++
        if (c ~ /[])}]/) parentheses--
        if (c == ";" || parentheses < 0) return -1
        if (c == "/*") k = block_comment_length(text)
        else if (c == "//") k = index(text, "\n")
        else if (c == "\"" && match(text, /^"([^"\\\n]|\\.)*"/)) k = RLENGTH
        else if (c == "'" && match(text, /^'([^'\\\n]|\\.)+'/)) k = RLENGTH
        else k = 1
        done += k
        text = substr(text, k + 1)
    }
    return -1
}

function followed_by_arguments(text) {
    for (;;) {
        sub(/^[ \t\n\\]+/, "", text)
        if (substr(text, 1, 2) == "/*") text = substr(text, block_comment_length(text) + 1)
        else if (substr(text, 1, 2) == "//") text = substr(text, index(text, "\n"))
        else return text ~ /^[(A-Za-z_]/  # a macro may stand for the list
    }
}

# ---- unrolling ----------------------------------------------------------------------------------

# Without a number, or with one that only the compiler can work out, fully.
function unroll(   factor) {
    match(source, /^#[ \t]*pragma[ \t]+unroll[ \t(]*/)
    source = substr(source, RLENGTH + 1)
    factor = match(source, /^[0-9]+/) ? substr(source, 1, RLENGTH) : "SIMT_FULLY"
    if (match(source, /^[^\n\/]*/)) source = substr(source, RLENGTH + 1)
    put("SIMT_UNROLL(" factor ")")
}

# ---- dynamic shared memory ----------------------------------------------------------------------

function extern(   statement, statement_lines, type, name, rest, pointer) {
    statement = statement_lines = substr(source, 1, index(source, ";"))
    if (held ~ /[A-Za-z0-9_]$/ || statement ~ /[{}"]/ || statement !~ /[ \t\n]__shared__[ \t\n]/) {
        pass(6)
        return
    }
    if (depth == 0) die("extern __shared__ outside a function: declare it in the kernel")
    type = statement
    sub(/^extern/, "", type)
    sub(/[ \t\n]__shared__[ \t\n]/, " ", type)
    gsub(/(__align__|alignas)[ \t\n]*\([^()]*(\([^()]*\))?[^()]*\)/, " ", type)
    gsub(/[ \t\n]+/, " ", type)
    # Now: type name[][inner dimensions];
    if (!match(type, /[A-Za-z_][A-Za-z0-9_]* ?\[ ?\].*;$/))
        die("extern __shared__ must declare name[]")
    rest = substr(type, RSTART)
    type = substr(type, 2, RSTART - 2)
    match(rest, /^[A-Za-z0-9_]+/)
    name = substr(rest, 1, RLENGTH)
    rest = substr(rest, RLENGTH + 1)
    sub(/^ ?\[ ?\] ?/, "", rest)
    sub(/ ?;$/, "", rest)
    if (rest !~ /^(\[[^][]*\] ?)*$/) die("one array to an extern __shared__ declaration")
    if (rest == "") pointer = type "*const " name " = (" type "*)"
    else pointer = type "(*const " name ")" rest " = (" type "(*)" rest ")"
    put("[[maybe_unused]] " pointer "simt_dynamic_shared();")
    gsub(/[^\n]/, "", statement_lines)
    put(statement_lines)
    source = substr(source, length(statement) + 1)
}
