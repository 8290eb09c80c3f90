/* Fuzzes what an operator and a page give a service: files, bans and hosts. */
#include "lockstep/common/base/assert.h"
#include "lockstep/server/control/http_daemon.h"
#include "lockstep/server/control/operators.h"
#include "lockstep/server/service/ban_list.h"
#include "lockstep/server/service/room_settings.h"
#include "lockstep/server/service/service_config.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <stdio.h>
#include <string.h>

/* ==== ban_list ==== */

/* Fuzzes bans: what operators ban, and who comes, any texts, a line each, whose first byte says
 * what it is. A ban that was taken keeps those out whom it names, until it ends or is lifted. */

enum {
    LINE_BYTES_MAX = 256,
    NOW_S = 1000,
    UNTIL_S = 2000,
};

static ls_ban_list bans;

static void ask(const char *name)
{
    const ls_ban_subject who = {
        .origin = (uint64_t)name[0], .name = name, .has_account = name[0] == '7', .account = 7};
    const ls_ban *found = ls_ban_list_find(&bans, &who, NOW_S);
    LS_ASSERT(!found || (found->number != 0 && found->kind < LS_BAN_KIND_COUNT));
    LS_ASSERT(!ls_ban_list_find(&bans, &who, UNTIL_S));
}

/* By what it says of itself it names the one who says the same. */
static void ban(uint32_t kind, const char *what)
{
    ls_ban made = {.until_unix_s = UNTIL_S};
    ls_text why = {{0}};
    if (ls_ban_set(&made, kind, what, &why) != LS_OK) {
        LS_ASSERT(why.bytes[0] != '\0');
        return;
    }
    LS_ASSERT(made.kind == kind && memchr(made.what, '\0', sizeof made.what));
    ls_ban again = {.until_unix_s = UNTIL_S};
    LS_ASSERT(ls_ban_set(&again, kind, made.what, NULL) == LS_OK);
    LS_ASSERT(strcmp(again.what, made.what) == 0);
    const ls_ban *kept = ls_ban_list_add(&bans, &made);
    LS_ASSERT(kept && kept->number != 0 && strcmp(kept->what, made.what) == 0);
    if (kind == LS_BAN_NAME) {
        const ls_ban_subject who = {.name = made.what};
        LS_ASSERT(ls_ban_list_find(&bans, &who, NOW_S));
    } else if (kind == LS_BAN_ADDRESS) {
        const ls_ban_subject who = {.origin = again.origin, .name = ""};
        LS_ASSERT(made.origin != 0 && ls_ban_list_find(&bans, &who, NOW_S));
    }
    uint64_t number = kept->number;
    LS_ASSERT(ls_ban_list_lift(&bans, number) && !ls_ban_list_lift(&bans, number));
    (void)ls_ban_list_add(&bans, &made);
}

FUZZ_TARGET(ban_list)
{
    fuzz_input input = {bytes, size};
    memset(&bans, 0, sizeof bans);
    while (input.size > 0) {
        uint32_t what = fuzz_take_u8(&input) % (LS_BAN_KIND_COUNT + 2);
        char line[LINE_BYTES_MAX];
        fuzz_take_text(&input, '\n', line, sizeof line);
        if (what <= LS_BAN_KIND_COUNT) { /* one kind that there is not */
            ban(what, line);
        } else {
            ask(line);
        }
    }
    return 0;
}

/* ==== http_host ==== */

/* Fuzzes values of the Host header, "NAMES\nHOST" of any bytes: a host is known with any port and
 * in capitals, or not at all, and only an address, localhost or one of the names is. */

enum {
    FIELD_BYTES_MAX = 512,
};

static bool is_known(const char *host, const char *behind, const char *names)
{
    char text[FIELD_BYTES_MAX + 32];
    snprintf(text, sizeof text, "%s%s", host, behind);
    return ls_http_host_is_known(text, names);
}

static void raise_letters(char *text)
{
    for (; *text != '\0'; text++) {
        *text = (char)(*text >= 'a' && *text <= 'z' ? *text - 'a' + 'A' : *text);
    }
}

FUZZ_TARGET(http_host)
{
    fuzz_input input = {bytes, size};
    char names[FIELD_BYTES_MAX];
    char host[FIELD_BYTES_MAX];
    fuzz_take_text(&input, '\n', names, sizeof names);
    fuzz_take_text(&input, '\n', host, sizeof host);
    bool known = ls_http_host_is_known(host, names);
    if (!strchr(host, ':') && known) {
        LS_ASSERT(is_known(host, ":9300", names));
        LS_ASSERT(!is_known(host, ".attacker.example", ""));
    }
    LS_ASSERT(!known || strchr(names, '/') || !is_known(host, "/", names));
    raise_letters(host);
    LS_ASSERT(ls_http_host_is_known(host, names) == known);
    LS_ASSERT(ls_http_host_is_known("localhost", names) && ls_http_host_is_known("[::1]:1", names));
    return 0;
}

/* ==== operators ==== */

/* Fuzzes the file of operators of a service: any text. Each operator in it has a name and a token
 * of its own, and is found by it alone. */

enum {
    TEXT_BYTES_MAX = 1 << 15,
};

static void check_row(const ls_operators *operators, uint32_t index)
{
    const ls_operator *row = &operators->rows[index];
    LS_ASSERT(row->role <= LS_OPERATOR_ADMIN && ls_operator_role_word(row->role));
    LS_ASSERT(memchr(row->name, '\0', sizeof row->name) && row->name[0] != '\0');
    LS_ASSERT(memchr(row->token, '\0', sizeof row->token));
    LS_ASSERT(strlen(row->token) >= LS_OPERATOR_TOKEN_BYTES_MIN);
    LS_ASSERT(ls_operators_find(operators, row->token) == row);
    for (uint32_t i = 0; i < index; i++) {
        LS_ASSERT(strcmp(operators->rows[i].name, row->name) != 0);
    }
}

FUZZ_TARGET(operators)
{
    static char text[TEXT_BYTES_MAX];
    static ls_operators operators;
    ls_text why = {{0}};
    if (size >= sizeof text) {
        return 0;
    }
    memcpy(text, bytes, size);
    text[size] = '\0';
    memset(&operators, 0, sizeof operators);
    ls_status status = ls_operators_parse(&operators, text, "operators", &why);
    LS_ASSERT(status == LS_OK || why.bytes[0] != '\0');
    LS_ASSERT(operators.count <= LS_OPERATORS_MAX);
    for (uint32_t i = 0; i < operators.count; i++) {
        check_row(&operators, i);
    }
    LS_ASSERT(!ls_operators_find(&operators, ""));
    LS_ASSERT(size > 0 || operators.count == 0);
    return 0;
}

/* ==== service_config ==== */

/* Fuzzes the reading of the configuration of a service: any text. An accepted file is in its
 * ranges, a refused one is refused with a sentence. */

enum {
    CONFIG_BYTES_MAX = 1 << 16,
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

static void check_config(const ls_service_config *config)
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

FUZZ_TARGET(service_config)
{
    static char text[CONFIG_BYTES_MAX];
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
        check_config(&config);
    }
    for (uint32_t i = 0; i < LS_MIN(faults.count, LS_SERVICE_FAULTS_MAX); i++) {
        LS_ASSERT(faults.rows[i].text.bytes[0] != '\0');
    }
    return 0;
}
