#!/usr/bin/gnuplot
# predictions.gp - estimated against measured time, a point a row that was measured.

WIDTH = 720
HEIGHT = 480
load PLOTS.'/suite.gp'
labs = labs_of('times')
stats DATA using (strcol(1) eq 'point' ? $4 : NaN):5 nooutput name 'T'
low = (T_min_x < T_min_y ? T_min_x : T_min_y) / 1.5
high = (T_max_x > T_max_y ? T_max_x : T_max_y) * 1.5
set lmargin at screen 0.09
set rmargin at screen 0.64
set tmargin at screen 0.97
set bmargin at screen above(50)
set logscale xy
set xrange [low:high]
set yrange [low:high]
set format '%g'
set xlabel 'estimated, ms'
set ylabel 'measured, ms'
set key at screen 0.66, screen 0.7 left top title "measured over estimated:\ngeomean, within a factor of 2" left font ',9'
plot '+' using 1:($1 / 2):(2 * $1) with filledcurves linecolor '#e4e4e4' title 'within a factor of 2', \
     '+' using 1:1 with lines linecolor 'black' notitle, \
     for [lab in labs] for [k in MARK] DATA using (is_point('times', lab) ? $4 : NaN):5 with points linetype k + lab \
         title k > 0 ? '' : sprintf('lab %s: %.2f, %s', lab, mean_of('near', lab), ahead_of('near', lab))
