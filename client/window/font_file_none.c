#include "lockstep/client/window/font_writer.h"

#include <SDL2/SDL.h>
#include <stdbool.h>
#include <stdio.h>

static bool is_there(const char *path)
{
    SDL_RWops *file = SDL_RWFromFile(path, "rb");
    if (file) {
        SDL_RWclose(file);
    }
    return file != NULL;
}

/* Where there is no fontconfig: the font lies beside the program, or is one that Windows has. */
ls_status ls_font_file_find(char *path, size_t capacity)
{
    static const char *const others[] = {"C:\\Windows\\Fonts\\consola.ttf",
                                         "C:\\Windows\\Fonts\\cour.ttf"};
    char *own = SDL_GetBasePath();
    int bytes = snprintf(path, capacity, "%sDejaVuSansMono.ttf", own ? own : "");
    SDL_free(own);
    bool is_found = bytes > 0 && (size_t)bytes < capacity && is_there(path);
    for (size_t i = 0; !is_found && i < sizeof others / sizeof others[0]; i++) {
        bytes = snprintf(path, capacity, "%s", others[i]);
        is_found = (size_t)bytes < capacity && is_there(path);
    }
    return is_found ? LS_OK : LS_NOT_FOUND;
}

ls_status ls_font_file_find_with(const uint32_t *codes, size_t count, uint32_t nth, char *path,
                                 size_t capacity)
{
    /* Latin to Arabic and Hebrew, China, Japan, Korea, India, Thailand, signs and emoji. */
    static const char *const files[] = {
        "segoeui.ttf", "msyh.ttc",     "YuGothM.ttc", "msgothic.ttc", "malgun.ttf",  "Nirmala.ttf",
        "Nirmala.ttc", "LeelawUI.ttf", "ebrima.ttf",  "seguisym.ttf", "seguiemj.ttf"};
    (void)codes;
    (void)count;
    if (nth >= sizeof files / sizeof files[0]) {
        return LS_NOT_FOUND;
    }
    int bytes = snprintf(path, capacity, "C:\\Windows\\Fonts\\%s", files[nth]);
    return (size_t)bytes < capacity ? LS_OK : LS_NOT_FOUND;
}
