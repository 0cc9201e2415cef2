# backend.mk - which backend is built for, and how its compilers are called.

ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif

# ---- which backend -----------------------------------------------------------------------------
# scripts/detect-backend prints NAME=value words and the reason, or why there is no choice; it is
# not asked for goals that build nothing.

PASSIVE_GOALS := help clean format check-format diff ladder leaderboard plot plots predictions report rows site \
                 validate-counters starter autograder release new-lab
ifneq ($(filter-out $(PASSIVE_GOALS),$(or $(MAKECMDGOALS),help)),)
DETECTED := $(shell BACKEND='$(BACKEND)' ARCH='$(ARCH)' CUDA_HOME='$(CUDA_HOME)' scripts/detect-backend 2>&1)
detected = $(patsubst $(1)=%,%,$(filter $(1)=%,$(DETECTED)))
ifeq ($(call detected,REASON),)
$(error $(DETECTED))
endif
override BACKEND := $(call detected,BACKEND)
override CUDA_HOME := $(call detected,CUDA_HOME)
ARCHS := $(subst +, ,$(call detected,ARCH))
# The instruments are made of options that gcc alone has, and all must be linked with its OpenMP.
asked = $(filter command environment,$(firstword $(origin $(1))))
is_clang = $(if $(call asked,$(1)),$(shell $($(1)) -dM -E -x c /dev/null 2>/dev/null | grep -w __clang__))
$(foreach c,CC CXX,$(if $(call is_clang,$(c)),$(error $(c)=$($(c)) is clang, and this suite is built by gcc and g++: leave CC and CXX out)))
ifndef MAKE_RESTARTS
ifeq ($(MAKELEVEL),0)
$(info $(subst ~, ,$(call detected,REASON)))
endif
endif
endif

# ---- compilers ---------------------------------------------------------------------------------

OUT := $(BUILD)/$(BACKEND)$(if $(filter 1,$(DEBUG)),-debug)

# FAST=1 is a build of which nothing is run: C code takes a third of the time.
OPTIMISE := $(if $(filter 1,$(DEBUG) $(FAST)),-O0,-O2)
WARN := -Wall -Wextra $(if $(filter 1,$(WERROR)),-Werror)
INCLUDES := -Icommon -I.
DEPS = -MMD -MP

CFLAGS_ALL := -std=c11 -D_GNU_SOURCE $(OPTIMISE) -g $(WARN) -fopenmp -ffp-contract=off $(INCLUDES)
# A designated initialiser leaves the other members zero, and means to.
CXX_WARN := $(WARN) -Wno-missing-field-initializers
LDLIBS_ALL := -fopenmp -larchive -lz -lm -lpthread

ifeq ($(BACKEND),cuda)
NVCC := $(CUDA_HOME)/bin/nvcc
NEWEST := $(lastword $(ARCHS))
# 90a is 90 with what only such a GPU has: products of a warpgroup (common/device/wgmma.cuh). What is compiled
# for the GPUs to come must not have it.
# FAST=1 has no PTX: making it takes a tenth of the time or more, and
# device-code makes that of a newer one.
GENCODE := $(foreach a,$(patsubst 90,90a,$(ARCHS)),-gencode arch=compute_$(a),code=sm_$(a)) \
           $(if $(filter 1,$(FAST)),,-gencode arch=compute_$(NEWEST),code=compute_$(NEWEST))
NVCCFLAGS_ALL := -std=c++20 $(if $(filter 1,$(DEBUG)),-O0 -g -G,-O3 -g -lineinfo) $(GENCODE) \
             -Xcompiler -Wall,-Wextra,-Wno-missing-field-initializers \
             $(if $(filter 1,$(WERROR)),-Werror all-warnings) $(INCLUDES)
