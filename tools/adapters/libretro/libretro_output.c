#include "lockstep/tools/adapters/libretro/libretro_output.h"

#include "lockstep/common/base/allocator.h"

#include <string.h>

/* ---- picture ---- */

ls_status libretro_picture_resize(libretro_picture *picture, const libretro_geometry *geometry)
{
    bool is_sane = geometry->aspect > 0.1f && geometry->aspect < 10.0f;
    picture->aspect = is_sane ? (double)geometry->aspect : 0;
    unsigned columns = geometry->columns_max, rows = geometry->rows_max;
    if (columns < 1 || columns > LS_DRAW_SIDE_MAX || rows < 1 || rows > LS_DRAW_SIDE_MAX) {
        return LS_UNSUPPORTED;
    }
    size_t capacity = (size_t)columns * rows;
    if (capacity <= picture->capacity) {
        return LS_OK;
    }
    ls_release(ls_allocator_heap(), picture->pixels);
    picture->columns = 0;
    picture->capacity = 0;
    picture->pixels = ls_allocate_array(ls_allocator_heap(), capacity, sizeof *picture->pixels);
    if (!picture->pixels) {
        return LS_NO_MEMORY;
    }
    picture->capacity = capacity;
    return LS_OK;
}

void libretro_picture_deinit(libretro_picture *picture)
{
    ls_release(ls_allocator_heap(), picture->pixels);
    *picture = (libretro_picture){.pixels = NULL};
}

/* ---- 0xRRGGBBAA of each format ---- */

/* The full range of 8 bits from the full range of fewer. */
static uint32_t from_5_bits(uint32_t value)
{
    return (value & 0x1fu) << 3 | (value & 0x1fu) >> 2;
}

static uint32_t from_6_bits(uint32_t value)
{
    return (value & 0x3fu) << 2 | (value & 0x3fu) >> 4;
}

static uint32_t colour_of(uint32_t red, uint32_t green, uint32_t blue)
{
    return red << 24 | green << 16 | blue << 8 | 0xffu;
}

static uint32_t read_colour(libretro_pixel_format format, const uint8_t *row, unsigned column)
{
    uint16_t narrow = 0;
    uint32_t wide = 0;
    if (format == LIBRETRO_PIXELS_XRGB8888) {
        memcpy(&wide, row + column * sizeof wide, sizeof wide);
        return wide << 8 | 0xffu;
    }
    memcpy(&narrow, row + column * sizeof narrow, sizeof narrow);
    uint32_t blue = from_5_bits(narrow);
    return format == LIBRETRO_PIXELS_RGB565
               ? colour_of(from_5_bits(narrow >> 11u), from_6_bits(narrow >> 5u), blue)
               : colour_of(from_5_bits(narrow >> 10u), from_5_bits(narrow >> 5u), blue);
}

void libretro_picture_show(libretro_picture *picture, const void *frame, unsigned columns,
                           unsigned rows, size_t pitch)
{
    if (columns < 1 || columns > LS_DRAW_SIDE_MAX || rows < 1 || rows > LS_DRAW_SIDE_MAX ||
        (size_t)columns * rows > picture->capacity) {
        return;
    }
    picture->columns = columns;
    picture->rows = rows;
    uint32_t *out = picture->pixels;
    for (unsigned y = 0; y < rows; y++) {
        const uint8_t *row = (const uint8_t *)frame + y * pitch;
        for (unsigned x = 0; x < columns; x++) {
            *out++ = read_colour(picture->format, row, x);
        }
    }
}

/* A metre a row. */
void libretro_picture_draw(const libretro_picture *picture, ls_draw_list *list)
{
    double columns = picture->columns > 0 ? picture->columns : 4;
    double rows = picture->rows > 0 ? picture->rows : 3;
    double aspect = picture->aspect > 0 ? picture->aspect : columns / rows;
    ls_draw_shape screen = {
        .kind = LS_DRAW_BITMAP,
        .colour = 0x000000ffu,
        .half_width = ls_fixed_from_double(rows * aspect / 2),
        .half_height = ls_fixed_from_double(rows / 2),
        .columns = picture->columns,
        .rows = picture->rows,
        .pixels = picture->pixels,
    };
    list->view_min = (ls_vec2){-screen.half_width, -screen.half_height};
    list->view_max = (ls_vec2){screen.half_width, screen.half_height};
    if (picture->columns > 0) {
        ls_draw_push(list, screen);
    }
}

/* ---- sound ---- */

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
