# lab.mk - the model of the block scheduler, and the program that asks the GPU's own.

SCHEDULER := $(here)/scheduler

##@ Measure (needs a GPU)

.PHONY: scheduler
scheduler: $(OUT)/scheduler ## Lab 10's probe of the first wave; its simulation: make scheduler ARGS="balance ddi"
	$(Q)$< $(or $(ARGS),probe)

programs: $(OUT)/scheduler
$(OUT)/scheduler: $(call object,$(wildcard $(SCHEDULER)/*.cu $(SCHEDULER)/*.c)) $(COMMON)
	$(link)
$(OUT)/tests/unit/test_scheduler: $(call object,$(wildcard $(SCHEDULER)/*.c))
