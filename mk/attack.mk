# attack.mk - the standing attack (tests/attack): random tries with sanitizers, for as long as wanted.

ATTACK_BUILD := $(BUILD)/sanitized
ATTACK_RUN := $(ATTACK_BUILD)/simt/tests/attack/run
ATTACK_SOURCES := $(filter-out tests/attack/starve.c tests/attack/planted.c,$(wildcard tests/attack/*.c))
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

.PHONY: attack attack-check

# In the sanitized build; starve.so belongs to the plain one, whose programs are starved.
$(OUT)/tests/attack/run: $(call object,$(ATTACK_SOURCES) common/grader/rubric.c) $(COMMON)
	$(link)
$(OUT)/tests/attack/planted: $(call object,$(ATTACK_SOURCES) tests/attack/planted.c common/grader/rubric.c) $(COMMON)
	$(link)
$(OUT)/tests/attack/planted: private LDLIBS_ALL += $(addprefix -Wl$(comma)--wrap=,generate options_parse rubric_read)
$(OUT)/tests/attack/starve.so: tests/attack/starve.c $(OUT)/settings
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -O2 -g $(WARN) -fPIC -shared -fno-builtin-malloc -o $@ $< -ldl

ifeq ($(BACKEND),simt)
attack-ready: FORCE programs $(OUT)/tests/attack/starve.so
	$(Q)$(MAKE) -s BACKEND=simt BUILD='$(ATTACK_BUILD)' CFLAGS='$(CFLAGS) $(SANITIZE)' \
		CXXFLAGS='$(CXXFLAGS) $(SANITIZE)' LDFLAGS='$(LDFLAGS) $(SANITIZE)' \
		$(ATTACK_RUN) $(ATTACK_BUILD)/simt/tests/attack/planted
else
attack-ready: FORCE
	$(error attack: programs are attacked on the CPU backend: make attack BACKEND=simt)
endif

##@ Check

# ASan's own threads and stacks take address space; detect_leaks finds what a failure path forgets.
attack: attack-ready ## Attack the suite at random: make attack MINUTES=20 [SEED=n] [CLASS=readers] [TRY=n]
	$(Q)OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive $(ATTACK_RUN) --programs $(OUT) --keep $(BUILD)/attack-findings \
		$(if $(TRY),--try $(TRY),--minutes $(or $(MINUTES),10)) $(if $(SEED),--seed $(SEED)) $(if $(CLASS),--class $(CLASS))

attack-check: attack-ready ## Hold the attack against planted bugs, and try it briefly
	$(Q)OUT='$(OUT)' SANITIZED='$(ATTACK_BUILD)/simt' bats tests/attack/attack.bats
