#include "lockstep/common/base/status.h"

const char *ls_status_name(int status)
{
    switch (status) {
#define LS_STATUS_CASE(name, value, text)                                                          \
    case value:                                                                                    \
        return #name;
        LS_STATUS_MAP(LS_STATUS_CASE)
#undef LS_STATUS_CASE
    default:
        return "UNKNOWN";
    }
}

const char *ls_status_text(int status)
{
    switch (status) {
#define LS_STATUS_CASE(name, value, text)                                                          \
    case value:                                                                                    \
        return text;
        LS_STATUS_MAP(LS_STATUS_CASE)
#undef LS_STATUS_CASE
    default:
        return "UNKNOWN";
    }
}
