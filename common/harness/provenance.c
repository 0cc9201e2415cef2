#include "harness/provenance.h"

#include "commit.h"    /* written by the Makefile: #define COMMIT "..." */
#include "unwritten.h" /* and this: #define UNWRITTEN " 1 2 " */

#include <stdio.h>
#include <string.h>

const char *provenance_commit(void)
{
    return COMMIT;
}

bool provenance_unwritten(int lab)
{
    char word[16];
    snprintf(word, sizeof word, " %d ", lab);
    return strstr(UNWRITTEN, word) != NULL;
}
