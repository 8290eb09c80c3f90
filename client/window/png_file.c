#include "lockstep/client/window/png_file.h"

#include <png.h>

/* Without alpha: every pixel of a canvas is solid. */
static uint8_t *colours_of(const ls_canvas *canvas, const ls_allocator *allocator)
{
    size_t count = (size_t)canvas->width * canvas->height;
    uint8_t *bytes = ls_allocate_array(allocator, count, 3);
    for (size_t i = 0; bytes && i < count; i++) {
        bytes[3 * i] = (uint8_t)(canvas->pixels[i] >> 16);
        bytes[3 * i + 1] = (uint8_t)(canvas->pixels[i] >> 8);
        bytes[3 * i + 2] = (uint8_t)canvas->pixels[i];
    }
    return bytes;
}

ls_status ls_png_file_write(const char *path, const ls_canvas *canvas,
                            const ls_allocator *allocator, ls_text *why)
{
    uint8_t *bytes = colours_of(canvas, allocator);
    if (!bytes) {
        return LS_NO_MEMORY;
    }
    /* Fast: the match goes on meanwhile, and flat colours need no filter to be small. */
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = canvas->width,
                       .height = canvas->height,
                       .format = PNG_FORMAT_RGB,
                       .flags = PNG_IMAGE_FLAG_FAST};
    int is_written = png_image_write_to_file(&image, path, 0, bytes, 0, NULL);
    if (!is_written) {
        ls_text_set(why, "%s: %s", path, image.message);
    }
    png_image_free(&image);
    ls_release(allocator, bytes);
    return is_written ? LS_OK : LS_IO;
}
