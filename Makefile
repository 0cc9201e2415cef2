# The front door. `make` alone prints help; every knob is in config.mk.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
MAKEFLAGS += --no-builtin-rules

ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif

-include local.mk
include config.mk

# ---- which backend -----------------------------------------------------------------------------
# scripts/detect-backend prints NAME=value words and the reason; it is not asked for goals that
# build nothing.

PASSIVE_GOALS := help clean format check-format diff data
ifneq ($(filter-out $(PASSIVE_GOALS),$(or $(MAKECMDGOALS),help)),)
DETECTED := $(shell BACKEND='$(BACKEND)' ARCH='$(ARCH)' CUDA_HOME='$(CUDA_HOME)' scripts/detect-backend)
detected = $(patsubst $(1)=%,%,$(filter $(1)=%,$(DETECTED)))
ifeq ($(call detected,BACKEND),)
$(error scripts/detect-backend failed)
endif
override BACKEND := $(call detected,BACKEND)
override CUDA_HOME := $(call detected,CUDA_HOME)
ARCHS := $(subst +, ,$(call detected,ARCH))
ifndef MAKE_RESTARTS
ifeq ($(MAKELEVEL),0)
$(info $(subst ~, ,$(call detected,REASON)))
endif
endif
endif

# ---- labs: found by wildcard, numbered by their folder -----------------------------------------

LAB_DIRS := $(sort $(patsubst %/lab.cu,%,$(wildcard labs/[0-9][0-9]_*/lab.cu)))
number_of = $(patsubst 0%,%,$(firstword $(subst _, ,$(notdir $(1)))))
LABS := $(foreach d,$(LAB_DIRS),lab$(call number_of,$(d)))

# ---- compilers ---------------------------------------------------------------------------------

OUT := $(BUILD)/$(BACKEND)$(if $(filter 1,$(DEBUG)),-debug)
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-5s %s\n' '$(1)' '$(2)')

OPTIMISE := $(if $(filter 1,$(DEBUG)),-O0,-O2)
WARN := -Wall -Wextra $(if $(filter 1,$(WERROR)),-Werror)
INCLUDES := -Icommon -I$(OUT)
DEPS = -MMD -MP

CFLAGS_ALL := -std=c11 -D_GNU_SOURCE $(OPTIMISE) -g $(WARN) -fopenmp -ffp-contract=off $(INCLUDES)
# A designated initialiser leaves the other members zero, and means to.
CXX_WARN := $(WARN) -Wno-missing-field-initializers
LDLIBS_ALL := -fopenmp -larchive -lm -lpthread

ifeq ($(BACKEND),cuda)
NVCC := $(CUDA_HOME)/bin/nvcc
NEWEST := $(lastword $(ARCHS))
GENCODE := $(foreach a,$(ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) \
           -gencode arch=compute_$(NEWEST),code=compute_$(NEWEST)
NVCCFLAGS := -std=c++20 $(if $(filter 1,$(DEBUG)),-O0 -g -G,-O3 -g -lineinfo) $(GENCODE) \
             -Xcompiler -Wall,-Wextra,-Wno-missing-field-initializers \
             $(if $(filter 1,$(WERROR)),-Werror all-warnings) $(INCLUDES)
CFLAGS_ALL += -isystem $(CUDA_HOME)/include -DBACKEND_CUDA
CUDA_LIBDIR := $(firstword $(wildcard $(CUDA_HOME)/lib64 $(CUDA_HOME)/lib))
LDLIBS_ALL += -L$(CUDA_LIBDIR) -Wl,-rpath,$(CUDA_LIBDIR) -lcusparse -lcudart_static -ldl -lrt
BACKEND_SOURCES := $(wildcard common/baselines/*.c)
else
INCLUDES += -Icommon/simt/include
CFLAGS_ALL += -Icommon/simt/include
# -fno-strict-aliasing: CUDA C reinterprets float* as float4*, and nvcc allows it.
CXXFLAGS_ALL := -std=c++20 $(OPTIMISE) -g $(CXX_WARN) -fno-strict-aliasing -ffp-contract=off \
                -Wno-unknown-pragmas $(INCLUDES)
BACKEND_SOURCES := $(wildcard common/simt/*.cc common/simt/*.S)
endif

# ---- what is linked ----------------------------------------------------------------------------

object = $(patsubst %,$(OUT)/%.o,$(1))
MAIN := common/harness/main.c
COMMON_SOURCES := $(filter-out $(MAIN) common/baselines/% common/simt/%,\
                  $(wildcard common/*/*.c common/*/*.cu)) $(BACKEND_SOURCES)
COMMON_OBJECTS := $(call object,$(COMMON_SOURCES))

# labN links labs 1..N of its own operation: the one whose header its lab.cu includes. Folders come
# in ascending order, so these are the labs of that operation met so far.
operation_of = $(shell sed -n 's,^.include "ops/\(.*\)\.h",\1,p' $(1)/lab.cu)
define lab_rules
LABS_OF_$(2) += $$(call object,$$(wildcard $(1)/*.cu))
$(OUT)/lab$(call number_of,$(1)): $$(LABS_OF_$(2))
endef
$(foreach d,$(LAB_DIRS),$(eval $(call lab_rules,$(d),$(call operation_of,$(d)))))

PROGRAMS := $(LABS) limits

##@ Build and run

help: ## Show this help
	@awk -f scripts/help.awk $(MAKEFILE_LIST)

all: $(PROGRAMS) convert ## Build every lab and tool

.PHONY: help all convert
# A program in the root is a copy of the one in build/, taken again when the backend changes.
$(PROGRAMS): %: $(OUT)/% $(BUILD)/backend
	$(Q)cp $< $@

$(addprefix $(OUT)/,$(LABS)): $(call object,$(MAIN)) $(COMMON_OBJECTS)
	$(call say,LINK,$@)
	$(Q)$(CXX) -o $@ $^ $(LDFLAGS) $(LDLIBS_ALL)
