# The front door. `make` alone prints help; every knob is in config.mk.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
MAKEFLAGS += --no-builtin-rules

ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif

-include local.mk
include config.mk

# ---- which backend -----------------------------------------------------------------------------
# scripts/detect-backend prints NAME=value words and the reason, or why there is no choice; it is
# not asked for goals that build nothing.

PASSIVE_GOALS := help clean format check-format diff ladder predictions validate-counters
ifneq ($(filter-out $(PASSIVE_GOALS),$(or $(MAKECMDGOALS),help)),)
DETECTED := $(shell BACKEND='$(BACKEND)' ARCH='$(ARCH)' CUDA_HOME='$(CUDA_HOME)' scripts/detect-backend 2>&1)
detected = $(patsubst $(1)=%,%,$(filter $(1)=%,$(DETECTED)))
ifeq ($(call detected,REASON),)
$(error $(DETECTED))
endif
override BACKEND := $(call detected,BACKEND)
override CUDA_HOME := $(call detected,CUDA_HOME)
ARCHS := $(subst +, ,$(call detected,ARCH))
ifndef MAKE_RESTARTS
ifeq ($(MAKELEVEL),0)
$(info $(subst ~, ,$(call detected,REASON)))
endif
endif
endif

# ---- labs: found by wildcard, numbered by their folder -----------------------------------------

LAB_DIRS := $(sort $(patsubst %/lab.cu,%,$(wildcard labs/[0-9][0-9]_*/lab.cu)))
number_of = $(patsubst 0%,%,$(firstword $(subst _, ,$(notdir $(1)))))
LABS := $(foreach d,$(LAB_DIRS),lab$(call number_of,$(d)))

# ---- compilers ---------------------------------------------------------------------------------

OUT := $(BUILD)/$(BACKEND)$(if $(filter 1,$(DEBUG)),-debug)
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-5s %s\n' '$(1)' '$(2)')

OPTIMISE := $(if $(filter 1,$(DEBUG)),-O0,-O2)
WARN := -Wall -Wextra $(if $(filter 1,$(WERROR)),-Werror)
INCLUDES := -Icommon -I.
DEPS = -MMD -MP

CFLAGS_ALL := -std=c11 -D_GNU_SOURCE $(OPTIMISE) -g $(WARN) -fopenmp -ffp-contract=off $(INCLUDES)
# A designated initialiser leaves the other members zero, and means to.
CXX_WARN := $(WARN) -Wno-missing-field-initializers
LDLIBS_ALL := -fopenmp -larchive -lm -lpthread

