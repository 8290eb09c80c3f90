/* The rerun hosts of the machines in a virtual match. */
#include "lockstep/common/base/assert.h"
#include "lockstep/tests/lab/virtual/virtual_match.h"

ls_rerun_local *virtual_match_make_reruns(const virtual_match *run)
{
    ls_rerun_local *reruns = NULL;
    if (run->setup.runs_nothing_again) {
        return NULL;
    }
    ls_status status = ls_rerun_local_create(run->setup.storage, &reruns);
    LS_ASSERT(status == LS_OK);
    return reruns;
}
