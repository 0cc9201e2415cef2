# lab.mk - labs 1 to 5 are those whose counters and estimates are held against a GPU's (docs/counters.md).

COUNTED_LAB := lab$(call number_of,$(here))
