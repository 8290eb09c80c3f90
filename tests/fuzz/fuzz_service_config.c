/* Fuzzes the reading of the configuration of a service: any text. An accepted file is in its
 * ranges, a refused one is refused with a sentence. */
#include "lockstep/common/base/assert.h"
#include "lockstep/server/service/room_settings.h"
#include "lockstep/server/service/service_config.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <string.h>

enum {
    TEXT_BYTES_MAX = 1 << 16,
};

static void check_settings(const ls_room_settings *settings)
{
    LS_ASSERT(settings->count <= LS_ROOM_SETTINGS_MAX);
    for (uint32_t i = 0; i < settings->count; i++) {
        const ls_room_setting *row = &settings->rows[i];
        LS_ASSERT(memchr(row->flag, '\0', sizeof row->flag) && row->flag[0] != '\0');
        LS_ASSERT(memchr(row->value, '\0', sizeof row->value));
    }
}

static void check(const ls_service_config *config)
{
    LS_ASSERT(config->workers <= LS_SERVICE_WORKERS_MAX);
    LS_ASSERT(config->rooms_max >= 1 && config->rooms_max <= LS_SERVICE_ROOMS_MAX);
    LS_ASSERT(config->http_port <= UINT16_MAX && config->group_count <= LS_SERVICE_GROUPS_MAX);
    LS_ASSERT(memchr(config->journal_dir, '\0', sizeof config->journal_dir));
    check_settings(&config->server);
    check_settings(&config->match);
    for (uint32_t i = 0; i < config->group_count; i++) {
        LS_ASSERT(ls_room_name_is_valid(config->groups[i].name));
        check_settings(&config->groups[i].settings);
        for (uint32_t k = 0; k < i; k++) {
            LS_ASSERT(strcmp(config->groups[i].name, config->groups[k].name) != 0);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static char text[TEXT_BYTES_MAX];
    static ls_service_config config;
    static ls_service_faults faults;
    if (size >= sizeof text) {
        return 0;
    }
    memcpy(text, bytes, size);
    text[size] = '\0';
    memset(&faults, 0, sizeof faults);
    ls_service_config_parse(text, size, &config, &faults);
    if (faults.count == 0) {
        check(&config);
    }
    for (uint32_t i = 0; i < LS_MIN(faults.count, LS_SERVICE_FAULTS_MAX); i++) {
        LS_ASSERT(faults.rows[i].text.bytes[0] != '\0');
    }
    return 0;
}
