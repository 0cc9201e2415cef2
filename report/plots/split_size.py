#!/usr/bin/python3
"""Lab 5's SPLIT, the most nonzeros a warp takes of one row, beside the published sizes (E1.3)."""
import knob
import suite

suite.main(lambda results: knob.draw(results, "SPLIT", 32, "E1.3", {"D": 1, "C": 1, "LANES": 32}))
