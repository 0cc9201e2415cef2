# bars.gp - horizontal bars of the lines "bar PLACE VALUE LABEL TEXT IS_VENDOR" in DATA: labs filled, libraries hatched, a
# text beside each. A figure sets its axis and loads this.

BARS = system(sprintf("grep -c '^bar' '%s'", DATA)) - 1
WIDTH = 760
HEIGHT = 110 + 19 * BARS
load PLOTS.'/suite.gp'
set bmargin at screen above(52)
set lmargin 27
set rmargin 48
set tmargin 1
set yrange [BARS + 0.6:-0.6]
set ytics scale 0 enhanced
set key off
set arrow from graph 1, graph 0 to graph 1, graph 1 nohead
plot DATA using (strcol(1) eq 'bar' && $6 == 0 ? $3 / 2 : NaN):2:($3 / 2):(0.35):yticlabels(strcol(1) eq 'bar' ? strcol(4) : '') \
         with boxxyerror fill solid noborder linecolor '#6c8ebf', \
     DATA using (strcol(1) eq 'bar' && $6 == 1 ? $3 / 2 : NaN):2:($3 / 2):(0.35):yticlabels(strcol(1) eq 'bar' ? strcol(4) : '') \
         with boxxyerror fill pattern 4 linecolor 'black', \
     DATA using (strcol(1) eq 'bar' ? 1 : NaN):2:(strcol(5)) with labels left offset 0.5 noenhanced font ',10'
