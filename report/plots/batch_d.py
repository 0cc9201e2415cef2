#!/usr/bin/python3
"""Lab 5's D, the tile of A in units of 32 nonzeros, beside the published ones (E1.5)."""
import knob
import suite

suite.main(lambda results: knob.draw(results, "D", 32, "E1.5", {"SPLIT": 128, "C": 1, "LANES": 32}))
