# lab.mk - beside lab 36 runs lab 35, whose work is done by contenders of other operations, found by name.

ATTENTION_STEPS := $(foreach o,sddmm softmax spmm,$(filter-out $(OUT)/labs/99_%,$(LABS_OF_$(o))))
$(OUT)/lab36: $(ATTENTION_STEPS)
$(OUT)/traced/lab36: $(call traced,$(ATTENTION_STEPS))
