#include "lockstep/client/window/loudspeaker.h"

#include "lockstep/common/system/file.h"

#include <SDL2/SDL.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    RATE_HZ = 48000,
    BUFFER_FRAMES = 1024, /* 21 ms */
    PATH_BYTES = 1024,
    FILE_BYTES_MAX = 32 << 20,
    PAIR_BYTES = 2 * sizeof(int16_t),
};

struct ls_loudspeaker {
    const ls_allocator *allocator;
    ls_sound_mixer *mixer; /* the device's thread mixes: locked by the others */
    SDL_AudioDeviceID device;
};

/* ---- waves ---- */

/* Files are named by the cue's id and nothing else: 7.wav. */
static bool id_of(const char *name, uint32_t *id)
{
    char again[32];
    uint32_t number = 0;
    if (sscanf(name, "%9" SCNu32, &number) != 1) {
        return false;
    }
    snprintf(again, sizeof again, "%" PRIu32 ".wav", number);
    *id = number;
    return strcmp(name, again) == 0;
}

/* As the device plays it. NULL: SDL_GetError says why. */
static uint8_t *load_wave(const char *path, uint32_t *frames)
{
    SDL_AudioSpec spec;
    SDL_AudioCVT change;
    uint8_t *bytes = NULL;
    uint32_t size = 0;
    if (!SDL_LoadWAV(path, &spec, &bytes, &size)) {
        return NULL;
    }
    int is_known =
        SDL_BuildAudioCVT(&change, spec.format, spec.channels, spec.freq, AUDIO_S16SYS, 2, RATE_HZ);
    uint8_t *room = is_known >= 0 ? SDL_malloc((size_t)size * (size_t)change.len_mult + 1) : NULL;
    if (room) {
        memcpy(room, bytes, size);
        change.buf = room;
        change.len = (int)size;
        change.len_cvt = (int)size;
        if (is_known > 0 && SDL_ConvertAudio(&change) != 0) {
            change.len_cvt = 0;
        }
        *frames = (uint32_t)change.len_cvt / PAIR_BYTES;
    }
    SDL_FreeWAV(bytes);
    return room;
}

static void add_file(ls_loudspeaker *loudspeaker, const char *path, uint32_t id, const ls_log *log)
{
    ls_file_facts file;
    uint32_t frames = 0;
    if (!ls_file_look(path, &file) || file.bytes > FILE_BYTES_MAX) {
        ls_log_line(log, LS_LOG_WARNING, "--sounds: %s cannot be read, or is larger than 32 MiB",
                    path);
        return;
    }
    uint8_t *wave = load_wave(path, &frames);
    if (!wave || frames == 0) {
        ls_log_line(log, LS_LOG_WARNING, "--sounds: %s: %s; a tone is played instead", path,
                    wave ? "there is nothing in it" : SDL_GetError());
    } else if (ls_sound_mixer_add_wave(loudspeaker->mixer, id, (const void *)wave, frames) !=
               LS_OK) {
        ls_log_line(log, LS_LOG_WARNING, "--sounds: %s: there is no room for more sounds", path);
    }
    SDL_free(wave);
}

static void add_files(ls_loudspeaker *loudspeaker, const char *folder, const ls_log *log)
{
    ls_folder *files = ls_folder_open(folder);
    if (!files) {
        ls_log_line(log, LS_LOG_WARNING, "--sounds: %s: %s; tones are played instead", folder,
                    strerror(errno));
        return;
    }
    for (const char *name = NULL; (name = ls_folder_next(files)) != NULL;) {
        char path[PATH_BYTES];
        uint32_t id = 0;
        int size = snprintf(path, sizeof path, "%s/%s", folder, name);
        if (id_of(name, &id) && size > 0 && (size_t)size < sizeof path) {
            add_file(loudspeaker, path, id, log);
        }
    }
    ls_folder_close(files);
}

/* ---- the device ---- */

static void mix(void *user, uint8_t *bytes, int size)
{
    const ls_loudspeaker *loudspeaker = user;
    ls_sound_mixer_mix(loudspeaker->mixer, (int16_t *)(void *)bytes, (uint32_t)size / PAIR_BYTES);
}

static ls_status open_device(ls_loudspeaker *loudspeaker, ls_text *why)
{
    SDL_AudioSpec wanted = {.freq = RATE_HZ,
                            .format = AUDIO_S16SYS,
                            .channels = 2,
                            .samples = BUFFER_FRAMES,
                            .callback = mix,
                            .userdata = loudspeaker};
    SDL_SetMainReady();
    if (SDL_InitSubSystem(SDL_INIT_AUDIO) != 0) {
        return ls_fail(LS_IO, why, "there is no audio device here: %s", SDL_GetError());
    }
    loudspeaker->device = SDL_OpenAudioDevice(NULL, 0, &wanted, NULL, 0);
    if (loudspeaker->device == 0) {
        return ls_fail(LS_IO, why, "no audio device can be opened: %s", SDL_GetError());
    }
    return LS_OK;
}

ls_status ls_loudspeaker_open(const ls_loudspeaker_config *config, const ls_log *log,
                              const ls_allocator *allocator, ls_loudspeaker **out, ls_text *why)
{
    ls_loudspeaker *loudspeaker = ls_allocate(allocator, sizeof *loudspeaker);
    if (!loudspeaker) {
        return LS_NO_MEMORY;
    }
    loudspeaker->allocator = allocator;
    float volume = (float)config->volume / (float)LS_LOUDSPEAKER_VOLUME_MAX;
    ls_status status = ls_sound_mixer_create(RATE_HZ, volume, allocator, &loudspeaker->mixer);
    if (status == LS_OK) {
        status = open_device(loudspeaker, why);
    }
    if (status != LS_OK) {
        ls_loudspeaker_close(loudspeaker);
        return status;
    }
    if (config->folder) {
        add_files(loudspeaker, config->folder, log);
    }
    SDL_PauseAudioDevice(loudspeaker->device, 0);
    *out = loudspeaker;
    return LS_OK;
}

void ls_loudspeaker_close(ls_loudspeaker *loudspeaker)
{
    if (!loudspeaker) {
        return;
    }
    if (loudspeaker->device != 0) {
        SDL_CloseAudioDevice(loudspeaker->device);
    }
    SDL_QuitSubSystem(SDL_INIT_AUDIO);
    ls_sound_mixer_destroy(loudspeaker->mixer);
    ls_release(loudspeaker->allocator, loudspeaker);
}

void ls_loudspeaker_play(ls_loudspeaker *loudspeaker, const ls_sound *sound, ls_sound_gain gain)
{
    SDL_LockAudioDevice(loudspeaker->device);
    ls_sound_mixer_play(loudspeaker->mixer, sound, gain);
    SDL_UnlockAudioDevice(loudspeaker->device);
}
