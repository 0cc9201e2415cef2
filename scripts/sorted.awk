# sorted.awk - the names in a set, always in the same order: that of `for (k in set)` is anybody's.

# The keys of a set, sorted and with commas between them; `around` goes before and after each.
function sorted(set, around,    k, n, i, j, list, text) {
    for (k in set) {
        for (i = ++n; i > 1 && list[i - 1] > k; i--) list[i] = list[i - 1]
        list[i] = k
    }
    for (j = 1; j <= n; j++) text = text (j > 1 ? ", " : "") around list[j] around
    return text
}
