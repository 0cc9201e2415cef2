# lib.mk - the suite's plans as a static library for other programs: docs/use-it.md.

# Labs and operations register themselves in sections of the program, and nothing names them. A linker takes only the
# objects of an archive that something names. So the archive has one object, which holds all of them and what they
# need of common/. Its other names are made local: a program may have a function `fail` of its own.
LIB := $(OUT)/lib/libsparse_plan.a
LIB_HEADERS := common/library/sparse_plan.h $(if $(filter simt,$(BACKEND)),$(wildcard common/simt/include/*))
LIB_WHOLE := $(call object,$(wildcard common/library/*.c common/library/*.cu common/ops/*.c)) $(ALL_LAB_OBJECTS) \
             $(if $(filter simt,$(BACKEND)),$(call object,$(BACKEND_SOURCES)))
LIB_PARTS := $(filter-out $(LIB_WHOLE),$(filter $(OUT)/common/results/limits.c.o $(addprefix $(OUT)/common/,$(addsuffix /%,device exchange formats matrix models)),$(COMMON)))
LIB_NAMES := sparse_* $(if $(filter simt,$(BACKEND)),cuda[A-Z]* cublas[A-Z]*)
LIB_NEEDS := $(if $(filter simt,$(BACKEND)),-lgomp,-L$(CUDA_LIBDIR) -lcudart $(NCCL) -Wl$(comma)-rpath$(comma)$(CUDA_LIBDIR) -lgomp) -lstdc++ -lm -lpthread
LIB_INCLUDES := -I$(OUT)/lib/include $(if $(filter cuda,$(BACKEND)),-I$(CUDA_HOME)/include)

.PHONY: lib
test-programs: $(LIB)

lib: $(LIB) ## Build the plans as a library for other programs, and say how to link it
	@printf '%s\n' 'gcc -std=c11 program.c $(LIB_INCLUDES) -L$(OUT)/lib -lsparse_plan $(LIB_NEEDS)'

$(OUT)/lib/parts.a: $(LIB_PARTS)
	@mkdir -p $(@D)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^
$(OUT)/lib/plans.o: $(LIB_WHOLE) $(OUT)/lib/parts.a
	$(call say,LD,$@)
	$(Q)$(LD) -r --force-group-allocation -o $@ $^
	$(Q)objcopy --wildcard $(LIB_NAMES:%=--keep-global-symbol='%') $@
$(LIB): $(OUT)/lib/plans.o $(LIB_HEADERS)
	$(call say,AR,$@)
	$(Q)rm -rf $@ $(OUT)/lib/include
	$(Q)$(AR) rcs $@ $<
	$(Q)mkdir $(OUT)/lib/include
	$(Q)cp -R $(LIB_HEADERS) $(OUT)/lib/include
