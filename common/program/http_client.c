#include "lockstep/common/program/http_client.h"

#include "lockstep/common/program/http_transfer.h"

ls_status ls_http_client_ask(const ls_http_ask *ask, ls_http_got *out, ls_text *why)
{
    ls_http_transfer transfer;
    ls_status status = ls_http_transfer_open(&transfer, ask);
    if (status == LS_OK) {
        status = ls_http_transfer_take(&transfer, curl_easy_perform(transfer.curl), out, why);
    } else {
        ls_text_set(why, "%s", ls_status_text(status));
    }
    ls_http_transfer_close(&transfer);
    return status;
}
