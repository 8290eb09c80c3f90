#include "lockstep/tools/adapters/libretro/libretro_speaker.h"

#include "lockstep/common/base/allocator.h"

#include <string.h>

enum {
    CHANNELS = 2,
    TICKS_PER_S_MIN = 5,
};

ls_status libretro_speaker_init(libretro_speaker *speaker, double rate_hz)
{
    *speaker = (libretro_speaker){.rate_hz = 0};
    if (!(rate_hz >= LS_SOUND_RATE_MIN_HZ && rate_hz <= LS_SOUND_RATE_MAX_HZ)) {
        return LS_OK;
    }
    speaker->rate_hz = (uint32_t)(rate_hz + 0.5);
    speaker->capacity = speaker->rate_hz / TICKS_PER_S_MIN;
    speaker->samples = ls_allocate_array(ls_allocator_heap(), (size_t)speaker->capacity * CHANNELS,
                                         sizeof *speaker->samples);
    return speaker->samples ? LS_OK : LS_NO_MEMORY;
}

void libretro_speaker_deinit(libretro_speaker *speaker)
{
    ls_release(ls_allocator_heap(), speaker->samples);
    *speaker = (libretro_speaker){.rate_hz = 0};
}

void libretro_speaker_begin_tick(libretro_speaker *speaker)
{
    speaker->frames = 0;
}

void libretro_speaker_play(libretro_speaker *speaker, const int16_t *samples, size_t frames)
{
    size_t room = speaker->capacity - speaker->frames;
    size_t taken = frames < room ? frames : room;
    if (taken > 0) {
        memcpy(speaker->samples + (size_t)speaker->frames * CHANNELS, samples,
               taken * CHANNELS * sizeof *samples);
        speaker->frames += (uint32_t)taken;
    }
}

void libretro_speaker_sound(const libretro_speaker *speaker, ls_sound_list *list)
{
    if (speaker->frames > 0) {
        ls_sound_push(list, (ls_sound){.kind = LS_SOUND_SAMPLES,
                                       .frames = speaker->frames,
                                       .rate_hz = speaker->rate_hz,
                                       .samples = speaker->samples});
    }
}
