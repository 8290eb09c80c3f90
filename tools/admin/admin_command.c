#include "lockstep/tools/admin/admin_command.h"

#include "lockstep/common/base/limits.h"
#include "lockstep/common/program/option.h"
#include "lockstep/server/service/room_name.h"
#include "lockstep/server/service/room_settings.h"
#include "lockstep/tools/admin/admin_events.h"
#include "lockstep/tools/admin/admin_print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    BAN_SECONDS_MAX = 10 * 365 * 86400
};

/* The request that the words of a command make. */
typedef struct request {
    char path[128];
    ls_json *body; /* NULL: none */
} request;

typedef struct command {
    const char *name;
    const char *words; /* behind the name, for --help */
    uint32_t min, max; /* of them */
    bool has_room;     /* the first one is a room's name */
    const char *method;
    const char *path; /* behind that of the room, if it has one */
    /* Adds to the request what the words say; NULL: nothing. */
    ls_status (*fill)(const admin_words *words, request *out, ls_text *why);
    void (*print)(const ls_json *answer); /* NULL: the answer is no JSON */
    const char *help;
} command;

/* ---- words ---- */

static const char *word(const admin_words *words, uint32_t index)
{
    return index < words->count ? words->words[index] : NULL;
}

static ls_status check_room(const char *name, ls_text *why)
{
    if (ls_room_name_is_valid(name)) {
        return LS_OK;
    }
    return ls_fail(LS_BAD_ARGUMENT, why,
                   "the name of a room has up to 47 letters, digits, '-' and '_', not '%s'", name);
}

static ls_status set_player_path(const admin_words *words, const char *verb, request *out,
                                 ls_text *why)
{
    uint64_t slot = 0;
    ls_status status = ls_option_number("SLOT", word(words, 2),
                                        (ls_option_range){0, LS_PLAYERS_MAX - 1}, &slot, why);
    snprintf(out->path, sizeof out->path, "rooms/%.60s/players/%" PRIu64 "/%s", word(words, 1),
             slot, verb);
    return status;
}

static void add_why(ls_json *body, const char *why)
{
    if (why) {
        ls_json_text(body, "why", why);
    }
}

static ls_status fill_kick(const admin_words *words, request *out, ls_text *why)
{
    out->body = ls_json_create();
    add_why(out->body, word(words, 3));
    return set_player_path(words, "kick", out, why);
}

static ls_status fill_why(const admin_words *words, request *out, ls_text *why)
{
    (void)why;
    out->body = ls_json_create();
    add_why(out->body, word(words, 2));
    return LS_OK;
}

static ls_status fill_ban(const admin_words *words, request *out, ls_text *why)
{
    uint64_t seconds = 0;
    ls_status status = ls_option_number("SECONDS", word(words, 3),
                                        (ls_option_range){1, BAN_SECONDS_MAX}, &seconds, why);
    out->body = ls_json_create();
    ls_json_number(out->body, "seconds", (double)seconds);
    add_why(out->body, word(words, 4));
    return status == LS_OK ? set_player_path(words, "ban", out, why) : status;
}

static ls_status fill_message(const admin_words *words, request *out, ls_text *why)
{
    bool is_for_room = words->count > 2;
    ls_status status = is_for_room ? check_room(word(words, 1), why) : LS_OK;
    if (is_for_room) {
        snprintf(out->path, sizeof out->path, "rooms/%.60s/message", word(words, 1));
    }
    out->body = ls_json_create();
    ls_json_text(out->body, "text", word(words, is_for_room ? 2 : 1));
    return status;
}

static ls_status add_setting(ls_room_settings *settings, const char *text, ls_text *why)
{
    char flag[sizeof settings->rows[0].flag];
    const char *equals = strchr(text, '=');
    size_t size = equals ? (size_t)(equals - text) : 0;
    if (size == 0 || size >= sizeof flag) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "create takes flags as FLAG=VALUE, for instance players=4, not '%s'", text);
    }
    memcpy(flag, text, size);
    flag[size] = '\0';
    return ls_room_settings_set(settings, flag, equals + 1, why);
}

static ls_status fill_create(const admin_words *words, request *out, ls_text *why)
{
    ls_room_settings settings = {.count = 0};
    ls_status status = LS_OK;
    for (uint32_t i = 1; status == LS_OK && i < words->count; i++) {
        status = add_setting(&settings, word(words, i), why);
    }
    out->body = ls_json_create();
    ls_room_settings_write(&settings, out->body);
    return status;
}

/* ---- the table ---- */

