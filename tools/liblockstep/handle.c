#include "lockstep/tools/liblockstep/handle.h"

#include "lockstep/client/session/session_config.h"
#include "lockstep/common/base/allocator.h"
#include "lockstep/common/program/player_name.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/server/match/match_config.h"

#include <string.h>

/* ---- event queue ---- */

enum {
    PLACES = LOCKSTEP_EVENTS_MAX + 1, /* OVER always has one */
};

bool lockstep_event_queue_open(lockstep_event_queue *queue)
{
    queue->events = ls_allocate_array(ls_allocator_heap(), PLACES, sizeof *queue->events);
    return queue->events != NULL;
}

static char *text_of(const lockstep_event_queue *queue, uint32_t index)
{
    return (char *)(uintptr_t)queue->events[(queue->first + index) % PLACES].text;
}

void lockstep_event_queue_close(lockstep_event_queue *queue)
{
    for (uint32_t i = 0; i < queue->count; i++) {
        ls_release(ls_allocator_heap(), text_of(queue, i));
    }
    ls_release(ls_allocator_heap(), queue->polled);
    ls_release(ls_allocator_heap(), queue->events);
    memset(queue, 0, sizeof *queue);
}

/* ---- lines ---- */

static void on_line(void *user, ls_log_level level, const char *line)
{
    lockstep_event_queue *queue = user;
    size_t size = strlen(line);
    (void)level;
    if (queue->said_bytes + size + 2 > sizeof queue->said) {
        return;
    }
    if (queue->said_bytes > 0) {
        queue->said[queue->said_bytes++] = '\n';
    }
    memcpy(queue->said + queue->said_bytes, line, size + 1);
    queue->said_bytes += size;
}

ls_log lockstep_event_queue_log(lockstep_event_queue *queue)
{
    return (ls_log){.level = LS_LOG_INFO, .write = on_line, .user = queue};
}

/* ---- events ---- */

void lockstep_event_queue_add(lockstep_event_queue *queue, lockstep_event event, const char *text)
{
    const char *words = text ? text : queue->said;
    size_t size = strlen(words) + 1;
    uint32_t room = event.kind == LOCKSTEP_OVER ? PLACES : LOCKSTEP_EVENTS_MAX;
    char *copy = queue->count < room ? ls_allocate(ls_allocator_heap(), size) : NULL;
    if (copy) {
        memcpy(copy, words, size);
        event.text = copy;
        queue->events[(queue->first + queue->count++) % PLACES] = event;
    }
    queue->added++;
    queue->is_over = queue->is_over || event.kind == LOCKSTEP_OVER;
    queue->said_bytes = 0;
    queue->said[0] = '\0';
}

void lockstep_event_queue_flush(lockstep_event_queue *queue, uint32_t tick)
{
    const lockstep_event line = {.kind = LOCKSTEP_LOG, .slot = LOCKSTEP_NO_SLOT, .tick = tick};
    if (queue->said_bytes > 0) {
        lockstep_event_queue_add(queue, line, NULL);
    }
}

bool lockstep_event_queue_take(lockstep_event_queue *queue, lockstep_event *event)
{
    if (queue->count == 0) {
        return false;
    }
    *event = queue->events[queue->first];
    ls_release(ls_allocator_heap(), queue->polled);
    queue->polled = text_of(queue, 0);
    queue->first = (queue->first + 1) % PLACES;
    queue->count--;
    return true;
}

/* ---- settings ---- */

enum {
    SIMILAR_MIN = 3, /* letters that two names begin with */
    CONNECT_WAIT_MS = 10000,
    CONNECT_WAIT_MS_MAX = 86400000,
    RECONNECT_MS = 60000,
    TABLES_MAX = 4,
};

/* ---- the tables ---- */

static ls_status read_name(void *target, char *value, ls_text *why)
{
    return ls_player_name_read(value, ((lockstep_settings *)target)->session.name, why);
}

#define FIELD(member) .offset = offsetof(lockstep_settings, member)
#define THREAD_ROW                                                                                 \
    {                                                                                              \
        LS_SETTING_IS_ON_OFF, FIELD(has_thread), .flag = "thread", .argument = "on|off",           \
                                                 .help = "Work in a thread of its own, on time "   \
                                                         "whatever the caller's takes"             \
    }
#define SIM_ROW                                                                                    \
    {                                                                                              \
        LS_SETTING_IS_TEXT, FIELD(sim), .flag = "sim", .argument = "NAME|FILE.so",                 \
                                        .help = "Simulation: a built-in or a plug-in's file"       \
    }

