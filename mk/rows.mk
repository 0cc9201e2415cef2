# rows.mk - the program `rows`, which computes from files of rows: the same for every backend, as it needs none.

ROWS_PROGRAM := $(abspath $(BUILD))/tools/rows
ROWS_SOURCES := $(wildcard common/rows/*.c) common/results/csv.c common/matrix/files.c common/matrix/status.c
ROWS_OBJECTS := $(ROWS_SOURCES:%=$(BUILD)/tools/%.o)
# Scripts find it, also those that tests copy elsewhere.
export ROWS_PROGRAM

.PHONY: plot

# The operations with the names of their widths, and each lab's parent, as the sources say them.
ROWS_LISTS = -DOPERATIONS='"$(shell scripts/operations | tr '\n' ' ')"' -DPARENTS='"$(shell scripts/parent-of | tr '\n' ' ')"'
$(BUILD)/tools/lists: FORCE
	$(call stamp,$(ROWS_LISTS))
$(BUILD)/tools/common/rows/table.c.o: $(BUILD)/tools/lists
$(BUILD)/tools/common/rows/table.c.o: private ROWS_FLAGS = $(ROWS_LISTS)

$(BUILD)/tools/%.c.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -O2 -g $(WARN) -Icommon $(ROWS_FLAGS) $(DEPS) -c $< -o $@
$(ROWS_PROGRAM): $(ROWS_OBJECTS)
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $^ -lm

rows: $(ROWS_PROGRAM) ## Build the program that computes from measured rows: make rows && ./rows --help
	$(Q)cp -f $< $@

# (A terminal's own TERM is in the environment.)
plot: $(ROWS_PROGRAM) ## A picture of rows, a sweep's too: make plot CSV=rows.csv [X=N Y=over_best] [TERM=png|svg|terminal]
	$(Q)scripts/plot '$(if $(filter command,$(origin TERM)),$(TERM),terminal)' '$(CSV)' \
		$(if $(X),X='$(X)') $(if $(Y),Y='$(Y)') $(if $(WHO),who='$(WHO)') $(if $(ONLY),only='$(ONLY)') $(if $(N),N='$(N)')

-include $(ROWS_OBJECTS:.o=.d)