static const command commands[] = {
    {"service", "", 0, 0, false, "GET", "service", NULL, admin_print_service,
     "the service as a whole"},
    {"rooms", "", 0, 0, false, "GET", "rooms", NULL, admin_print_rooms, "all rooms"},
    {"room", " NAME", 1, 1, true, "GET", "", NULL, admin_print_room, "one room and its players"},
    {"workers", "", 0, 0, false, "GET", "workers", NULL, admin_print_workers,
     "the worker processes"},
    {"events", "", 0, 0, false, "GET", "events", NULL, NULL, "events as they happen"},
    {"picture", " NAME", 1, 1, true, "GET", "/picture", NULL, NULL,
     "prints what the room looks like, as an SVG"},
    {"create", " [FLAG=VALUE...]", 0, ADMIN_WORDS_MAX - 1, false, "POST", "rooms", fill_create,
     admin_print_opened,
     "opens a room: flags of lockstep-server without dashes, name=NAME; prints its name"},
    {"end", " NAME", 1, 1, true, "DELETE", "", NULL, admin_print_result, "ends a room"},
    {"pause", " NAME [WHY]", 1, 2, true, "POST", "/pause", fill_why, admin_print_result,
     "halts a room; its players read why"},
    {"unpause", " NAME [WHY]", 1, 2, true, "POST", "/unpause", fill_why, admin_print_result,
     "lets it go on"},
    {"save", " NAME [WHY]", 1, 2, true, "POST", "/save", fill_why, admin_print_result,
     "leaves a room in its journal, to go on another time; prints the file"},
    {"kick", " NAME SLOT [WHY]", 2, 3, true, "POST", "", fill_kick, admin_print_result,
     "sends a player away"},
    {"ban", " NAME SLOT SECONDS [WHY]", 3, 4, true, "POST", "", fill_ban, admin_print_result,
     "and refuses the address in every room"},
    {"message", " [NAME] TEXT", 1, 2, false, "POST", "message", fill_message, admin_print_result,
     "to the players of one room, or of all"},
    {"drain", "", 0, 0, false, "POST", "drain", NULL, admin_print_result,
     "no new rooms; the service ends when the last one is over"},
};

enum {
    COMMAND_COUNT = sizeof commands / sizeof commands[0]
};

static const command *find(const char *name)
{
    for (uint32_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

void admin_print_commands(FILE *file)
{
    fprintf(file, "Commands:\n");
    for (uint32_t i = 0; i < COMMAND_COUNT; i++) {
        fprintf(file, "  %s%s: %s\n", commands[i].name, commands[i].words, commands[i].help);
    }
}

static ls_status make_request(const command *of, const admin_words *words, request *out,
                              ls_text *why)
{
    ls_status status = of->has_room ? check_room(word(words, 1), why) : LS_OK;
    if (of->has_room) {
        snprintf(out->path, sizeof out->path, "rooms/%.60s%s", word(words, 1), of->path);
    } else {
        snprintf(out->path, sizeof out->path, "%s", of->path);
    }
    if (status == LS_OK && of->fill) {
        status = of->fill(words, out, why);
    }
    return status;
}

ls_status admin_check_words(const admin_words *words, ls_text *why)
{
    if (words->count == 0) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the command is missing: rooms, room, create, ...");
    }
    const command *of = find(words->words[0]);
    if (!of) {
        return ls_fail(LS_BAD_ARGUMENT, why, "'%s' is no command: --help lists them",
                       words->words[0]);
    }
    if (words->count - 1 < of->min || words->count - 1 > of->max) {
        return ls_fail(LS_BAD_ARGUMENT, why, "%s takes%s", of->name,
                       of->words[0] ? of->words : " no words");
    }
    request made = {.body = NULL};
    ls_status status = make_request(of, words, &made, why);
    ls_json_destroy(made.body);
    return status;
}

ls_status admin_run(const admin_service *service, const admin_words *words, bool prints_json,
                    ls_text *why)
{
    const command *of = find(words->words[0]);
    if (strcmp(of->name, "events") == 0) {
        return admin_follow_events(service, prints_json, why);
    }
    request made = {.body = NULL};
    ls_json *answer = NULL;
    ls_status status = make_request(of, words, &made, why);
    if (status != LS_OK) {
        ls_json_destroy(made.body);
        return status;
    }
    if (!of->print) {
        return admin_print_body(service, made.path, why);
    }
    status = admin_ask_take(service, of->method, made.path, made.body, &answer, why);
    if (status == LS_OK && prints_json) {
        status = ls_json_write_line(answer, stdout);
    } else if (status == LS_OK) {
        of->print(answer);
    }
    ls_json_destroy(answer);
    return status;
}
