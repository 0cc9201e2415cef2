#!/usr/bin/gnuplot
# dlmc.gp - throughput of labs and of cuSPARSE's best on pruned layers, problem by problem, and its share of the fp32 peak.

NAMED = 16 # up to so many problems have their name below them
WIDTH = 860
HEIGHT = 640
load PLOTS.'/suite.gp'
layers = places_of('all')
widths = system(sprintf("sed -n 's/^point\t\\([0-9]*\\)\t.*/\\1/p' '%s' | sort -nu", DATA))
peak = value_of('limits', 'peak')
stats DATA using (strcol(1) eq 'point' && strcol(2) ne 'limits' ? $5 : NaN) nooutput name 'ALL'
low = 0.8 * ALL_min
high = 1.3 * (ALL_max > 0.3 * peak ? ALL_max : 0.3 * peak)
best = system(sprintf("sed -n 's/^point\tlimits\tpublished\tbest\t//p' '%s'", DATA)) + 0
mean = system(sprintf("sed -n 's/^point\tlimits\tpublished\tfp32\t//p' '%s'", DATA)) + 0
set lmargin at screen 0.08
set rmargin at screen 0.68
set border 11
set logscale y
set logscale y2
set yrange [low:high]
set y2range [100 * low / peak:100 * high / peak]
set format y '%g'
set format y2 '%g'
set y2tics nomirror out scale 0.5
set ylabel 'throughput, TFLOP/s'
set y2label '% of the fp32 peak' noenhanced
set xrange [-0.5:words(layers) - 0.5]
set xtics ()
do for [i = 0:words(layers) - 1] { set xtics add ('' i) }
style(who, k) = who eq 'best' ? VENDOR : who + k
PANEL = (0.98 - above(110)) / words(widths)
set multiplot
do for [p = 1:words(widths)] {
    N = word(widths, p)
    labs = labs_of(N)
    top = 0.98 - (p - 1) * PANEL
    set tmargin at screen top
    set bmargin at screen top - PANEL + 0.03
    set key at screen 0.76, screen top - 0.04 left top title sprintf("N = %s: geomean over\ncuSPARSE's best, ahead", N) left font ',9'
    if (p > 1) { unset label 1000 }
    if (p == words(widths)) {
        if (words(layers) <= NAMED) {
            do for [layer in layers] { set xtics add (tic_of('all', layer) place(layer, layers)) }
        }
        set xtics rotate by 35 right font ',8'
        empty = text_of('empty')
        set label 1 'layers, by nonzeros'.(empty eq '0' ? '' : ' ('.empty.' without any left out)') at screen 0.38, screen above(14) center
    }
    # Labs stand beside each other on a layer.
    aside(lab) = 0.14 * (place(lab, labs) - (words(labs) - 1) / 2.0)
    plot for [lab in labs] for [k in MARK] DATA using (is_point(N, lab) ? place(strcol(4), layers) + aside(lab) : NaN):5 \
             with points linetype k + lab title k > 0 ? '' : sprintf('lab %s: %.2f, %s', lab, mean_of(N, lab), ahead_of(N, lab)), \
         DATA using (is_point(N, 'best') ? place(strcol(4), layers) : NaN):5 with points linetype VENDOR title "cuSPARSE's best", \
         best / 100 * peak with lines linecolor 'black' dashtype 2 title text_of('published').':', \
         NaN with lines linecolor 'white' title sprintf('%g %% of its peak; geomean %g', best, mean)
}