static const ls_setting_row client_rows[] = {
    {LS_SETTING_IS_TEXT, FIELD(server), .flag = "server", .argument = "INVITE|HOST[:PORT]",
     .help = "Where to play"},
    {LS_SETTING_IS_TEXT, FIELD(token_path), .flag = "token", .argument = "FILE",
     .help = "Come in by the connect token in FILE; without server at the addresses in it"},
    SIM_ROW,
    {LS_SETTING_IS_READ, .read = read_name, .flag = "name", .argument = "S",
     .help = "The player's name, up to 31 bytes of UTF-8"},
    {LS_SETTING_IS_U32, FIELD(connect_wait_ms), .max = CONNECT_WAIT_MS_MAX, .flag = "connect-wait",
     .unit = 1000, .argument = "SECONDS",
     .help = "How long to try to reach the server for the first time; 0: try once"},
    {LS_SETTING_IS_SWITCH, FIELD(is_insecure), .flag = "insecure",
     .help = "Believe whoever answers at HOST[:PORT], in a network that you trust"},
    {LS_SETTING_IS_TEXT, FIELD(seat_path), .flag = "seat-file", .argument = "FILE",
     .help = "Remember the seat in FILE until the match ends, for a process after this one"},
    THREAD_ROW,
};
static const ls_setting_row host_rows[] = {THREAD_ROW};
static const ls_setting_row sim_rows[] = {SIM_ROW};

#define TABLE_OF(rows)                                                                             \
    {                                                                                              \
        rows, sizeof rows / sizeof rows[0]                                                         \
    }
static const ls_setting_table client_table = TABLE_OF(client_rows);
static const ls_setting_table host_table = TABLE_OF(host_rows);
static const ls_setting_table sim_table = TABLE_OF(sim_rows);

static const ls_setting_table *const tables[][TABLES_MAX] = {
    [LOCKSTEP_CLIENT] = {&client_table, &ls_session_settings, &ls_file_param_settings},
    [LOCKSTEP_HOST] = {&host_table, &ls_hosting_settings, &ls_match_settings, &ls_param_settings},
    [LOCKSTEP_SIM] = {&sim_table, &ls_match_settings, &ls_param_settings},
};

static void *target_of(lockstep_settings *settings, const ls_setting_table *table)
{
    return table == &ls_session_settings   ? (void *)&settings->session
           : table == &ls_hosting_settings ? (void *)&settings->hosting
           : table == &ls_match_settings   ? (void *)&settings->match
           : table == &ls_param_settings || table == &ls_file_param_settings
               ? (void *)&settings->params
               : (void *)settings;
}

/* A simulation by itself has no network and no rules for players. */
static bool is_shown(int kind, const ls_setting_table *table, const ls_setting_row *row)
{
    static const char *const of_sim[] = {"players", "tick-rate", "seed"};
    if (!row->flag || row->is_hidden || row->type == LS_SETTING_IS_HEADING) {
        return false;
    }
    bool is_of_sim = kind != LOCKSTEP_SIM || table != &ls_match_settings;
    for (size_t i = 0; i < sizeof of_sim / sizeof of_sim[0]; i++) {
        is_of_sim = is_of_sim || strcmp(row->flag, of_sim[i]) == 0;
    }
    return is_of_sim;
}

static const ls_setting_row *row_with_number(int kind, uint32_t number)
{
    uint32_t at = 0;
    for (uint32_t t = 0; t < TABLES_MAX && tables[kind][t]; t++) {
        for (uint32_t i = 0; i < tables[kind][t]->count; i++) {
            const ls_setting_row *row = &tables[kind][t]->rows[i];
            if (is_shown(kind, tables[kind][t], row) && at++ == number) {
                return row;
            }
        }
    }
    return NULL;
}

int lockstep_setting(int kind, uint32_t number, const char **name, const char **takes,
                     const char **help)
{
    if (kind < LOCKSTEP_CLIENT || kind > LOCKSTEP_SIM) {
        return LS_BAD_ARGUMENT;
    }
    const ls_setting_row *row = row_with_number(kind, number);
    if (!row) {
        return LS_NOT_FOUND;
    }
    if (name) {
        *name = row->flag;
    }
    if (takes) {
        *takes = row->argument ? row->argument : "on|off";
    }
    if (help) {
        *help = row->help ? row->help : "";
    }
    return LOCKSTEP_OK;
}

/* ---- setting ---- */

