# report.mk - goals that make tables, figures and the report of measured rows, without a GPU.

# The rows of one device. (RESULTS itself stays as it was given: to make bench it is the folder of all
# devices, to make grade a file.)
ROWS := $(or $(RESULTS),report/results/h200)
# The ladder of operation $(1): none where the folder has rows, but not of it. And the same in 16 bits.
ladder_rows = $(or $(wildcard $(ROWS)/$(1).csv),$(if $(wildcard $(ROWS)/*.csv),,$(ROWS)/$(1).csv))
narrow_rows = $(wildcard $(addprefix $(ROWS)/$(1)-,fp16.csv bf16.csv))
LADDER_ROWS = $(call ladder_rows,spmm)
# Rows of pruned weights: beside dense products.
DENSE_ROWS := $(wildcard $(ROWS)/spmm-llm*.csv)
# Rows of labs and networks that have none in the file of their operation.
LINE_ROWS = $(wildcard $(addprefix $(ROWS)/,$(addsuffix .csv,spmm-fp16 spmm-lab22-tf32 bsmm-fp16 bsmm_update-fp16 \
	block_importance-fp16 spmm-devices2 $(foreach n,$(NETWORKS),apps-$(lastword $(subst :, ,$(n)))))))
# Rows of others, measured on the same device.
RIVAL_ROWS := $(ROWS)/rivals
COUNTED_ROWS := $(ROWS)/counted.csv
PREDICTIONS = $(dir $(COUNTED_ROWS))predictions.csv

# Tables of an operation stand between markers that name it, as <!-- ladder sddmm -->; that of SpMM need not be named, nor
# in <!-- lab-table 30 --> that of the lab's own lab.cu.
named = $(1)$(if $(filter-out $(3),$(2)), $(2))
own_operation = $(filter $(OPERATIONS),$(shell sed -n 's,^.include "ops/\(.*\)\.h",\1,p' $(1)/lab.cu))

# write NAME, COMMAND: what the command prints, on every page that has the marker <!-- NAME -->. Notebooks
# are never rewritten.
PAGES := $(filter-out %/LOG.md,$(wildcard README.md docs/*.md labs/*/*.md))
write = $(foreach page,$(shell grep -lxF -e '<!-- $(1) -->' $(PAGES)),\
        $(Q)scripts/write-between $(page) '$(1)' $(2)$(newline))

.PHONY: rivals ladder leaderboard plots report storage formats predictions

##@ Measure (needs a GPU)

# They write their rows for the suite's own layouts, which `convert` gives them; a lab names the device and the commit.
rivals: $(OUT)/convert $(OUT)/$(firstword $(LABS)) ## Block products and attention of PyTorch and Triton, as rows beside ours
	$(Q)python3 report/rivals/measure.py --programs '$(OUT)' --lab '$(firstword $(LABS))' $(ARGS)

##@ Report (of measured rows, without a GPU)

ladder: leaderboard $(ROWS_PROGRAM) ## Write the tables of README.md, docs and the handouts from the measured rows
	$(foreach o,$(OPERATIONS),$(call write,$(call named,ladder,$(o),spmm),$(ROWS_PROGRAM) ladder $(call ladder_rows,$(o))))
	$(foreach d,$(LAB_DIRS),$(foreach o,$(call own_of,$(d)),$(call write,$(call named,lab-table $(call \
		number_of,$(d)),$(o),$(call own_operation,$(d))),$(ROWS_PROGRAM) ladder lab=$(call \
		number_of,$(d)) $(call ladder_rows,$(o)) $(if $(call ladder_rows,$(o)),$(call narrow_rows,$(o))))))
	$(call write,dense-table,$(ROWS_PROGRAM) dense $(DENSE_ROWS))
	$(call write,ladder-lines,$(ROWS_PROGRAM) lines $(foreach o,spmm $(filter-out spmm,$(OPERATIONS)),$(call \
		ladder_rows,$(o))) $(LINE_ROWS) $(DENSE_ROWS))

leaderboard: $(ROWS_PROGRAM) ## Who is fastest, labs, vendor and rivals: RIVAL_ROWS=FOLDER of CSV files
	$(foreach o,$(OPERATIONS),$(if $(call ladder_rows,$(o)),$(call write,$(call \
		named,leaderboard,$(o),spmm),$(ROWS_PROGRAM) leaderboard $(call ladder_rows,$(o)) $(wildcard $(RIVAL_ROWS)/*.csv))))

plots: $(ROWS_PROGRAM) ## Draw the report's figures from measured rows; one of them: make plots PLOT=speedups
	$(Q)scripts/plots $(ROWS) report/figures $(PLOT)

report: ladder ## The report, without a GPU: figures, report/report.md, .html and .pdf of the measured rows
	$(Q)scripts/plots $(ROWS) report/figures || [ $$? -eq 3 ]
	$(Q)scripts/report $(ROWS) report

storage: $(OUT)/labstat ## Write what formats for pruned weights take, by formula: rows of the report's figure
	$(Q)$< --storage 28672x8192x16 --csv report/storage.csv

# Matrices that `make formats` counts: every graph, and weights from 40 to 98 % zeros.
FORMATS_OF = set:graphs $(foreach z,4 5 6 7,llm.8192x8192-random-0.$(z)) \
              $(foreach z,8 9 95 98,weights:rows=4096$(comma)cols=4096$(comma)sparsity=0.$(z)) \
              weights:rows=4096$(comma)cols=4096$(comma)kind=two_four
formats: $(OUT)/labstat $(ROWS_PROGRAM) ## Count what every graph and pruned weights take in each format (half an hour): docs/formats.md
	$(Q)$< --formats $(FORMATS_OF) --csv report/formats.csv
	$(call write,formats-table,$(ROWS_PROGRAM) formats report/formats.csv)

# COUNTED_LAB is the last of the labs whose counters and estimates are held against a GPU's; its lab.mk sets it.
predictions: $(ROWS_PROGRAM) ## Estimate all measured rows without a GPU (an hour), and write how well that orders them
	$(Q)$(MAKE) BACKEND=simt $(BUILD)/simt/traced/$(COUNTED_LAB)
	$(Q)scripts/predict-rows $(LADDER_ROWS) $(BUILD)/simt/$(COUNTED_LAB) $(BUILD)/predictions \
		>$(BUILD)/counted.csv
	$(Q)mv $(BUILD)/counted.csv $(COUNTED_ROWS)
	$(Q)$(ROWS_PROGRAM) predictions $(COUNTED_ROWS) $(LADDER_ROWS) >$(PREDICTIONS)
	$(call write,predictions,$(ROWS_PROGRAM) predictions summary=1 $(COUNTED_ROWS) $(LADDER_ROWS))