ifeq ($(BACKEND),cuda)
NVCC := $(CUDA_HOME)/bin/nvcc
NEWEST := $(lastword $(ARCHS))
GENCODE := $(foreach a,$(ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) \
           -gencode arch=compute_$(NEWEST),code=compute_$(NEWEST)
NVCCFLAGS_ALL := -std=c++20 $(if $(filter 1,$(DEBUG)),-O0 -g -G,-O3 -g -lineinfo) $(GENCODE) \
             -Xcompiler -Wall,-Wextra,-Wno-missing-field-initializers \
             $(if $(filter 1,$(WERROR)),-Werror all-warnings) $(INCLUDES)
CFLAGS_ALL += -isystem $(CUDA_HOME)/include -DBACKEND_CUDA
CUDA_LIBDIR := $(firstword $(wildcard $(CUDA_HOME)/lib64 $(CUDA_HOME)/lib))
LDLIBS_ALL += -L$(CUDA_LIBDIR) -Wl,-rpath,$(CUDA_LIBDIR) -lcusparse -lcublas -lcudart_static -ldl -lrt
BACKEND_SOURCES := $(wildcard common/baselines/*.c common/baselines/*.cu)
else
INCLUDES += -Icommon/simt/include
CFLAGS_ALL += -Icommon/simt/include
# -fno-strict-aliasing: CUDA C reinterprets float* as float4*, and nvcc allows it. -gdwarf-4: with
# version 5 addr2line names the generated file instead of the .cu that #line gives.
CXXFLAGS_ALL := -std=c++20 $(OPTIMISE) -g -gdwarf-4 $(CXX_WARN) -fno-strict-aliasing \
                -ffp-contract=off \
                -Wno-unknown-pragmas $(INCLUDES)
# A GPU allows no misaligned access; common/simt/fault.cc reports what this finds.
CU_CHECKS := -fsanitize=alignment
# The traced twin of a program reports what its kernels do to common/profiler, through the calls that
# these sanitizers insert; no sanitizer's library is linked. How lanes come together again after a
# branch is read off the order of the code, so that must be the source's: no block is moved, merged or
# copied. Functions are inlined and loops unrolled as nvcc does it, so that what is loaded once there
# is loaded once here.
TRACE := -O2 -DSIMT_TRACED -fsanitize=thread --param tsan-distinguish-volatile=1 \
         -fsanitize=bounds -fsanitize-coverage=trace-pc \
         -fno-tree-vectorize -fno-tree-slp-vectorize \
         -fno-reorder-blocks -fno-reorder-blocks-and-partition -fno-crossjumping \
         -fno-tree-tail-merge -fno-thread-jumps -fno-code-hoisting -fno-expensive-optimizations \
         --param early-inlining-insns=1000 --param max-inline-insns-auto=1000 \
         --param inline-unit-growth=1000 --param large-function-growth=1000
BACKEND_SOURCES := $(wildcard common/simt/*.cc common/simt/*.S)
endif

# ---- what is linked ----------------------------------------------------------------------------

object = $(patsubst %,$(OUT)/%.o,$(1))
traced = $(patsubst $(OUT)/%.cu.o,$(OUT)/traced/%.cu.o,$(1))
LAB_MAIN := common/harness/main.c
LIMITS_MAIN := common/limits/limits.cu
SCHEDULER := labs/10_row_swizzle/scheduler/simulate.c
SCHEDULER_MAIN := labs/10_row_swizzle/scheduler/scheduler.cu
LABSTAT_MAIN := common/labstat/labstat.c
MAINS := $(LAB_MAIN) $(LIMITS_MAIN) $(LABSTAT_MAIN)
COMMON_SOURCES := $(filter-out $(MAINS) common/baselines/% common/simt/% common/profiler/%,\
                  $(wildcard common/*/*.c common/*/*.cu)) $(BACKEND_SOURCES)
COMMON := $(call object,$(COMMON_SOURCES))

# labN links labs 1..N of its own operation: the one whose header its lab.cu includes. Folders come
# in ascending order, so these are the labs of that operation met so far.
operation_of = $(shell sed -n 's,^.include "ops/\(.*\)\.h",\1,p' $(1)/lab.cu)
define lab_rules
$(if $(2),,$(error $(1)/lab.cu includes no ops/*.h, so its operation is unknown))
LABS_OF_$(2) += $$(call object,$$(wildcard $(1)/*.cu))
$(OUT)/lab$(call number_of,$(1)): $$(LABS_OF_$(2))
$(OUT)/traced/lab$(call number_of,$(1)): $$(call traced,$$(LABS_OF_$(2)))
endef
$(foreach d,$(LAB_DIRS),$(eval $(call lab_rules,$(d),$(call operation_of,$(d)))))
ALL_LAB_OBJECTS := $(call object,$(wildcard $(LAB_DIRS:%=%/*.cu)))

# The traced twin of $(OUT)/labN is $(OUT)/traced/labN: the kernels of labs and common/device again,
# with everything else as it is, and the instruments.
PROFILER := $(call object,$(wildcard common/profiler/*.cc common/profiler/*.c))
TRACED_COMMON := $(PROFILER) $(patsubst $(OUT)/common/device/%.cu.o,$(OUT)/traced/common/device/%.cu.o,$(COMMON))
TWINS := $(if $(filter simt,$(BACKEND)),$(LABS:%=$(OUT)/traced/%))

LADDER_ROWS := report/results/h200/spmm.csv
NARROW_ROWS := $(addprefix report/results/h200/,spmm-fp16.csv spmm-bf16.csv)
# Labs 1 to 5 are those whose counters and estimates are held against a GPU's.
COUNTED_LAB := lab5
COUNTED_ROWS := report/results/h200/counted.csv
PREDICTIONS = $(dir $(COUNTED_ROWS))predictions.csv
PREDICTIONS_PAGE := docs/counters.md

# The machine model and the estimates belong to the traced programs of the CPU backend.
TESTS_PROFILER := tests/unit/test_machine.c tests/unit/test_predict.c
TESTS_C := $(filter-out $(if $(filter cuda,$(BACKEND)),$(TESTS_PROFILER)),$(wildcard tests/unit/*.c))
TESTS_CU := $(wildcard tests/primitives/*.cu)
TESTS_SIMT := $(if $(filter simt,$(BACKEND)),$(wildcard tests/simt/*.cu))
# Programs of traced kernels: one a folder.
TESTS_TRACED := $(if $(filter simt,$(BACKEND)),tests/planted tests/counters)
TEST_PROGRAMS := $(patsubst %,$(OUT)/%,$(basename $(TESTS_C) $(TESTS_CU) $(TESTS_SIMT))) \
                 $(OUT)/tests/kernels/matrix $(OUT)/tests/mutants/run \
                 $(TESTS_TRACED:%=$(OUT)/traced/%/run)

##@ Build

.PHONY: help all programs test check-format format clean data diff limits ladder FORCE
.PHONY: ncu scheduler sanitize validate-counters predictions

help: ## Show this help
	@awk -f scripts/help.awk Makefile config.mk

# labN: ## Build one lab and leave it here: make lab3 && ./lab3 arxiv 32

# labstat: ## Build the statistics tool: make labstat && ./labstat set:rnn

all: programs $(LABS) labstat ## Build every lab and tool
programs: $(addprefix $(OUT)/,$(LABS) labstat limits convert scheduler) $(TWINS) ## The same, in build/ alone

# A program in the root is a copy of the one in build/, taken again when the backend changes.
$(LABS): %: $(OUT)/% $(if $(TWINS),$(OUT)/traced/%) $(BUILD)/backend
	$(Q)cp -f $< $@
labstat: $(OUT)/labstat $(BUILD)/backend
	$(Q)cp -f $< $@

##@ Check

test: all $(TEST_PROGRAMS) ## Run every test; ends with "N passed, N failed, N skipped"
	$(Q)OUT='$(OUT)' BACKEND='$(BACKEND)' scripts/run-tests $(TEST_PROGRAMS)
test: $(OUT)/tests/cli/faulty $(if $(TWINS),$(OUT)/traced/tests/cli/faulty)

check-format: ## Verify the format of C and CUDA files and lint the shell scripts
	$(Q)scripts/check-format

format: ## Format C and CUDA files
	$(Q)scripts/check-format --fix

##@ Measure (needs a GPU)

limits: $(OUT)/limits ## Measure this machine's bandwidths and peak, for the roofline column
	$(Q)$<

scheduler: $(OUT)/scheduler ## Lab 10's probe of the first wave; its simulation: make scheduler ARGS="balance ddi"
	$(Q)$< $(or $(ARGS),probe)

ncu: $(if $(LAB),$(OUT)/lab$(LAB)) ## Nsight Compute on a lab: make ncu LAB=3 ARGS="arxiv 32"
	@CUDA_HOME='$(CUDA_HOME)' scripts/ncu-lab '$<' $(ARGS)

sanitize: $(if $(LAB),$(OUT)/lab$(LAB)) ## The four tools of compute-sanitizer on a lab: make sanitize LAB=3
	@CUDA_HOME='$(CUDA_HOME)' scripts/sanitize-lab '$<' $(ARGS)

validate-counters: ## Compare the counters of the CPU backend with ncu's: report/results/GPU/counters.csv
	$(Q)CUDA_HOME='$(CUDA_HOME)' scripts/cuda-tool ncu >/dev/null
	$(Q)$(MAKE) BACKEND=cuda $(addprefix $(BUILD)/cuda/,$(COUNTED_LAB) tests/counters/run)
	$(Q)$(MAKE) BACKEND=simt $(BUILD)/simt/traced/$(COUNTED_LAB)
	$(Q)CUDA_HOME='$(CUDA_HOME)' scripts/validate-counters $(BUILD) $(COUNTED_LAB)

ladder: ## Write the tables of README.md and the handouts from the measured rows
	$(Q)scripts/write-between README.md ladder scripts/ladder-table $(LADDER_ROWS)
	$(Q)for d in $(LAB_DIRS); do \
		n=$$(basename $$d | sed 's/^0*\([0-9]*\)_.*/\1/'); \
		scripts/write-between $$d/README.md "lab-table $$n" \
			scripts/ladder-table --lab $$n $(LADDER_ROWS) $(NARROW_ROWS) || exit; \
	done

predictions: ## Estimate all measured rows without a GPU (an hour), and write how well that orders them
	$(Q)$(MAKE) BACKEND=simt $(BUILD)/simt/traced/$(COUNTED_LAB)
	$(Q)scripts/predict-rows $(LADDER_ROWS) $(BUILD)/simt/$(COUNTED_LAB) $(BUILD)/predictions \
		>$(BUILD)/counted.csv
	$(Q)mv $(BUILD)/counted.csv $(COUNTED_ROWS)
	$(Q)scripts/compare-predictions $(COUNTED_ROWS) $(LADDER_ROWS) >$(PREDICTIONS)
	$(Q)scripts/write-between $(PREDICTIONS_PAGE) predictions \
		scripts/compare-predictions --summary $(COUNTED_ROWS) $(LADDER_ROWS)

##@ Data and reading

data: $(OUT)/convert ## Download and convert a dataset: make data DATASET=arxiv
	$(Q)CONVERT='$(OUT)/convert' datasets/fetch $(DATASET)

diff: ## Show what a lab changes from the one before: make diff LAB=3
	@scripts/diff-lab $(LAB)

clean: ## Remove everything that was built
	$(Q)rm -rf $(BUILD) $(LABS) labstat

# ---- rules -------------------------------------------------------------------------------------

# Rewritten only when its text changes, so that changed settings rebuild and others do not.
define stamp
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(1))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(1))' > $@
endef
$(BUILD)/backend: FORCE
	$(call stamp,$(OUT))
