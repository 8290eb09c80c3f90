#include "lockstep/common/base/chat.h"

#include "lockstep/common/base/assert.h"

const char *ls_quick_line_words(uint32_t quick_line)
{
    static const char *const words[LS_QUICK_LINES] = {
        "hello", "yes", "no", "thanks", "help!", "wait", "sorry", "well played",
    };
    LS_ASSERT(quick_line >= 1 && quick_line <= LS_QUICK_LINES);
    return words[quick_line - 1];
}

bool ls_chat_meter_spend(ls_chat_meter *meter, uint64_t now_ns)
{
    meter->paid_ns = LS_MAX(meter->paid_ns, now_ns);
    meter->has_refused = meter->has_refused && meter->paid_ns > now_ns;
    if (meter->paid_ns - now_ns > (LS_CHAT_BURST_MAX - 1) * LS_CHAT_LINE_NS) {
        return false;
    }
    meter->paid_ns += LS_CHAT_LINE_NS;
    return true;
}

bool ls_chat_meter_refuse(ls_chat_meter *meter)
{
    bool is_first = !meter->has_refused;
    meter->has_refused = true;
    return is_first;
}
