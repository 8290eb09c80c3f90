/* A libretro core that believes whoever loads it: it reads as many bytes of a save as its own saves
 * have, whatever it is told. It counts frames, and shows and plays nothing. */
#include "lockstep/tools/adapters/libretro/libretro_api.h"

#include <string.h>

enum {
    SAVE_BYTES = 8192
};

static unsigned char state[SAVE_BYTES];
static libretro_show_frame *show;

#define DECLARE(result, name, arguments)                                                           \
    __attribute__((visibility("default"))) result retro_##name arguments;
LIBRETRO_FUNCTIONS(DECLARE)
#undef DECLARE

unsigned retro_api_version(void)
{
    return 1;
}

void retro_set_environment(libretro_environment *to)
{
    (void)to;
}

void retro_set_video_refresh(libretro_show_frame *to)
{
    show = to;
}

void retro_set_audio_sample(libretro_play_sample *to)
{
    (void)to;
}

void retro_set_audio_sample_batch(libretro_play_samples *to)
{
    (void)to;
}

void retro_set_input_poll(libretro_poll_inputs *to)
{
    (void)to;
}

void retro_set_input_state(libretro_read_input *to)
{
    (void)to;
}

void retro_init(void)
{
}

void retro_deinit(void)
{
}

void retro_get_system_info(libretro_system *out)
{
    *out = (libretro_system){.name = "trusting", .version = "1", .extensions = "gb"};
}

void retro_get_system_av_info(libretro_av_info *out)
{
    *out = (libretro_av_info){
        .geometry = {8, 8, 8, 8, 0}, .frames_per_second = 60, .samples_per_second = 48000};
}

void retro_set_controller_port_device(unsigned port, unsigned device)
{
    (void)port;
    (void)device;
}

bool retro_load_game(const libretro_content *content)
{
    return content != NULL;
}

void retro_unload_game(void)
{
}

void retro_run(void)
{
    state[0]++;
    show(NULL, 8, 8, 32);
}

size_t retro_serialize_size(void)
{
    return SAVE_BYTES;
}

bool retro_serialize(void *bytes, size_t size)
{
    memcpy(bytes, state, SAVE_BYTES);
    return size >= SAVE_BYTES;
}

bool retro_unserialize(const void *bytes, size_t size)
{
    (void)size;
    memcpy(state, bytes, SAVE_BYTES);
    return true;
}

void *retro_get_memory_data(unsigned id)
{
    (void)id;
    return NULL;
}

size_t retro_get_memory_size(unsigned id)
{
    (void)id;
    return 0;
}