static char *keep(lockstep_settings *settings, const char *text)
{
    const ls_allocator *heap = ls_allocator_heap();
    size_t size = strlen(text) + 1;
    char *copy = ls_allocate(heap, size);
    char **texts = ls_allocate_array(heap, settings->text_count + 1, sizeof *texts);
    if (!copy || !texts) {
        ls_release(heap, copy);
        ls_release(heap, texts);
        return NULL;
    }
    memcpy(copy, text, size);
    if (settings->text_count > 0) {
        memcpy(texts, settings->texts, settings->text_count * sizeof *texts);
    }
    ls_release(heap, settings->texts);
    settings->texts = texts;
    settings->texts[settings->text_count++] = copy;
    return copy;
}

static const ls_setting_table *table_with(int kind, const char *name)
{
    for (uint32_t t = 0; t < TABLES_MAX && tables[kind][t]; t++) {
        for (uint32_t i = 0; i < tables[kind][t]->count; i++) {
            const ls_setting_row *row = &tables[kind][t]->rows[i];
            if (is_shown(kind, tables[kind][t], row) && strcmp(row->flag, name) == 0) {
                return tables[kind][t];
            }
        }
    }
    return NULL;
}

/* The setting that is spelled almost so, or begins like it; NULL: none is. */
static const char *similar_setting(int kind, const char *name)
{
    const char *best = NULL;
    size_t best_size = SIMILAR_MIN - 1;
    const char *found = NULL;
    for (uint32_t i = 0; lockstep_setting(kind, i, &found, NULL, NULL) == LOCKSTEP_OK; i++) {
        if (ls_flag_is_near(found, name)) {
            return found;
        }
        size_t size = 0;
        while (name[size] != '\0' && name[size] == found[size]) {
            size++;
        }
        best = size > best_size ? found : best;
        best_size = LS_MAX(size, best_size);
    }
    return best;
}

/* One program for host and client is easily written with a setting of the other, or with dashes. */
static ls_status fail_unknown(int kind, const char *name, ls_text *why)
{
    static const char *const kinds[] = {"", "client", "host", "simulation by itself"};
    const char *bare = name + strspn(name, "-");
    for (int other = LOCKSTEP_CLIENT; other <= LOCKSTEP_SIM; other++) {
        if ((other != kind || bare != name) && table_with(other, bare)) {
            return ls_fail(LS_NOT_FOUND, why, "a %s has no setting '%s'; a %s has '%s'",
                           kinds[kind], name, kinds[other], bare);
        }
    }
    const char *similar = similar_setting(kind, bare);
    return similar ? ls_fail(LS_NOT_FOUND, why, "a %s has no setting '%s'; it has '%s'",
                             kinds[kind], name, similar)
                   : ls_fail(LS_NOT_FOUND, why,
                             "there is no setting '%s'; lockstep_setting lists them", name);
}

ls_status lockstep_settings_set(lockstep_settings *settings, int kind, const char *name,
                                const char *value, ls_text *why)
{
    const ls_setting_table *table = table_with(kind, name);
    if (!table) {
        return fail_unknown(kind, name, why);
    }
    const ls_setting_text text = {name, keep(settings, value)};
    if (!text.value) {
        return LS_NO_MEMORY;
    }
    ls_setting_target target = {.fields = target_of(settings, table)};
    ls_text reason = {{0}};
    ls_status status = ls_setting_read_text(table, &target, &text, &reason);
    bool is_flag = strncmp(reason.bytes, "--", 2) == 0; /* as a program's user knows it */
    ls_text_set(why, "%s%s", is_flag ? "setting " : "", reason.bytes + (is_flag ? 2 : 0));
    if (status == LS_OK && table == &ls_match_settings) {
        settings->match_given |= target.given;
    }
    return status;
}

/* ---- life ---- */

void lockstep_settings_init(lockstep_settings *settings)
{
    *settings = (lockstep_settings){.connect_wait_ms = CONNECT_WAIT_MS,
                                    .session = ls_session_config_default(),
                                    .hosting = ls_hosting_default(),
                                    .match = ls_match_config_default(ls_builtin_simulation(0))};
    settings->session.reconnect_ms = RECONNECT_MS;
    settings->hosting.port = 0;
    settings->hosting.bundle_dir = "none";
    settings->hosting.admission.identity_path = ""; /* no file of the caller's user is made */
}

void lockstep_settings_deinit(lockstep_settings *settings)
{
    for (uint32_t i = 0; i < settings->text_count; i++) {
        ls_release(ls_allocator_heap(), settings->texts[i]);
    }
    ls_release(ls_allocator_heap(), settings->texts);
    memset(settings, 0, sizeof *settings);
}