$(OUT)/settings: FORCE
	$(call stamp,$(CC) $(CFLAGS_ALL) $(CFLAGS) $(CXX) $(CXXFLAGS_ALL) $(CU_CHECKS) $(TRACE) $(CXXFLAGS) $(NVCC) $(NVCCFLAGS_ALL) $(NVCCFLAGS) $(LDFLAGS) $(LDLIBS_ALL))
$(OUT)/generated/commit.h: FORCE
	$(call stamp,#define COMMIT "$(shell git describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null || echo unknown)")
$(OUT)/common/harness/provenance.c.o: $(OUT)/generated/commit.h
$(OUT)/common/harness/provenance.c.o: private CFLAGS_ALL += -I$(OUT)/generated
# Where a program finds its traced twin.
$(OUT)/common/harness/twin.c.o: private CFLAGS_ALL += -DPROGRAMS='"$(OUT)"'

$(OUT)/%.c.o: %.c $(OUT)/settings
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) $(DEPS) -c $< -o $@

$(OUT)/%.cc.o: %.cc $(OUT)/settings
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(CXX) $(CXXFLAGS_ALL) $(CXXFLAGS) $(DEPS) -c $< -o $@

$(OUT)/%.S.o: %.S $(OUT)/settings
	@mkdir -p $(@D)
	$(call say,AS,$<)
	$(Q)$(CC) $(DEPS) -c $< -o $@

