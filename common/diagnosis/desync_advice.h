/* Desync advice: what to do next about a desync of each class, in one line. The one table of it:
 * consoles and reports print the same. Keeps nothing. Called by the writers of reports. */
#ifndef LOCKSTEP_COMMON_DIAGNOSIS_DESYNC_ADVICE_H
#define LOCKSTEP_COMMON_DIAGNOSIS_DESYNC_ADVICE_H

#include "lockstep/common/diagnosis/desync_class.h"

LS_C_BEGIN

/* Of a number that is no class, what is said of the unknown one. */
const char *ls_desync_advice(ls_desync_class kind);

LS_C_END

#endif
