/* State loan: a state that another thread reads where it lies, while the match goes on and leaves
 * it as it is. The lender, who knows that thread, says when it has been read. One loan at a time.
 * Called by state_history, which ends it before it changes the state, and given by rerun hosts. */
#ifndef LOCKSTEP_COMMON_DIAGNOSIS_STATE_LOAN_H
#define LOCKSTEP_COMMON_DIAGNOSIS_STATE_LOAN_H

#include "lockstep/common/base/language.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

typedef struct ls_state_loan {
    void *reader; /* NULL: nothing is lent */
    uint32_t ticket;
    bool (*is_over)(void *reader, uint32_t ticket); /* the state is not read any more */
    void (*end)(void *reader, uint32_t ticket);     /* returns when it is over; may wait */
} ls_state_loan;

static inline bool ls_state_loan_is_on(ls_state_loan *loan)
{
    if (loan->reader && loan->is_over(loan->reader, loan->ticket)) {
        loan->reader = NULL;
    }
    return loan->reader != NULL;
}

static inline void ls_state_loan_end(ls_state_loan *loan)
{
    if (ls_state_loan_is_on(loan)) {
        loan->end(loan->reader, loan->ticket);
        loan->reader = NULL;
    }
}

LS_C_END

#endif
