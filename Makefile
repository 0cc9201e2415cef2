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

PASSIVE_GOALS := help clean format check-format diff ladder leaderboard plots predictions report validate-counters \
                 starter new-lab
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
LDLIBS_ALL += -L$(CUDA_LIBDIR) -Wl,-rpath,$(CUDA_LIBDIR) -lcusparse -lcublas -lcublasLt -lcudart_static -ldl -lrt
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
COMMON_SOURCES := $(filter-out $(MAINS) common/baselines/% common/simt/% common/profiler/% common/grader/%,\
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

# The rows of which tables and figures are made: of one device. (RESULTS itself stays as it was given: to make
# bench it is the folder of all devices, to make grade a file.)
ROWS := $(or $(RESULTS),report/results/h200)
LADDER_ROWS := $(ROWS)/spmm.csv
# Rows of others, measured on the same device.
RIVAL_ROWS := $(ROWS)/rivals
LEADERBOARD_PAGE := labs/20_open/README.md
NARROW_ROWS := $(wildcard $(addprefix $(ROWS)/,spmm-fp16.csv spmm-bf16.csv))
# Of lab 9, on pruned weights: beside dense products.
DENSE_ROWS := $(wildcard $(ROWS)/spmm-llm*.csv)
# Labs 1 to 5 are those whose counters and estimates are held against a GPU's.
COUNTED_LAB := lab5
COUNTED_ROWS := $(ROWS)/counted.csv
PREDICTIONS = $(dir $(COUNTED_ROWS))predictions.csv
PREDICTIONS_PAGE := docs/counters.md

# The machine model and the estimates belong to the traced programs of the CPU backend.
TESTS_PROFILER := tests/unit/test_machine.c tests/unit/test_predict.c
TESTS_C := $(filter-out $(if $(filter cuda,$(BACKEND)),$(TESTS_PROFILER)),$(wildcard tests/unit/*.c))
TESTS_CU := $(wildcard tests/primitives/*.cu)
TESTS_SIMT := $(if $(filter simt,$(BACKEND)),$(wildcard tests/simt/*.cu))
# Programs of traced kernels: one a folder.
TESTS_TRACED := $(if $(filter simt,$(BACKEND)),$(wildcard tests/planted tests/counters))
# Lab 9's format, for tests that want it alone: encoders and decoder.
TCA_BME := $(wildcard labs/09_bitmap_tensor_core/tca_bme*.c labs/09_bitmap_tensor_core/tca_bme*.cu)
LANE_MAJOR := $(filter %.cu,$(TCA_BME)) labs/09_bitmap_tensor_core/lane_major.cu
TEST_PROGRAMS := $(patsubst %,$(OUT)/%,$(basename $(TESTS_C) $(TESTS_CU) $(TESTS_SIMT))) \
                 $(OUT)/tests/kernels/matrix $(patsubst %,$(OUT)/%/run,$(wildcard tests/mutants)) \
                 $(TESTS_TRACED:%=$(OUT)/traced/%/run)

##@ Build

.PHONY: help all programs test check-format format clean data diff limits ladder FORCE
.PHONY: bench check-gpu ncu resources scheduler sanitize validate-counters leaderboard plots report storage predictions

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
test: $(if $(wildcard tests/cli),$(OUT)/tests/cli/faulty $(if $(TWINS),$(OUT)/traced/tests/cli/faulty))

check-format: ## Verify the format of C and CUDA files and lint the shell scripts
	$(Q)scripts/check-format

format: ## Format C and CUDA files
	$(Q)scripts/check-format --fix

##@ Measure (needs a GPU)

# The labs that the plan names; nothing is built to say that there is no GPU.
BENCH_LABS = $(filter $(LABS),$(shell awk '!/^\#/ { print $$3 }' $(firstword $(wildcard report/plans/$(PLAN) $(PLAN)) /dev/null)))
BENCH_NEEDS = $(if $(filter cuda,$(BACKEND))$(findstring --dry-run,$(ARGS)),$(sort $(BENCH_LABS:%=$(OUT)/%)))
bench: $(if $(filter bench,$(MAKECMDGOALS)),$(BENCH_NEEDS)) ## Measure what a plan still lacks: make bench PLAN=full [ARGS=--dry-run]
	$(Q)BACKEND='$(BACKEND)' scripts/bench '$(PLAN)' '$(OUT)' $(ARGS)

limits: $(OUT)/limits ## Measure this machine's bandwidths and peak, for the roofline column
	$(Q)$<

scheduler: $(OUT)/scheduler ## Lab 10's probe of the first wave; its simulation: make scheduler ARGS="balance ddi"
	$(Q)$< $(or $(ARGS),probe)

ncu: $(if $(LAB),$(OUT)/lab$(LAB)) ## Nsight Compute on a lab: make ncu LAB=3 ARGS="arxiv 32"
	@CUDA_HOME='$(CUDA_HOME)' scripts/ncu-lab '$<' $(ARGS)

resources: $(if $(LAB),$(OUT)/lab$(LAB),$(if $(filter cuda,$(BACKEND)),$(OUT)/lab9 $(OUT)/lab20)) ## What bounds a lab's kernels, by ncu: make resources LAB=3 ARGS="arxiv 32"; without LAB: rows of the report
	$(Q)CUDA_HOME='$(CUDA_HOME)' $(if $(LAB),scripts/ncu-resources '$<' '$(or $(KERNEL),spmm_)' $(ARGS) >$(OUT)/resources.csv,\
		scripts/measure-resources '$(OUT)')
	$(if $(LAB),$(Q)scripts/resources-table $(OUT)/resources.csv)

sanitize: $(if $(LAB),$(OUT)/lab$(LAB)) ## The four tools of compute-sanitizer on a lab: make sanitize LAB=3
	@CUDA_HOME='$(CUDA_HOME)' scripts/sanitize-lab '$<' $(ARGS)

check-gpu: $(if $(LAB),$(OUT)/lab$(LAB) $(filter %/matrix %/mbarrier %/test_lane_major,$(TEST_PROGRAMS))) ## All that a lab's kernels must pass on a GPU: make check-gpu LAB=10
	$(Q)CUDA_HOME='$(CUDA_HOME)' scripts/check-gpu '$(LAB)' '$(OUT)'

validate-counters: ## Compare the counters of the CPU backend with ncu's: report/results/GPU/counters.csv
	$(Q)CUDA_HOME='$(CUDA_HOME)' scripts/cuda-tool ncu >/dev/null
	$(Q)$(MAKE) BACKEND=cuda $(addprefix $(BUILD)/cuda/,$(COUNTED_LAB) tests/counters/run)
	$(Q)$(MAKE) BACKEND=simt $(BUILD)/simt/traced/$(COUNTED_LAB)
	$(Q)CUDA_HOME='$(CUDA_HOME)' scripts/validate-counters $(BUILD) $(COUNTED_LAB)

##@ Report (of measured rows, without a GPU)

ladder: ## Write the tables of README.md and the handouts from the measured rows
	$(Q)scripts/write-between README.md ladder scripts/ladder-table $(LADDER_ROWS)
	$(Q)for d in $(LAB_DIRS); do \
		n=$$(basename $$d | sed 's/^0*\([0-9]*\)_.*/\1/'); \
		grep -q "<!-- lab-table $$n -->" $$d/README.md || continue; \
		scripts/write-between $$d/README.md "lab-table $$n" \
			scripts/ladder-table --lab $$n $(LADDER_ROWS) $(NARROW_ROWS) || exit; \
	done
	$(Q)scripts/write-between labs/09_bitmap_tensor_core/README.md dense-table scripts/dense-table $(DENSE_ROWS)
	$(Q)$(MAKE) --no-print-directory leaderboard

leaderboard: ## Who is fastest, labs, vendor and rivals: RIVAL_ROWS=FOLDER of CSV files
	$(Q)scripts/write-between $(LEADERBOARD_PAGE) leaderboard \
		scripts/leaderboard $(LADDER_ROWS) $(RIVAL_ROWS)

plots: ## Draw the report's figures from measured rows; one of them: make plots PLOT=speedups
	$(Q)scripts/plots $(ROWS) report/figures $(PLOT)

report: ladder ## The report, without a GPU: figures, report/report.md, .html and .pdf of the measured rows
	$(Q)scripts/plots $(ROWS) report/figures || [ $$? -eq 3 ]
	$(Q)scripts/report $(ROWS) report

storage: $(OUT)/labstat ## Write what formats for pruned weights take, by formula: rows of the report's figure
	$(Q)$< --storage 28672x8192x16 --csv report/storage.csv

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
comma := ,
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
$(OUT)/tests/unit/test_tca_bme: $(call object,$(TCA_BME))
$(OUT)/tests/unit/test_lane_major: $(call object,$(LANE_MAJOR))
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
$(OUT)/tests/kernels/matrix: $(call object,$(wildcard tests/kernels/*.c tests/kernels/*.cu)) $(ALL_LAB_OBJECTS) $(COMMON)
	$(link)
# On a GPU for ncu to count (scripts/ncu-patterns).
$(OUT)/tests/counters/run: $(call object,$(wildcard tests/counters/*.cu)) $(COMMON)
	$(link)
$(TESTS_TRACED:%=$(OUT)/traced/%/run): $(OUT)/traced/%/run: $(TRACED_COMMON)
	$(link)
$(foreach t,$(TESTS_TRACED),$(eval $(OUT)/traced/$(t)/run: $(call traced,$(call object,$(wildcard $(t)/*.cu))) \
    $(call object,$(wildcard $(t)/*.c))))
$(OUT)/tests/mutants/run: $(call object,$(wildcard tests/mutants/*.c tests/mutants/*.cu) tests/kernels/shapes.c $(LANE_MAJOR)) $(COMMON)
	$(link)

##@ Course staff

# common/grader links no lab, and a runner of one lab links nothing of the grader.

RUNNER_SOURCES := $(addprefix common/grader/,runner.c copies.c seal.c channel.c)
GRADE_MAINS := $(addprefix common/grader/,grade.c calibrate.c)
GRADE_SOURCES := $(filter-out $(GRADE_MAINS) $(addprefix common/grader/,runner.c copies.c seal.c),\
                 $(wildcard common/grader/*.c)) tests/kernels/shapes.c
RUNNER := $(call object,$(RUNNER_SOURCES)) $(filter-out $(OUT)/common/baselines/%,$(COMMON))
TRACED_RUNNER := $(call object,$(RUNNER_SOURCES)) $(TRACED_COMMON)
# What lab $(1) needs of labs before it is the staff's: links 05_split_rows, in its grade.tsv.
lab_folder = $(filter labs/$(1)_% labs/0$(1)_%,$(LAB_DIRS))
linked_folders = $(addprefix labs/,$(shell sed -n 's/^links[[:space:]]//p' $(call lab_folder,$(1))/grade.tsv 2>/dev/null))
linked = $(call object,$(wildcard $(addsuffix /*.cu,$(call linked_folders,$(1)))))
GRADE_NEEDS = $(OUT)/grade $(OUT)/grader/lab$(LAB) $(if $(TWINS),$(OUT)/traced/grader/lab$(LAB),traced-runner)

# The lab before, of which a speed gets no points; of the first lab itself.
BEFORE = $(or $(shell printf '%s\n' $(LABS:lab%=%) | awk -v lab='$(LAB)' '$$1 < lab { n = $$1 } END { print n }'),$(LAB))
CALIBRATED = $(OUT)/grader/lab$(LAB) $(OUT)/grader/lab$(BEFORE)

# A submission is compiled where no device is in sight to ask, and no PATH.
OF_GPU = $(if $(filter cuda,$(BACKEND)),--arch '$(ARCHS)' --cuda-home '$(CUDA_HOME)')

# Whose runners there are rules for: the tests grade submissions to two labs.
TESTED := 1 3
GRADED := $(if $(LAB),$(sort $(LAB) $(BEFORE)),$(TESTED))
ifeq ($(BACKEND),simt)
test: $(OUT)/grade $(foreach n,$(TESTED),$(OUT)/grader/lab$(n) $(OUT)/traced/grader/lab$(n))
endif

.PHONY: starter grade grade-ready grade-all calibrate new-lab

starter: ## Make the students' tree: make starter OUT=dir
	$(Q)scripts/starter '$(if $(findstring command,$(origin OUT)),$(OUT))'

grade: $(if $(LAB),$(GRADE_NEEDS)) ## Grade a submission: make grade LAB=3 SUBMISSION=dir [RESULTS=results.json]
	$(Q)$(if $(and $(LAB),$(SUBMISSION)),,$(error grade: which lab and whose? (make grade LAB=3 SUBMISSION=dir)))
	$(Q)$(OUT)/grade $(LAB) '$(SUBMISSION)' --json '$(or $(RESULTS),results.json)' \
		$(OF_GPU) $(ARGS)

grade-ready: $(if $(LAB),$(GRADE_NEEDS)) ## Build what grading a lab takes: make grade-ready LAB=3

grade-all: $(if $(LAB),$(GRADE_NEEDS)) ## Grade a class: make grade-all LAB=3 SUBMISSIONS=dir
	$(Q)scripts/grade-all $(OUT)/grade $(LAB) $(if $(SUBMISSIONS),'$(SUBMISSIONS)') $(OF_GPU) $(ARGS)

calibrate: $(if $(LAB),$(OUT)/calibrate $(CALIBRATED)) ## Set a lab's targets for this GPU: make calibrate LAB=3
	$(Q)$(if $(LAB),,$(error calibrate: which lab? (make calibrate LAB=3)))
	$(Q)$< $(LAB) $(BEFORE) $(CALIBRATED) $(ARGS)

new-lab: ## Make a folder for a new lab: make new-lab NAME=42_my_idea
	$(Q)scripts/new-lab '$(NAME)'

# The submission's objects come last: of two inline functions of one name the linker keeps the first.
$(patsubst common/grader/%.c,$(OUT)/%,$(GRADE_MAINS)): $(OUT)/%: $(OUT)/common/grader/%.c.o $(call object,$(GRADE_SOURCES)) $(COMMON)
	$(link)
$(OUT)/common/grader/grade.c.o: private CFLAGS_ALL += -DBUILD_FOLDER='"$(BUILD)"'
$(OUT)/tests/unit/test_grader: $(call object,$(GRADE_SOURCES) common/grader/seal.c)
# For the grader's own use, as are the rules below. It says of what KINDS something is run: plain, traced.
lab-objects: FORCE $(if $(filter plain,$(KINDS)),$(ALL_LAB_OBJECTS)) $(if $(filter traced,$(KINDS)),$(call traced,$(ALL_LAB_OBJECTS)))
# Beside a GPU: counters and checks are the CPU backend's.
traced-runner: FORCE
	$(Q)$(MAKE) -s BACKEND=simt LAB=$(LAB) $(BUILD)/simt/traced/grader/lab$(LAB)
own = $(call object,$(wildcard $(call lab_folder,$(1))/*.cu))
# On a GPU: the runner stands before CUDA's copies (common/grader/copies.c).
ifeq ($(BACKEND),cuda)
GUARDED := $(addprefix -Wl$(comma)--wrap=,cudaMemcpy cudaMemcpyAsync cudaMemcpyToSymbol cudaMemcpyFromSymbol)
$(OUT)/grader/lab% $(WORK)/runner/plain: private LDLIBS_ALL += $(GUARDED)
endif
define runner_rules
$(OUT)/grader/lab$(1): $(RUNNER) $(call linked,$(1)) $(call own,$(1))
	@mkdir -p $$(@D)
	$$(link)
$(OUT)/traced/grader/lab$(1): $(TRACED_RUNNER) $(call traced,$(call linked,$(1)) $(call own,$(1)))
	@mkdir -p $$(@D)
	$$(link)
endef
$(foreach n,$(GRADED),$(eval $(call runner_rules,$(n))))
ifneq ($(WORK),)
$(WORK)/runner/plain: $(RUNNER) $(call linked,$(LAB)) $(wildcard $(WORK)/objects/plain-*.o)
	$(link)
$(WORK)/runner/traced: $(TRACED_RUNNER) $(call traced,$(call linked,$(LAB))) $(wildcard $(WORK)/objects/traced-*.o)
	$(link)
$(WORK)/reference/plain: $(OUT)/grader/lab$(LAB)
$(WORK)/reference/traced: $(OUT)/traced/grader/lab$(LAB)
$(WORK)/reference/%:
	@mkdir -p $(@D)
	$(Q)cp $< $@
graded-runners: FORCE $(foreach k,$(KINDS),$(WORK)/runner/$(k) $(WORK)/reference/$(k))
endif

-include $(shell find $(OUT) -name '*.d' 2>/dev/null)
