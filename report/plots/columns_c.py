#!/usr/bin/python3
"""Lab 5's C, the columns of C that a lane computes, beside the published ones (E1.6)."""
import knob
import suite

suite.main(lambda results: knob.draw(results, "C", 256, "E1.6", {"SPLIT": 128, "D": 2, "LANES": 32}))
