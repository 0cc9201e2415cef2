# link.mk - what each program is made of: labs, their traced twins, and the tools of common/.

object = $(patsubst %,$(OUT)/%.o,$(1))
traced = $(patsubst $(OUT)/%.cu.o,$(OUT)/traced/%.cu.o,$(1))
LAB_MAIN := common/harness/main.c
LIMITS_MAIN := common/limits/limits.cu
LABSTAT_MAIN := $(wildcard common/labstat/*.c)
MAINS := $(LAB_MAIN) $(LIMITS_MAIN) $(LABSTAT_MAIN)
COMMON_SOURCES := $(filter-out $(MAINS) common/baselines/% common/simt/% common/profiler/% common/grader/% common/library/% common/training/% common/rows/%,\
                  $(wildcard common/*/*.c common/*/*.cu)) common/trace/assets.S $(BACKEND_SOURCES)
COMMON := $(call object,$(COMMON_SOURCES))
$(OUT)/common/trace/assets.S.o: $(wildcard common/trace/*.css common/trace/*.html common/trace/*.js)

# ---- labs --------------------------------------------------------------------------------------

# labN links labs 1..N of its own operations, in which it registers contenders, and of those whose headers they
# include: attention opens plans of SDDMM and SpMM. Folders come in ascending order, so LABS_OF_x are the labs of an
# operation met so far, and NEEDS_OF_x what they include.
OPERATIONS := $(patsubst common/ops/%.c,%,$(shell grep -l '^const operation ' common/ops/*.c))
included_by = $(filter $(OPERATIONS),$(shell sed -n 's,^.include "ops/\(.*\)\.h",\1,p' $(1)/*.cu))
own_of = $(sort $(filter $(OPERATIONS),$(shell sed -n 's,^.*\b\([A-Z_]*\)_REGISTER\>.*,\1,p' $(wildcard $(1)/*.cu $(1)/*.cuh $(1)/*.h) | tr A-Z a-z)))
define note_lab
LABS_OF_$(2) += $$(call object,$$(wildcard $(1)/*.cu))
NEEDS_OF_$(2) += $(2) $(call included_by,$(1))
endef
define lab_rule
$(OUT)/lab$(call number_of,$(1)): $$(LABS_OF_$(2))
$(OUT)/traced/lab$(call number_of,$(1)): $$(call traced,$$(LABS_OF_$(2)))
endef
define lab_rules
$(if $(2),,$(error $(1)/lab.cu registers no contender, so its operation is unknown))
$(foreach o,$(2),$(eval $(call note_lab,$(1),$(o))))
$(foreach o,$(sort $(foreach o,$(2),$(NEEDS_OF_$(o)))),$(eval $(call lab_rule,$(1),$(o))))
endef
$(foreach d,$(LAB_DIRS),$(eval $(call lab_rules,$(d),$(call own_of,$(d)))))
ALL_LAB_OBJECTS := $(call object,$(wildcard $(LAB_DIRS:%=%/*.cu)))

$(addprefix $(OUT)/,$(LABS)): $(call object,$(LAB_MAIN)) $(COMMON)
	$(link)

# The traced twin of $(OUT)/labN is $(OUT)/traced/labN: the kernels of labs and common/device again,
# with everything else as it is, and the instruments. It is linked after its program, so that an older
# twin is an outdated one (common/harness/twin.c).
PROFILER := $(call object,$(wildcard common/profiler/*.cc common/profiler/*.c))
TRACED_KERNELS := $(addprefix $(OUT)/common/,$(addsuffix /%.cu.o,device formats models))
TRACED_COMMON := $(PROFILER) $(foreach o,$(COMMON),$(if $(filter $(TRACED_KERNELS),$(o)),$(call traced,$(o)),$(o)))
TWINS := $(if $(filter simt,$(BACKEND)),$(LABS:%=$(OUT)/traced/%))

$(TWINS): $(call object,$(LAB_MAIN)) $(TRACED_COMMON)
	$(link)
$(TWINS): $(OUT)/traced/%: $(OUT)/%

# ---- tools -------------------------------------------------------------------------------------

$(OUT)/limits: $(call object,$(LIMITS_MAIN)) $(COMMON)
	$(link)
$(OUT)/labstat: $(call object,$(LABSTAT_MAIN)) $(COMMON)
	$(link)
$(OUT)/convert: $(call object,datasets/convert.c) $(COMMON)
	$(link)
$(OUT)/convert_rows: $(call object,report/convert_rows.c) $(COMMON)
	$(link)
