# grader.mk - goals of the course's staff, and what grading is made of. A student's tree has none of it.

# ---- what is graded ----------------------------------------------------------------------------

# Sources of other labs that lab $(1) needs are the staff's: links FOLDER, in its grade.tsv.
lab_folder = $(filter labs/$(1)_% labs/0$(1)_%,$(LAB_DIRS))
linked_folders = $(addprefix labs/,$(shell sed -n 's/^links[[:space:]]//p' $(call lab_folder,$(1))/grade.tsv 2>/dev/null))
linked = $(call object,$(wildcard $(addsuffix /*.cu,$(call linked_folders,$(1)))))
own = $(call object,$(wildcard $(call lab_folder,$(1))/*.cu))

# The step before, whose speed gets no points: the parent; of the first lab itself.
PARENT = $(or $(shell scripts/parent-of '$(LAB)'),$(LAB))
CALIBRATED = $(OUT)/grader/lab$(LAB) $(OUT)/grader/lab$(PARENT)

# The labs that there are rules for: the one asked for, and those that the tests hand in.
TESTED := $(sort $(shell sed -n 's/^# Grades labs: //p' tests/cli/grade.bats tests/cheats/run 2>/dev/null))
GRADED := $(if $(LAB),$(sort $(LAB) $(PARENT)),$(TESTED))
GRADE_NEEDS = $(OUT)/grade $(OUT)/grader/lab$(LAB) $(if $(TWINS),$(OUT)/traced/grader/lab$(LAB),traced-runner)
# A submission is compiled where no device is in sight to ask, and no PATH.
OF_GPU = $(if $(filter cuda,$(BACKEND)),--arch '$(ARCHS)' --cuda-home '$(CUDA_HOME)')

ifeq ($(BACKEND),simt)
test-programs: $(OUT)/grade $(foreach n,$(TESTED),$(OUT)/grader/lab$(n) $(OUT)/traced/grader/lab$(n))
endif

# A knob's value as one word of a shell, whatever its characters: folders have the names that students gave them.
# They go into no environment: make would expand them on the way.
unexport SUBMISSION SUBMISSIONS RESULTS
as_given = '$(subst ','\'',$(value $(1)))'

# ---- the goals ---------------------------------------------------------------------------------

##@ Course staff

.PHONY: starter autograder release grade grade-ready grade-all calibrate new-lab

# OUT as the user gives it: a folder or a file to make, not where programs are built.
ASKED = '$(if $(findstring command,$(origin OUT)),$(OUT))'

starter: ## Make the students' tree: make starter OUT=dir
	$(Q)scripts/starter $(ASKED)

autograder: ## Make what Gradescope takes: make autograder LAB=3 OUT=autograder.zip
	$(Q)scripts/autograder '$(LAB)' $(ASKED)

release: ## Make the archive of the sources: make release [OUT=file.tar.gz]
	$(Q)scripts/release $(ASKED)

grade: $(if $(LAB),$(GRADE_NEEDS)) ## Grade a submission: make grade LAB=3 SUBMISSION=dir [RESULTS=results.json]
	$(Q)$(if $(and $(LAB),$(value SUBMISSION)),,$(error grade: which lab and whose? (make grade LAB=3 SUBMISSION=dir)))
	$(Q)$(OUT)/grade $(LAB) $(call as_given,SUBMISSION) --json $(if $(value RESULTS),$(call as_given,RESULTS),'results.json') \
		$(OF_GPU) $(ARGS)

grade-ready: $(if $(LAB),$(GRADE_NEEDS)) ## Build what grading a lab takes: make grade-ready LAB=3

grade-all: $(if $(LAB),$(GRADE_NEEDS)) ## Grade a class: make grade-all LAB=3 SUBMISSIONS=dir
	$(Q)scripts/grade-all $(OUT)/grade $(LAB) $(if $(value SUBMISSIONS),$(call as_given,SUBMISSIONS)) $(OF_GPU) $(ARGS)

calibrate: $(if $(LAB),$(OUT)/calibrate $(CALIBRATED)) ## Set a lab's targets for this GPU: make calibrate LAB=3
	$(Q)$(if $(LAB),,$(error calibrate: which lab? (make calibrate LAB=3)))
	$(Q)$< $(LAB) $(PARENT) $(CALIBRATED) $(ARGS)

new-lab: ## Make a folder for a new lab: make new-lab NAME=42_my_idea [OP=sddmm]
	$(Q)scripts/new-lab '$(NAME)' '$(OP)'

# ---- the programs ------------------------------------------------------------------------------
# common/grader links no lab, and a runner of one lab links nothing of the grader.

# CUDA's driver needs more calls than can be listed: there is no filter on a GPU.
SECCOMP := $(if $(filter simt,$(BACKEND)),seccomp.c)
RUNNER_SOURCES := $(addprefix common/grader/,runner.c copies.c $(SECCOMP) channel.c fingerprint.c fingerprint.cu)
GRADE_MAINS := $(addprefix common/grader/,grade.c calibrate.c)
GRADE_SOURCES := $(filter-out $(GRADE_MAINS) $(addprefix common/grader/,runner.c copies.c seccomp.c),\
                 $(wildcard common/grader/*.c))
RUNNER := $(call object,$(RUNNER_SOURCES)) $(filter-out $(OUT)/common/baselines/%,$(COMMON))
TRACED_RUNNER := $(call object,$(RUNNER_SOURCES)) $(TRACED_COMMON)

$(patsubst common/grader/%.c,$(OUT)/%,$(GRADE_MAINS)): $(OUT)/%: $(OUT)/common/grader/%.c.o $(call object,$(GRADE_SOURCES)) $(COMMON)
	$(link)
$(OUT)/common/grader/grade.c.o: private CFLAGS_ALL += -DBUILD_FOLDER='"$(BUILD)"'
$(OUT)/tests/unit/test_grader: $(call object,$(GRADE_SOURCES) $(SECCOMP:%=common/grader/%))
ifneq ($(SECCOMP),)
$(OUT)/grader/lab% $(OUT)/traced/grader/lab% $(WORK)/runner/plain $(WORK)/runner/traced $(OUT)/tests/unit/test_grader: \
	private LDLIBS_ALL += -lseccomp
endif

# Labs that write to the channel themselves, in a runner without the filter.
FORGED := $(call object,$(wildcard tests/forged/*) tests/cheats/honest.cu)
ifneq ($(wildcard tests/forged),)
$(OUT)/tests/unit/test_grader: $(call object,common/grader/fingerprint.cu) | $(OUT)/tests/forged/runner
endif
$(OUT)/tests/forged/runner: $(filter-out %/seccomp.c.o,$(RUNNER)) $(FORGED)
	$(link)
$(OUT)/tests/unit/test_grader.c.o: private CFLAGS_ALL += -DFORGED_RUNNER='"$(OUT)/tests/forged/runner"'

# On a GPU: the runner stands before CUDA's copies (common/grader/copies.c).
ifeq ($(BACKEND),cuda)
GUARDED := $(addprefix -Wl$(comma)--wrap=,cudaMemcpy cudaMemcpyAsync cudaMemcpyToSymbol cudaMemcpyFromSymbol)
$(OUT)/grader/lab% $(OUT)/tests/forged/runner $(WORK)/runner/plain: private LDLIBS_ALL += $(GUARDED)
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
# Beside a GPU: counters and checks are the CPU backend's.
traced-runner: FORCE
	$(Q)$(MAKE) -s BACKEND=simt LAB=$(LAB) $(BUILD)/simt/traced/grader/lab$(LAB)

# ---- what the grader itself makes --------------------------------------------------------------
# A submission's objects, then its runners in WORK; KINDS says how it is run: plain, traced.

lab-objects: FORCE $(if $(filter plain,$(KINDS)),$(ALL_LAB_OBJECTS)) \
             $(if $(filter traced,$(KINDS)),$(call traced,$(ALL_LAB_OBJECTS)) \
               $(ALL_LAB_OBJECTS:.o=.untraced.i) $(ALL_LAB_OBJECTS:.o=.traced.i))

# The sources as the compiler sees them, for scripts/grade-words.
$(OUT)/%.cu.untraced.i: $(OUT)/%.cu.cc
	$(Q)$(CXX) $(CXXFLAGS_ALL) $(CU_CHECKS) $(CXXFLAGS) -iquote $(dir $*) -include cuda_runtime.h -E $< -o $@
$(OUT)/%.cu.traced.i: $(OUT)/%.cu.cc
	$(Q)$(CXX) $(CXXFLAGS_ALL) $(TRACE) $(CXXFLAGS) -iquote $(dir $*) -include cuda_runtime.h -E $< -o $@
ifneq ($(WORK),)
# The submission's objects come last: of two inline functions of one name the linker keeps the first.
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
