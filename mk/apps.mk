# apps.mk - programs made of several products: apps/NAME/ becomes $(OUT)/apps/NAME/NAME. An app has its own main, calls
# contenders of all labs by name, and dense products by cuBLAS, for which the CPU backend has a stand-in.

APPS := $(notdir $(patsubst %/,%,$(sort $(wildcard apps/*/))))
APP_PROGRAMS := $(foreach a,$(APPS),$(OUT)/apps/$(a)/$(a))

# The library of plans, and what programs that train share: the apps that include it.
PLANS := $(call object,$(wildcard common/library/*.c common/library/*.cu))
TRAINING := $(call object,$(wildcard common/training/*.c common/training/*.cu))
training_of = $(if $(shell grep -l '"training/' apps/$(1)/*.[ch]),$(TRAINING))

.PHONY: apps measure-app

apps: $(APP_PROGRAMS) ## Build the applications: make apps && build/simt/apps/NAME/NAME --help

measure-app: $(if $(APP),$(OUT)/apps/$(APP)/$(APP) $(OUT)/lab36) ## Time an app on this GPU: make measure-app APP=gat
	$(Q)PROGRAMS='$(OUT)' apps/$(APP)/measure $(ARGS)

# Tests of an app link all of it but NAME.c, which has main: tests/unit/test_NAME.c, and tests/app_NAME/, whose kernels
# are traced, those of the labs among them.
define app_rule
PLANS_$(1) := $$(PLANS) $$(call training_of,$(1))
$(OUT)/apps/$(1)/$(1): $$(call object,$$(wildcard apps/$(1)/*.c apps/$(1)/*.cu)) $$(PLANS_$(1)) $$(ALL_LAB_OBJECTS) $$(COMMON)
	$$(link)
$(OUT)/tests/unit/test_$(1): $$(call object,$$(filter-out apps/$(1)/$(1).c,$$(wildcard apps/$(1)/*.c apps/$(1)/*.cu))) \
                             $$(PLANS_$(1)) $$(ALL_LAB_OBJECTS)
$(OUT)/traced/tests/app_$(1)/run: $$(call object,$$(filter-out apps/$(1)/$(1).c,$$(wildcard apps/$(1)/*.c))) \
                                  $$(call traced,$$(call object,$$(wildcard apps/$(1)/*.cu)) $$(PLANS_$(1)) $$(ALL_LAB_OBJECTS))
endef
$(foreach a,$(APPS),$(eval $(call app_rule,$(a))))
test-programs: $(APP_PROGRAMS)

# The dense products of the CPU backend run on all cores, through OpenMP.
$(OUT)/common/simt/cublas.cc.o: private CXXFLAGS_ALL += -fopenmp
