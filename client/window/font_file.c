#include "lockstep/client/window/font_writer.h"

#include <fontconfig/fontconfig.h>
#include <stdio.h>

static ls_status copy_path(FcConfig *config, FcPattern *wanted, char *path, size_t capacity)
{
    FcResult result = FcResultNoMatch;
    FcConfigSubstitute(config, wanted, FcMatchPattern);
    FcDefaultSubstitute(wanted);
    FcPattern *found = FcFontMatch(config, wanted, &result);
    FcChar8 *file = NULL;
    ls_status status = LS_NOT_FOUND;
    if (found && FcPatternGetString(found, FC_FILE, 0, &file) == FcResultMatch) {
        int length = snprintf(path, capacity, "%s", (const char *)file);
        status = length > 0 && (size_t)length < capacity ? LS_OK : LS_NOT_FOUND;
    }
    if (found) {
        FcPatternDestroy(found);
    }
    return status;
}

/* Takes the pattern. */
static ls_status find(FcPattern *wanted, char *path, size_t capacity)
{
    FcConfig *config = wanted ? FcInitLoadConfigAndFonts() : NULL;
    ls_status status = LS_NOT_FOUND;
    if (config) {
        status = copy_path(config, wanted, path, capacity);
        FcConfigDestroy(config);
    }
    if (wanted) {
        FcPatternDestroy(wanted);
    }
    return status;
}

ls_status ls_font_file_find(char *path, size_t capacity)
{
    return find(FcNameParse((const FcChar8 *)"DejaVu Sans Mono,monospace:spacing=mono"), path,
                capacity);
}

ls_status ls_font_file_find_with(const uint32_t *codes, size_t count, uint32_t nth, char *path,
                                 size_t capacity)
{
    FcCharSet *characters = nth == 0 ? FcCharSetCreate() : NULL; /* the first is the nearest */
    if (!characters) {
        return LS_NOT_FOUND;
    }
    for (size_t i = 0; i < count; i++) {
        FcCharSetAddChar(characters, codes[i]);
    }
    FcPattern *wanted = FcNameParse((const FcChar8 *)"sans:scalable=true:color=false");
    if (wanted) {
        FcPatternAddCharSet(wanted, FC_CHARSET, characters);
    }
    FcCharSetDestroy(characters);
    return find(wanted, path, capacity);
}
