#include "harness/provenance.h"

#include "commit.h" /* written by the Makefile: #define COMMIT "..." */

const char *provenance_commit(void)
{
    return COMMIT;
}
