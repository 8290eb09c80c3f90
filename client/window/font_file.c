#include "lockstep/client/window/font_file.h"

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

ls_status ls_font_file_find(char *path, size_t capacity)
{
    FcConfig *config = FcInitLoadConfigAndFonts();
    if (!config) {
        return LS_NOT_FOUND;
    }
    FcPattern *wanted = FcNameParse((const FcChar8 *)"DejaVu Sans Mono,monospace:spacing=mono");
    ls_status status = wanted ? copy_path(config, wanted, path, capacity) : LS_NO_MEMORY;
    if (wanted) {
        FcPatternDestroy(wanted);
    }
    FcConfigDestroy(config);
    return status;
}
