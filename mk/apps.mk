# apps.mk - programs made of several products: apps/NAME/ becomes $(OUT)/apps/NAME/NAME. An app has its own main, calls
# contenders of all labs by name, and dense products by cuBLAS, for which the CPU backend has a stand-in.

APPS := $(notdir $(patsubst %/,%,$(sort $(wildcard apps/*/))))
APP_PROGRAMS := $(foreach a,$(APPS),$(OUT)/apps/$(a)/$(a))

# The library of plans, and what programs that train share: the apps that include it.
PLANS := $(call object,$(wildcard common/library/*.c common/library/*.cu))
TRAINING := $(call object,$(wildcard common/training/*.c common/training/*.cu))
training_of = $(if $(shell grep -l '"training/' apps/$(1)/*.[ch]),$(TRAINING))

# Networks that are labs of the ladder, as 60:rnn: the second line of NAME.c says so, " * Lab 60 - idea.", as that of a
# lab.cu does.
NETWORKS := $(shell awk 'FNR == 2 && /^ \* Lab [0-9]+ - / { split(FILENAME, part, "/"); \
    if (part[3] == part[2] ".c") print $$3 ":" part[2] }' $(wildcard apps/*/*.c) /dev/null)
NETWORK_LABS := $(foreach n,$(NETWORKS),lab$(firstword $(subst :, ,$(n))))

.PHONY: apps measure-app

apps: $(APP_PROGRAMS) ## Build the applications: make apps && build/simt/apps/NAME/NAME --help

measure-app: $(if $(APP),$(OUT)/apps/$(APP)/$(APP) $(OUT)/lab36) ## Time an app on this GPU: make measure-app APP=gat
	$(Q)$(if $(APP),,echo 'measure-app: which app? (make measure-app APP=gat)' >&2; exit 2;) PROGRAMS='$(OUT)' apps/$(APP)/measure $(ARGS)

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

# network_rule NUMBER, NAME: `make lab60` leaves the program here, as of any lab.
define network_rule
lab$(1): $(OUT)/apps/$(2)/$(2) $(BUILD)/backend
	$$(Q)cp -f $$< $$@
endef
$(foreach n,$(NETWORKS),$(eval $(call network_rule,$(firstword $(subst :, ,$(n))),$(lastword $(subst :, ,$(n))))))

# The dense products of the CPU backend run on all cores, through OpenMP.
$(OUT)/common/simt/cublas.cc.o: private CXXFLAGS_ALL += -fopenmp
