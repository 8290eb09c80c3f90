#include "lockstep/client/window/loudspeaker.h"

ls_status ls_loudspeaker_open(const ls_loudspeaker_config *config, const ls_log *log,
                              const ls_allocator *allocator, ls_loudspeaker **out, ls_text *why)
{
    (void)config;
    (void)log;
    (void)allocator;
    (void)out;
    return ls_fail(LS_UNSUPPORTED, why, "this build has no sound: SDL2 was missing");
}

void ls_loudspeaker_close(ls_loudspeaker *loudspeaker)
{
    (void)loudspeaker;
}

void ls_loudspeaker_play(ls_loudspeaker *loudspeaker, const ls_sound *sound, ls_sound_gain gain)
{
    (void)loudspeaker;
    (void)sound;
    (void)gain;
}
