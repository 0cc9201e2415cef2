# rules.mk - how one file is compiled, and recompiled when its settings change.

Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-5s %s\n' '$(1)' '$(2)')

# Rewritten only when its text changes, so that changed settings rebuild and others do not.
define stamp
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(1))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(1))' > $@
endef
$(BUILD)/backend: FORCE
	$(call stamp,$(OUT))
$(OUT)/settings: FORCE
	$(call stamp,$(CC) $(CFLAGS_ALL) $(CFLAGS) $(CXX) $(CXXFLAGS_ALL) $(CU_CHECKS) $(TRACE) $(CXXFLAGS) $(NVCC) $(NVCCFLAGS_ALL) $(FAST) $(NVCCFLAGS) $(LDFLAGS) $(LDLIBS_ALL))
# Asks for a file, since the tree may lie in a checkout of something else, untracked.
commit = $(shell git ls-files --error-unmatch Makefile >/dev/null 2>&1 && \
	git describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null || echo unknown)
$(OUT)/generated/commit.h: FORCE
	$(call stamp,#define COMMIT "$(commit)")
# The numbers of the labs in which a region still holds the starter's TODO (scripts/starter).
unwritten = $(sort $(foreach f,$(shell grep -lE '^ */\* TODO: ' $(wildcard $(LAB_DIRS:%=%/*.cu*) $(LAB_DIRS:%=%/*.h)) /dev/null),$(call \
	number_of,$(patsubst %/,%,$(dir $(f))))))
$(OUT)/generated/unwritten.h: FORCE
	$(call stamp,#define UNWRITTEN " $(unwritten) ")
$(OUT)/common/harness/provenance.c.o: $(OUT)/generated/commit.h $(OUT)/generated/unwritten.h
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
# Code that is never run is less optimised where this nvcc can, which takes a third of the time: device-code, and all with
# FAST=1. Files that use wgmma are not, for ptxas warns of products one after the other only where it optimises.
FAST_COMPILE = $(eval FAST_COMPILE := $(if $(findstring Ofast-compile,$(shell $(NVCC) --help)),-Ofc=max))$(FAST_COMPILE)
FAST_OBJECT = $(if $(filter 1,$(FAST)),$(if $(shell grep -ls wgmma_ $(<D)/*.cu*),,$(FAST_COMPILE)))
$(OUT)/%.cu.o: %.cu $(OUT)/settings
	@mkdir -p $(@D)
	$(call say,NVCC,$<)
	$(Q)$(NVCC) $(NVCCFLAGS_ALL) $(FAST_OBJECT) $(NVCCFLAGS) -MMD -MP -c $< -o $@
$(OUT)/%.fatbin: %.cu $(OUT)/settings
	@mkdir -p $(@D)
	$(call say,FATBIN,$<)
	$(Q)$(NVCC) $(NVCCFLAGS_ALL) $(FAST_COMPILE) $(NVCCFLAGS) -MMD -MP -fatbin $< -o $@
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

# A program of all objects that its rule names.
link = $(call say,LINK,$@)$(newline)	$(Q)$(CXX) -o $@ $(filter %.o,$^) $(LDFLAGS) $(LDLIBS_ALL)
comma := ,
define newline


endef
