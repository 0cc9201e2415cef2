#!/usr/bin/gnuplot
# choice.gp - how close the rule that chooses a kernel comes to an oracle: to the fastest of all settings that were tried,
# and to the fastest of all labs in the same rows. A point a case.

WIDTH = 820
HEIGHT = 420
load PLOTS.'/suite.gp'
RULE = 99
GOAL = 97
kinds = places_of('lines')
set lmargin at screen 0.13
set rmargin at screen 0.71
set tmargin at screen 0.97
set bmargin at screen above(50)
set yrange [words(kinds) - 0.5:-0.5]
set ytics ()
do for [kind in kinds] { set ytics add (tic_of('lines', kind) kind + 0) }
set xrange [:100.4]
set xlabel sprintf('speed, %% of the fastest; bar: geometric mean; line: the goal, %g %%', GOAL)
set grid noytics
set key off
set arrow from GOAL, graph 0 to GOAL, graph 1 nohead dashtype 2
is_share = "strcol(1) eq 'point' && strcol(2) eq 'share'"
plot DATA using (@is_share ? $5 : NaN):($3 + 0.05 * (int($0) % 7 - 3)) with points linetype RULE, \
     DATA using (strcol(1) eq 'mean' ? $4 : NaN):($3 - 0.35):(0):(0.7) with vectors nohead linecolor 'black' linewidth 2, \
     DATA using (strcol(1) eq 'graph' ? 100.4 : NaN):3:(strcol(1) eq 'graph' ? text_of(strcol(3)) : '') \
         with labels left offset 1 noenhanced font ',9'
