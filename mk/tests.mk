# tests.mk - the test programs, and what each of them is made of.

# The machine model and the estimates belong to the traced programs of the CPU backend.
TESTS_PROFILER := tests/unit/test_machine.c tests/unit/test_predict.c
TESTS_C := $(filter-out $(if $(filter cuda,$(BACKEND)),$(TESTS_PROFILER)),$(wildcard tests/unit/*.c))
TESTS_CU := $(wildcard tests/primitives/*.cu)
TESTS_SIMT := $(if $(filter simt,$(BACKEND)),$(wildcard tests/simt/*.cu))
# Programs of traced kernels: one a folder.
TESTS_TRACED := $(if $(filter simt,$(BACKEND)),$(wildcard tests/planted tests/counters tests/app_*))
TEST_PROGRAMS := $(patsubst %,$(OUT)/%,$(basename $(TESTS_C) $(TESTS_CU) $(TESTS_SIMT))) \
                 $(OUT)/tests/kernels/matrix $(patsubst %,$(OUT)/%/run,$(wildcard tests/mutants)) \
                 $(TESTS_TRACED:%=$(OUT)/traced/%/run)

$(patsubst %.c,$(OUT)/%,$(TESTS_PROFILER)): $(call object,$(addprefix common/profiler/,machine.cc gpu_model.c predict.c))
# The program of rows, but for its main: the test ends where `rows` would.
$(OUT)/tests/unit/test_rows: $(call object,$(filter-out common/rows/main.c,$(wildcard common/rows/*.c)))
$(OUT)/common/rows/table.c.o: $(BUILD)/tools/lists
$(OUT)/common/rows/table.c.o: private CFLAGS_ALL += $(ROWS_LISTS)
$(OUT)/tests/unit/%: $(OUT)/tests/unit/%.c.o $(COMMON)
	$(link) -lcmocka
$(OUT)/tests/primitives/%: $(OUT)/tests/primitives/%.cu.o $(COMMON)
	$(link)
# Objects that need none of the vendor's libraries run on the CPU backend, too.
$(OUT)/tests/primitives/dense: $(call object,common/baselines/dense.cu)
$(OUT)/tests/simt/%: $(OUT)/tests/simt/%.cu.o $(COMMON)
	$(link)
$(OUT)/tests/kernels/matrix: $(call object,$(wildcard tests/kernels/*.c tests/kernels/*.cu)) $(ALL_LAB_OBJECTS) $(COMMON)
	$(link)
$(OUT)/tests/mutants/run: $(call object,$(wildcard tests/mutants/*.c tests/mutants/*.cu)) $(COMMON)
	$(link)
# On a GPU for ncu to count (scripts/ncu-patterns).
$(OUT)/tests/counters/run: $(call object,$(wildcard tests/counters/*.cu)) $(COMMON)
	$(link)
$(TESTS_TRACED:%=$(OUT)/traced/%/run): $(OUT)/traced/%/run: $(TRACED_COMMON)
	@mkdir -p $(@D)
	$(link)
$(foreach t,$(TESTS_TRACED),$(eval $(OUT)/traced/$(t)/run: $(call traced,$(call object,$(wildcard $(t)/*.cu))) \
    $(call object,$(wildcard $(t)/*.c))))
# Programs that `make test` builds: labs, tools and tests, without the traced kernels and the mutants. Those are as much again.
QUICK_PROGRAMS := $(addprefix $(OUT)/,$(LABS) labstat limits convert) $(ROWS_PROGRAM) \
                  $(filter-out $(OUT)/traced/% %/tests/mutants/run,$(TEST_PROGRAMS)) \
                  $(if $(wildcard tests/cli),$(OUT)/tests/cli/faulty)

# A program of labs that misbehave, for the tests of the command line.
test-programs: $(if $(wildcard tests/cli),$(OUT)/tests/cli/faulty $(if $(TWINS),$(OUT)/traced/tests/cli/faulty))
$(OUT)/tests/cli/faulty: $(call object,$(LAB_MAIN) tests/cli/faulty.cu) $(COMMON)
	$(link)
$(OUT)/traced/tests/cli/faulty: $(call object,$(LAB_MAIN)) $(call traced,$(call object,tests/cli/faulty.cu)) \
                                $(TRACED_COMMON)
	$(link)

# Device code of all labs, for the architectures given: make BACKEND=cuda ARCH='75 80 120' device-code
.PHONY: device-code
device-code: $(patsubst %,$(OUT)/%,$(addsuffix .fatbin,$(basename $(shell find $(wildcard labs apps common) -name '*.cu')))) ## Compile the device code of every kernel: make device-code BACKEND=cuda ARCH="75 80"
