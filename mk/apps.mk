# apps.mk - programs made of several products: apps/NAME/ becomes $(OUT)/apps/NAME. An app has its own main, calls
# contenders of all labs by name, and dense products by cuBLAS, for which the CPU backend has a stand-in.

APPS := $(patsubst apps/%/,%,$(sort $(wildcard apps/*/)))

.PHONY: apps

apps: $(APPS:%=$(OUT)/apps/%) ## Build the applications: make apps && build/simt/apps/NAME --help

define app_rule
$(OUT)/apps/$(1): $$(call object,$$(wildcard apps/$(1)/*.c apps/$(1)/*.cu)) $$(ALL_LAB_OBJECTS) $$(COMMON)
	$$(link)
endef
$(foreach a,$(APPS),$(eval $(call app_rule,$(a))))
test-programs: $(APPS:%=$(OUT)/apps/%)

# The dense products of the CPU backend run on all cores, through OpenMP.
$(OUT)/common/simt/cublas.cc.o: private CXXFLAGS_ALL += -fopenmp
