#!/usr/bin/gnuplot
# gather_limit.gp - how far from the gather limit: the time it takes to fetch a row of B anew for every nonzero.

WIDTH = 760
HEIGHT = 470
load PLOTS.'/suite.gp'
graphs = places_of('32')
MEAN = words(graphs) # the place of the mean, below the graphs
set tmargin at screen 0.89
set bmargin at screen above(65)
set logscale x
stats DATA using (strcol(1) eq 'point' ? $5 : NaN) nooutput name 'ALL'
set xrange [0.9 * ALL_min:1.1 * ALL_max]
set yrange [MEAN + 0.5:-0.5]
set xtics (0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10)
set ytics ()
do for [graph in graphs] { set ytics add (tic_of('32', graph) place(graph, graphs)) }
set ytics add ('geometric mean' MEAN)
set xlabel "time over the gather limit\n(below 1: fetched rows of B are used again)"
set key at screen 0.55, screen 0.99 center top horizontal maxrows 1
set arrow from 1, graph 0 to 1, graph 1 nohead
set arrow from graph 0, first MEAN - 0.5 to graph 1, first MEAN - 0.5 nohead linewidth 0.5
style(who, k) = who eq 'best' ? VENDOR : who + k
# Labs stand below, on and above the line, as they would hide each other.
aside(who) = who eq '5' ? 0.2 : who eq '99' ? -0.2 : 0
called(who) = who eq 'best' ? "cuSPARSE's best" : 'lab '.who
set multiplot
do for [N in '32 256'] {
    is_left = N eq '32'
    set lmargin at screen (is_left ? 0.165 : 0.59)
    set rmargin at screen (is_left ? 0.57 : 0.985)
    set title 'N = '.N
    if (!is_left) {
        unset key
        unset label 1000
        set ytics ()
        do for [i = 0:MEAN] { set ytics add ('' i) }
    }
    plot for [who in series_of(N)] for [k in MARK] DATA using 5:(is_point(N, who) ? place(strcol(4), graphs) + aside(who) : NaN) \
             with points linetype style(who, k) title k > 0 ? '' : called(who), \
         for [who in series_of(N)] for [k in MARK] DATA using (is_mean(N, who) ? $4 : NaN):(MEAN + aside(who)) \
             with points linetype style(who, k) notitle
}