ifeq ($(BACKEND),cuda)
$(OUT)/%.cu.o: %.cu $(OUT)/settings
	@mkdir -p $(@D)
	$(call say,NVCC,$<)
	$(Q)$(NVCC) $(NVCCFLAGS_ALL) $(NVCCFLAGS) -MMD -MP -c $< -o $@
else
$(OUT)/%.cu.cc: %.cu common/simt/translate.awk
	@mkdir -p $(@D)
	$(Q)awk -v file=$< -f common/simt/translate.awk $< > $@
$(OUT)/%.cu.o: $(OUT)/%.cu.cc $(OUT)/settings
	$(call say,SIMT,$*.cu)
	$(Q)$(CXX) $(CXXFLAGS_ALL) $(CU_CHECKS) $(CXXFLAGS) -iquote $(dir $*) -include cuda_runtime.h $(DEPS) -c $< -o $@
$(OUT)/traced/%.cu.o: $(OUT)/%.cu.cc $(OUT)/settings
	@mkdir -p $(@D)
	$(call say,TRACE,$*.cu)
	$(Q)$(CXX) $(CXXFLAGS_ALL) $(TRACE) $(CXXFLAGS) -iquote $(dir $*) -include cuda_runtime.h $(DEPS) -c $< -o $@
endif

