#include "lockstep/common/base/status.h"

#include "lockstep/common/base/case_function.h"

LS_CASE_FUNCTION(const char *, ls_status_name, int, LS_STATUS_MAP, LS_CASE_NAME, "UNKNOWN")
LS_CASE_FUNCTION(const char *, ls_status_text, int, LS_STATUS_MAP, LS_CASE_TEXT, "UNKNOWN")
