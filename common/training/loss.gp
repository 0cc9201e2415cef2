# loss.gp - curves of a falling loss, a line a series; drawn by draw-loss with what figures of the report share.

WIDTH = 720
HEIGHT = 400
load PLOTS.'/suite.gp'
set bmargin at screen above(40)
set xlabel 'step'
set ylabel 'loss'
set yrange [0:*]
set key top right
share_of(series) = system(sprintf("sed -n 's/^point\tend\t%s\t[0-9]*\t//p' '%s'", series, DATA))
shades = 'black #0072b2 #d55e00 #009e73 #cc79a7'
names = series_of('loss')
set y2range [0:105]
if (words(series_of('density'))) {
    set border 11
    set y2tics nomirror
    set y2label 'density, % of the blocks (dashed)'
}
colour(i) = word(shades, (i - 1) % 5 + 1)
plot for [i = 1:words(names)] DATA using (is_point('density', word(names, i)) ? column(4) : NaN):5 axes x1y2 \
    with lines linewidth 1 dashtype 2 linecolor rgb colour(i) notitle, \
    for [i = 1:words(names)] series = word(names, i), DATA using (is_point('loss', series) ? column(4) : NaN):5 \
    with lines linewidth 1.5 linecolor rgb colour(i) title sprintf('%s: %s %% of the digits held out', series, share_of(series))
