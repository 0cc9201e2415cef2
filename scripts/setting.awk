# setting.awk - a setting of a kernel by one name, whether its lab ran it or a lab that chooses among labs.

# Lab 99 says "KERNEL=length_bins WIDTH=64" of what lab 11, length_bins, calls "WIDTH=64"; lab 10, whose own kernel is none,
# says "KERNEL=roma SWIZZLE=0" of lab 6's: that is the same setting.
function setting_of(contender, tuning) {
    if (tuning !~ /^KERNEL=/) return "KERNEL=" contender (tuning != "" ? " " tuning : "")
    sub(/ SWIZZLE=0/, "", tuning)
    return tuning
}
