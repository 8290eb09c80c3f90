#include "lockstep/common/system/socket.h"
#include "lockstep/server/door/rtc_peers.h"

ls_status ls_rtc_peers_create(int descriptor, ls_door_switch *to, ls_door_page *page,
                              ls_event_loop *loop, ls_rtc_peers **out)
{
    (void)to;
    (void)page;
    (void)loop;
    (void)out;
    ls_socket_close(descriptor);
    return LS_UNSUPPORTED;
}

void ls_rtc_peers_destroy(ls_rtc_peers *peers)
{
    (void)peers;
}

size_t ls_rtc_peers_answer(ls_rtc_peers *peers, const ls_rtc_offer *offer,
                           char answer[LS_SDP_ANSWER_BYTES_MAX], uint32_t *status, const char **why)
{
    (void)peers;
    (void)offer;
    (void)answer;
    *status = 501;
    *why = "this server was built without data channels";
    return 0;
}
