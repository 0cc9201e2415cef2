#!/usr/bin/gnuplot
# error.gp - the worst error of each lab and of the vendor's libraries over the bound it is checked against, over all
# rows: horizontal bars. What the vendor rounds on the way is granted a power of two times the bound, and is no match
# for a lab's. Needs DATA, the output of `rows series error`; what is drawn alike stands in report/plots/bars.gp.

set xlabel "worst error, share of the bound; on the right where"
set xrange [0:1]
load PLOTS."/bars.gp"
