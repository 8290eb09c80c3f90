/* Errors: failures of the system's calls as errno, which callers of this layer ask for on every
 * system. For no other folder. */
#ifndef LOCKSTEP_COMMON_SYSTEM_WINDOWS_ERRORS_H
#define LOCKSTEP_COMMON_SYSTEM_WINDOWS_ERRORS_H

#include <stdbool.h>
#include <winsock2.h> /* and, in the order that they need, all that stands on it */
#include <ws2tcpip.h>

/* Sets errno by what GetLastError, or WSAGetLastError, says. False, for the caller's return. */
bool ls_windows_fail(void);

/* The system's words for what GetLastError says, until this thread asks again. */
const char *ls_windows_words(void);

#endif
