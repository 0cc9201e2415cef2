# The front door: what a user types, and where the rest is. `make` alone prints help; every knob is in
# config.mk. mk/ has the rules and the other goals, a file a theme; labs/NN_technique/lab.mk what a lab
# has beside its kernels.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
MAKEFLAGS += --no-builtin-rules
# On all cores, unless -j says otherwise. `make clean all` stays serial: the one must not remove files of the other.
ifeq ($(MAKELEVEL)$(filter clean,$(MAKECMDGOALS)),0)
MAKEFLAGS += -j$(shell nproc)
endif

-include local.mk
include config.mk

# Labs are found by wildcard, and numbered by their folders; those that are networks (mk/apps.mk) by their sources.
LAB_DIRS := $(sort $(patsubst %/lab.cu,%,$(wildcard labs/[0-9][0-9]_*/lab.cu)))
number_of = $(patsubst 0%,%,$(firstword $(subst _, ,$(notdir $(1)))))
LABS := $(foreach d,$(LAB_DIRS),lab$(call number_of,$(d)))

include mk/backend.mk # BACKEND, OUT, compilers and their options
include mk/rules.mk   # from a source to an object
include mk/link.mk    # from objects to programs
include mk/rows.mk    # the program of rows
include mk/tests.mk   # programs of tests
include mk/apps.mk    # programs of several products
include mk/lib.mk     # the plans as a library

##@ Build

.PHONY: help all programs test test-all test-programs check-format format clean data diff FORCE

help: ## Show this help
	@awk -f scripts/help.awk $(filter-out %.d,$(MAKEFILE_LIST))

# labN: ## Build one lab and leave it here: make lab3 && ./lab3 arxiv 32

# labstat: ## Build the statistics tool: make labstat && ./labstat set:rnn

all: programs $(LABS) $(NETWORK_LABS) labstat rows ## Build every lab and tool
programs: $(addprefix $(OUT)/,$(LABS) labstat limits convert) $(TWINS) $(ROWS_PROGRAM) ## The same, in build/ alone

# A program in the root is a copy of the one in build/, taken again when the backend changes.
$(LABS): %: $(OUT)/% $(if $(TWINS),$(OUT)/traced/%) $(BUILD)/backend
	$(Q)cp -f $< $@
labstat: $(OUT)/labstat $(BUILD)/backend
	$(Q)cp -f $< $@

##@ Check

test-programs: all $(TEST_PROGRAMS) ## Build the tests, and what they test

test: $(QUICK_PROGRAMS) ## Run the tests that take minutes; ends with "N passed, N failed, N skipped"
	$(Q)OUT='$(OUT)' BACKEND='$(BACKEND)' scripts/run-tests quick $(filter $(TEST_PROGRAMS),$(QUICK_PROGRAMS))

test-all: test-programs ## Run every test: all settings of all labs, cheats, and the build for GPUs
	$(Q)OUT='$(OUT)' BACKEND='$(BACKEND)' scripts/run-tests all $(TEST_PROGRAMS)

check-format: ## Verify the format of C and CUDA files and lint the shell scripts
	$(Q)scripts/check-format

format: ## Format C and CUDA files
	$(Q)scripts/check-format --fix

##@ Data and reading

data: $(OUT)/convert ## Download and convert a dataset: make data DATASET=arxiv
	$(Q)CONVERT='$(OUT)/convert' datasets/fetch $(DATASET)

diff: ## Show what a lab changes from the one it grows out of: make diff LAB=3
	@scripts/diff-lab $(LAB)

clean: ## Remove everything that was built
	$(Q)rm -rf $(BUILD) $(LABS) $(NETWORK_LABS) labstat rows

include mk/measure.mk              # goals that want a GPU
include mk/site.mk                 # the course as pages
-include mk/report.mk mk/grader.mk mk/attack.mk # the report's and the staff's: a student's tree has none of them

# The folder of the lab.mk that asks.
here = $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
include $(wildcard labs/[0-9][0-9]_*/lab.mk)

-include $(shell find $(OUT) -name '*.d' 2>/dev/null)
