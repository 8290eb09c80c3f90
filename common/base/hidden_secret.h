/* Hidden secret: takes what lets somebody into a server out of a sentence about words that a
 * program was given: people show errors to others. Called by the log, for its errors and warnings,
 * and by the command line. */
#ifndef LOCKSTEP_COMMON_BASE_HIDDEN_SECRET_H
#define LOCKSTEP_COMMON_BASE_HIDDEN_SECRET_H

/* Puts "..." in the place of what stands behind the '#' of an invite, and of such a part that
 * stands alone. */
void ls_hidden_secret_apply(char *sentence);

#endif
