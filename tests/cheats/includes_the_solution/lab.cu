/* The staff have done this lab, too. */
#include "honest.h"
#include "ops/spmm.h"

#include "../../labs/01_row_per_thread/lab.cu"