link = $(call say,LINK,$@)$(newline)	$(Q)$(CXX) -o $@ $(filter %.o,$^) $(LDFLAGS) $(LDLIBS_ALL)
define newline


endef

$(addprefix $(OUT)/,$(LABS)): $(call object,$(LAB_MAIN)) $(COMMON)
	$(link)
$(TWINS): $(call object,$(LAB_MAIN)) $(TRACED_COMMON)
	$(link)
# Linked after its program, so that an older twin is an outdated one (common/harness/twin.c).
$(TWINS): $(OUT)/traced/%: $(OUT)/%
$(OUT)/limits: $(call object,$(LIMITS_MAIN)) $(COMMON)
	$(link)
$(OUT)/labstat: $(call object,$(LABSTAT_MAIN)) $(COMMON)
	$(link)
$(OUT)/convert: $(call object,datasets/convert.c) $(COMMON)
	$(link)
$(OUT)/scheduler: $(call object,$(SCHEDULER_MAIN) $(SCHEDULER)) $(COMMON)
	$(link)
$(OUT)/tests/unit/test_scheduler: $(call object,$(SCHEDULER))
$(patsubst %.c,$(OUT)/%,$(TESTS_PROFILER)): $(call object,$(addprefix common/profiler/,machine.cc gpu_model.c predict.c))
$(OUT)/tests/unit/%: $(OUT)/tests/unit/%.c.o $(COMMON)
	$(link) -lcmocka
$(OUT)/tests/primitives/%: $(OUT)/tests/primitives/%.cu.o $(COMMON)
	$(link)
$(OUT)/tests/simt/%: $(OUT)/tests/simt/%.cu.o $(COMMON)
	$(link)
$(OUT)/tests/cli/faulty: $(call object,$(LAB_MAIN) tests/cli/faulty.cu) $(COMMON)
	$(link)
$(OUT)/traced/tests/cli/faulty: $(call object,$(LAB_MAIN)) $(call traced,$(call object,tests/cli/faulty.cu)) \
                                $(TRACED_COMMON)
	$(link)
$(OUT)/tests/kernels/matrix: $(call object,$(wildcard tests/kernels/*.c)) $(ALL_LAB_OBJECTS) $(COMMON)
	$(link)
# On a GPU for ncu to count (scripts/ncu-patterns).
$(OUT)/tests/counters/run: $(call object,$(wildcard tests/counters/*.cu)) $(COMMON)
	$(link)
$(TESTS_TRACED:%=$(OUT)/traced/%/run): $(OUT)/traced/%/run: $(TRACED_COMMON)
	$(link)
$(foreach t,$(TESTS_TRACED),$(eval $(OUT)/traced/$(t)/run: $(call traced,$(call object,$(wildcard $(t)/*.cu))) \
    $(call object,$(wildcard $(t)/*.c))))
$(OUT)/tests/mutants/run: $(call object,$(wildcard tests/mutants/*.c tests/mutants/*.cu) tests/kernels/shapes.c) $(COMMON)
	$(link)

-include $(shell find $(OUT) -name '*.d' 2>/dev/null)
