# knob.gp - a knob of lab 5 turned through its values: the time on each graph, and the mean speedup over cuSPARSE's default
# beside the published one. A figure loads this; `rows series` says which settings the others are.

WIDTH = 760
HEIGHT = 440
load PLOTS.'/suite.gp'
values = places_of('values')
graphs = series_of('times')
last = words(values) - 1
stats DATA using (strcol(2) eq 'times' ? log($5) : NaN) nooutput name 'T'
stats DATA using (strcol(2) eq 'means' ? $5 : NaN) nooutput name 'M'
set tmargin at screen 0.93
set bmargin at screen above(50)
set xtics ()
do for [value in values] { set xtics add (tic_of('values', value) place(value, values)) }
set xlabel text_of('axis')
set key bottom right
set multiplot

set lmargin at screen 0.09
set rmargin at screen 0.51
set title text_of('graphs')
set xrange [-0.1 * last:1.5 * last] # room for the names
set ylabel 'ms' offset 1.5
set logscale y
SPAN = T_max - T_min + 0.1
set yrange [exp(T_min - 0.1 * SPAN):exp(T_max + 0.1 * SPAN)]
set ytics (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
# The names of the lines stand beside their ends, moved apart where one would be written over another.
ends = values_of('ends')
array y[words(ends)]
do for [i = 1:words(ends)] { y[i] = log(word(ends, i)) }
do for [pass = 1:100] {
    do for [i = 2:words(ends)] {
        overlap = SPAN / 21 - (y[i] - y[i - 1])
        if (overlap > 0) { y[i - 1] = y[i - 1] - overlap / 2; y[i] = y[i] + overlap / 2 }
    }
}
plot for [graph in graphs] DATA using (is_point('times', graph) ? place(strcol(4), values) : NaN):5 with linespoints linetype 5 notitle, \
     for [graph in graphs] DATA using (is_point('times', graph) ? place(strcol(4), values) : NaN):5 with points linetype 1005 notitle, \
     DATA using (strcol(2) eq 'ends' ? 1.04 * last : NaN):5:(0.1 * last):(strcol(2) eq 'ends' ? exp(y[$4 + 1]) - $5 : NaN) with vectors nohead linecolor '#888888' linewidth 0.5 notitle, \
     DATA using (strcol(2) eq 'ends' ? 1.16 * last : NaN):(strcol(2) eq 'ends' ? exp(y[$4 + 1]) : NaN):3 with labels left noenhanced font ',9' notitle

unset label 1000
unset logscale y
set lmargin at screen 0.62
set rmargin at screen 0.985
set title text_of('mean of')
set xrange [-0.1 * last:1.1 * last]
set ylabel "times as fast as cuSPARSE's default\n(grey: cuSPARSE is faster)" offset 0
set ytics auto
set yrange [0:1.08 * M_max]
set object rectangle from graph 0, first 0 to graph 1, first 1 behind fillstyle solid noborder fillcolor rgb VENDOR_WINS
set arrow from graph 0, first 1 to graph 1, first 1 nohead
plot for [who in 'fastest kernel'] DATA using (is_point('means', who) ? place(strcol(4), values) : NaN):5 with linespoints \
         linetype 5 dashtype who eq 'fastest' ? 1 : 2 title words(names_of('means', who)) ? text_of(who) : '', \
     for [who in 'fastest kernel'] DATA using (is_point('means', who) ? place(strcol(4), values) : NaN):5 with points linetype 1005 notitle, \
     DATA using (is_point('means', 'published') ? place(strcol(4), values) : NaN):5 with points linetype PUBLISHED \
         title text_of('published').', 13 graphs'
