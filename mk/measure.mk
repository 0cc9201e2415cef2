# measure.mk - goals that measure this machine, or look at kernels with NVIDIA's tools.


# labs_of FILE, FIELD: the labs that the lines of a list name there.
labs_of = $(sort $(filter $(LABS),$(shell awk '!/^\#/ { print $$$(2) }' $(firstword $(1) /dev/null))))
# Nothing is built to say that there is no GPU.
BENCH_LABS = $(call labs_of,$(wildcard report/plans/$(PLAN) $(PLAN)),3)
BENCH_NEEDS = $(if $(filter cuda,$(BACKEND))$(findstring --dry-run,$(ARGS)),$(ROWS_PROGRAM) $(BENCH_LABS:%=$(OUT)/%))
RESOURCE_CASES := report/resources.tsv
RESOURCE_LABS = $(if $(filter cuda,$(BACKEND)),$(call labs_of,$(wildcard $(RESOURCE_CASES)),1))
CHECKED_BY = $(if $(filter check-gpu,$(MAKECMDGOALS)),$(addprefix $(OUT)/tests/,$(shell scripts/check-gpu --tests $(LAB))))

.PHONY: bench limits ncu resources sanitize check-gpu validate-counters

##@ Measure (needs a GPU)

bench: $(if $(filter bench,$(MAKECMDGOALS)),$(BENCH_NEEDS)) ## Measure what a plan still lacks: make bench PLAN=full [ARGS=--dry-run]
	$(Q)BACKEND='$(BACKEND)' scripts/bench '$(PLAN)' '$(OUT)' $(ARGS)

limits: $(OUT)/limits ## Measure this machine's bandwidths and peaks, for the bound and the gather share
	$(Q)$<

ncu: $(if $(LAB),$(OUT)/lab$(LAB)) ## Nsight Compute on a lab: make ncu LAB=3 ARGS="arxiv 32"
	@CUDA_HOME='$(CUDA_HOME)' scripts/ncu-lab '$<' $(ARGS)

resources: $(if $(LAB),$(OUT)/lab$(LAB),$(if $(filter resources,$(MAKECMDGOALS)),$(RESOURCE_LABS:%=$(OUT)/%))) $(ROWS_PROGRAM) ## What bounds a lab's kernels, by ncu: make resources LAB=3 ARGS="arxiv 32"; without LAB: rows of the report
	$(Q)CUDA_HOME='$(CUDA_HOME)' $(if $(LAB),scripts/ncu-resources '$<' '$(or $(KERNEL),$(shell scripts/operation-of $< $(ARGS))_)' $(ARGS) >$(OUT)/resources.csv,\
		scripts/measure-resources '$(OUT)' $(RESOURCE_CASES))
	$(if $(LAB),$(Q)$(ROWS_PROGRAM) resources $(OUT)/resources.csv)

sanitize: $(if $(LAB),$(OUT)/lab$(LAB)) ## The four tools of compute-sanitizer on a lab: make sanitize LAB=3
	@CUDA_HOME='$(CUDA_HOME)' scripts/sanitize-lab '$<' $(ARGS)

check-gpu: $(LAB:%=$(OUT)/lab%) $(CHECKED_BY) ## All that labs' kernels must pass on a GPU: make check-gpu LAB="22 23"
	$(Q)CUDA_HOME='$(CUDA_HOME)' scripts/check-gpu '$(OUT)' $(LAB)

# COUNTED_LAB is set by the last lab whose counters and estimates are held against a GPU's (its lab.mk).
validate-counters: ## Compare the counters of the CPU backend with ncu's: report/results/GPU/counters.csv
	$(Q)CUDA_HOME='$(CUDA_HOME)' scripts/cuda-tool ncu >/dev/null
	$(Q)$(MAKE) BACKEND=cuda $(addprefix $(BUILD)/cuda/,$(COUNTED_LAB) tests/counters/run)
	$(Q)$(MAKE) BACKEND=simt $(BUILD)/simt/traced/$(COUNTED_LAB)
	$(Q)CUDA_HOME='$(CUDA_HOME)' scripts/validate-counters $(BUILD) $(COUNTED_LAB)
