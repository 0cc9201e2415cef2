# Every knob of the build. Change one on the command line (make lab3 BACKEND=simt DEBUG=1) or for
# good in local.mk, which git ignores. A changed knob rebuilds what depends on it.

# cuda: nvcc and a GPU. simt: the CPU backend, gcc and g++ only. auto: cuda where both nvcc and a
# GPU are found, else simt.
BACKEND ?= auto

# GPU architectures to compile for, as in "80 90". auto: those of the GPUs in this machine; without
# one, every architecture the installed nvcc knows from sm_75 up, and PTX of the newest.
ARCH ?= auto

# 1: no optimisation, debug information, device-side debug information.
DEBUG ?= 0

# 1: warnings are errors, as in CI.
WERROR ?= 0

# The CUDA toolkit. auto: the one of nvcc on PATH, else /usr/local/cuda, else .cuda/ (where
# `scripts/setup --cuda` puts it).
CUDA_HOME ?= auto

# Where ready programs and objects go.
BUILD ?= build

# Plan that `make bench` measures: quick, full, or a file like report/plans/full.
PLAN ?= quick
