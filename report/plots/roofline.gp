#!/usr/bin/gnuplot
# roofline.gp - the measured ceilings of the machine and where each lab stands below them: the real graphs, and the layer of
# a recurrent network on which lab 99 has the highest rate.

WIDTH = 880
HEIGHT = 520
load PLOTS.'/suite.gp'
LOW = 0.7 # flop a compulsory byte: the axis
HIGH = 100
peak = value_of('limits', 'fp32_gflops')
copy = value_of('limits', 'copy_gbs')
level2 = value_of('limits', 'l2_read_gbs')
set tmargin at screen 0.94
set bmargin at screen above(64)
set logscale x 2
set logscale y 10
set xrange [LOW:HIGH]
set yrange [0.2:200000]
set format x '%g'
set format y '10^{%T}'
set ytics enhanced
set xlabel "flop a compulsory byte\n(labs are drawn left and right of their place)"
set key at screen 0.86, screen 0.9 left top
set label 1 sprintf('fp32 %.1f TFLOP/s', peak / 1000.0) at HIGH, 1.4 * peak right font ',9'
set label 2 sprintf('copy %.2f TB/s', copy / 1000.0) at 3.3, 0.55 * 3.3 * copy left font ',9'
# Labs stand on the left and on the right in turn, as they would hide each other.
aside(lab, list) = place(lab, list) % 2 ? 1.07 : 1 / 1.07
is_in(panels) = strcol(1) eq 'point' && strstrt(panels, strcol(2)) > 0
is_of(panels, who) = is_in(panels) && strcol(3) eq who
set multiplot
do for [panels in '32 256,128'] {
    is_left = panels eq '32'
    labs = labs_of(is_left ? '32' : '256')
    set lmargin at screen (is_left ? 0.08 : 0.48)
    set rmargin at screen (is_left ? 0.455 : 0.855)
    set title (is_left ? 'N = 32' : 'N = 256, '.text_of('layer').' at 128')
    if (!is_left) { unset key; unset label 1000; set format y '' }
    if (is_left) { set ylabel 'GFLOP/s' } else { unset ylabel }
    plot '+' using 1:($1 * copy < peak ? $1 * copy : peak) with lines linecolor 'black' linewidth 1.3 notitle, \
         '+' using 1:($1 * level2 < peak ? $1 * level2 : NaN) with lines linecolor 'black' dashtype 2 title level2 > 0 ? 'reading L2' : '', \
         DATA using (is_of(panels, 'gather_limit') ? $4 / 1.25 : NaN):5:(0.45 * $4):(0) with vectors nohead \
             linecolor 'black' linewidth 2 title 'gather limit', \
         DATA using (is_of(panels, 'lowest') ? $4 : NaN):($5 / 1.7):(is_of(panels, 'lowest') ? label_of(strcol(2), strcol(4)) : '') \
             with labels rotate right font ',9' noenhanced notitle, \
         DATA using (is_of(panels, 'best') ? $4 : NaN):5 with points linetype VENDOR title "cuSPARSE's best", \
         for [lab in labs] for [k in MARK] DATA using (is_of(panels, lab) ? $4 * aside(lab, labs) : NaN):5 \
             with points linetype k + lab title k > 0 ? '' : 'lab '.lab
}
