# report.mk - goals that make tables, figures and the report of measured rows, without a GPU.

# The rows of one device. (RESULTS itself stays as it was given: to make bench it is the folder of all
# devices, to make grade a file.)
ROWS := $(or $(RESULTS),report/results/h200)
LADDER_ROWS := $(ROWS)/spmm.csv
NARROW_ROWS := $(wildcard $(addprefix $(ROWS)/,spmm-fp16.csv spmm-bf16.csv))
# Of pruned weights: beside dense products.
DENSE_ROWS := $(wildcard $(ROWS)/spmm-llm*.csv)
# Rows of others, measured on the same device.
RIVAL_ROWS := $(ROWS)/rivals
COUNTED_ROWS := $(ROWS)/counted.csv
PREDICTIONS = $(dir $(COUNTED_ROWS))predictions.csv

# write NAME, COMMAND: what the command prints, on every page that has the marker <!-- NAME -->. Notebooks
# are never rewritten.
PAGES := $(filter-out %/LOG.md,$(wildcard README.md docs/*.md labs/*/*.md))
write = $(foreach page,$(shell grep -lxF -e '<!-- $(1) -->' $(PAGES)),\
        $(Q)scripts/write-between $(page) '$(1)' $(2)$(newline))

.PHONY: ladder leaderboard plots report storage predictions

##@ Report (of measured rows, without a GPU)

ladder: leaderboard ## Write the tables of README.md and the handouts from the measured rows
	$(call write,ladder,scripts/ladder-table $(LADDER_ROWS))
	$(foreach n,$(LABS:lab%=%),$(call write,lab-table $(n),scripts/ladder-table --lab $(n) $(LADDER_ROWS) $(NARROW_ROWS)))
	$(call write,dense-table,scripts/dense-table $(DENSE_ROWS))

leaderboard: ## Who is fastest, labs, vendor and rivals: RIVAL_ROWS=FOLDER of CSV files
	$(call write,leaderboard,scripts/leaderboard $(LADDER_ROWS) $(RIVAL_ROWS))

plots: ## Draw the report's figures from measured rows; one of them: make plots PLOT=speedups
	$(Q)scripts/plots $(ROWS) report/figures $(PLOT)

report: ladder ## The report, without a GPU: figures, report/report.md, .html and .pdf of the measured rows
	$(Q)scripts/plots $(ROWS) report/figures || [ $$? -eq 3 ]
	$(Q)scripts/report $(ROWS) report

storage: $(OUT)/labstat ## Write what formats for pruned weights take, by formula: rows of the report's figure
	$(Q)$< --storage 28672x8192x16 --csv report/storage.csv

# COUNTED_LAB is the last of the labs whose counters and estimates are held against a GPU's; its lab.mk sets it.
predictions: ## Estimate all measured rows without a GPU (an hour), and write how well that orders them
	$(Q)$(MAKE) BACKEND=simt $(BUILD)/simt/traced/$(COUNTED_LAB)
	$(Q)scripts/predict-rows $(LADDER_ROWS) $(BUILD)/simt/$(COUNTED_LAB) $(BUILD)/predictions \
		>$(BUILD)/counted.csv
	$(Q)mv $(BUILD)/counted.csv $(COUNTED_ROWS)
	$(Q)scripts/compare-predictions $(COUNTED_ROWS) $(LADDER_ROWS) >$(PREDICTIONS)
	$(call write,predictions,scripts/compare-predictions --summary $(COUNTED_ROWS) $(LADDER_ROWS))