CFLAGS_ALL += -isystem $(CUDA_HOME)/include -DBACKEND_CUDA
CUDA_LIBDIR := $(firstword $(wildcard $(CUDA_HOME)/lib64 $(CUDA_HOME)/lib))
LDLIBS_ALL += -L$(CUDA_LIBDIR) -Wl,-rpath,$(CUDA_LIBDIR) -lcusparse -lcublas -lcublasLt -lcudart_static -ldl -lrt
BACKEND_SOURCES := $(wildcard common/baselines/*.c common/baselines/*.cc common/baselines/*.cu)
# cuSPARSELt is a package of its own: in the toolkit, where scripts/setup --cuda puts it, or in CUSPARSELT_HOME.
CUSPARSELT_HOME ?= $(CUDA_HOME)
CUSPARSELT := $(firstword $(wildcard $(CUSPARSELT_HOME)/lib64/libcusparseLt.so.0 $(CUSPARSELT_HOME)/lib/libcusparseLt.so.0))
ifneq ($(and $(CUSPARSELT),$(wildcard $(CUSPARSELT_HOME)/include/cusparseLt.h)),)
CXXFLAGS_ALL := -std=c++20 $(OPTIMISE) -g $(CXX_WARN) $(INCLUDES) -isystem $(CUSPARSELT_HOME)/include -isystem $(CUDA_HOME)/include
LDLIBS_ALL += $(CUSPARSELT) -Wl,-rpath,$(dir $(CUSPARSELT))
else
BACKEND_SOURCES := $(filter-out common/baselines/cusparselt.cc,$(BACKEND_SOURCES))
endif
# NCCL comes with some toolkits, and scripts/setup --cuda brings it. Without it there is one device alone.
NCCL := $(if $(and $(wildcard $(CUDA_LIBDIR)/libnccl.so),$(wildcard $(CUDA_HOME)/include/nccl.h)),-lnccl)
CFLAGS_ALL += $(NCCL:-lnccl=-DEXCHANGE_NCCL)
LDLIBS_ALL += $(NCCL)
else
INCLUDES += -Icommon/simt/include
CFLAGS_ALL += -Icommon/simt/include -DEXCHANGE_NCCL
# -fno-strict-aliasing: CUDA C reinterprets float* as float4*, and nvcc allows it. -gdwarf-4: with
# version 5 addr2line names the generated file instead of the .cu that #line gives. -g1: lines and inlined functions
# are all that messages need; local variables, which optimised code has lost, take a fifth of the compiler's time. It
# comes last, for -gdwarf-4 alone asks for local variables, too.
# -O1: kernels run as fast as with -O2 here, and compile in two thirds of the time.
CXXFLAGS_ALL := -std=c++20 -gdwarf-4 $(if $(filter 1,$(DEBUG)),-O0 -g,-O1 -g1) $(CXX_WARN) -fno-strict-aliasing \
                -ffp-contract=off \
                -Wno-unknown-pragmas $(INCLUDES)
# A GPU has no fortified C library. Ubuntu's gcc asks for one: memset is then another function, which the traced twin
# does not know.
PLAIN_LIBRARY := -U_FORTIFY_SOURCE
# A GPU allows no misaligned access; common/simt/fault.cc reports what this finds.
CU_CHECKS := $(PLAIN_LIBRARY) -fsanitize=alignment
# The traced twin of a program reports what its kernels do to common/profiler, through the calls that
# these sanitizers insert; no sanitizer's library is linked. How lanes come together again after a
# branch is read off the order of the code, so that must be the source's: no block is moved, merged or
# copied. Functions are inlined and loops unrolled as nvcc does it, so that what is loaded once there
# is loaded once here.
TRACE := -O2 $(PLAIN_LIBRARY) -DSIMT_TRACED -fsanitize=thread --param tsan-distinguish-volatile=1 \
         -fsanitize=bounds -fsanitize-coverage=trace-pc \
         -fno-tree-vectorize -fno-tree-slp-vectorize \
         -fno-reorder-blocks -fno-reorder-blocks-and-partition -fno-crossjumping \
         -fno-tree-tail-merge -fno-thread-jumps -fno-code-hoisting -fno-expensive-optimizations \
         --param early-inlining-insns=1000 --param max-inline-insns-auto=1000 \
         --param inline-unit-growth=1000 --param large-function-growth=1000
BACKEND_SOURCES := $(wildcard common/simt/*.cc common/simt/*.S)
# The backend itself has -O2. With less, gcc leaves the upper halves of wide vectors in use, which slows kernels down.
$(OUT)/common/simt/%.cc.o: private CXXFLAGS_ALL += $(OPTIMISE)
endif
