#include "lockstep/tools/netcond/settings.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/program/option.h"

#include <stdio.h>
#include <string.h>

/* ---- profiles ---- */

/* One direction: it has half of the round trip that the users of such a network see. */
#define LINK(delay, jitter, loss, burst, duplicate, reorder, rate, queue)                          \
    {                                                                                              \
        [NETCOND_SETTING_DELAY] = delay, [NETCOND_SETTING_JITTER] = jitter,                        \
        [NETCOND_SETTING_LOSS] = loss, [NETCOND_SETTING_BURST] = burst,                            \
        [NETCOND_SETTING_DUPLICATE] = duplicate, [NETCOND_SETTING_REORDER] = reorder,              \
        [NETCOND_SETTING_RATE] = rate, [NETCOND_SETTING_QUEUE] = queue                             \
    }

static const netcond_profile profiles[] = {
    {"lan",
     "a wired local network: round trip below 1 ms",
     {LINK("0.2", "0.1", NULL, NULL, NULL, NULL, NULL, NULL),
      LINK("0.2", "0.1", NULL, NULL, NULL, NULL, NULL, NULL)}},
    {"wifi",
     "a busy wireless network: jitter, small bursts of loss",
     {LINK("2", "12", "0.2", "0.5:3", "0.1", NULL, "30000", "256"),
      LINK("2", "8", "0.2", "0.3:3", "0.1", NULL, "60000", "256")}},
    {"4g",
     "a mobile network: round trip of 60 to 110 ms, slower up than down",
     {LINK("32", "30", "0.3", "0.5:6", NULL, NULL, "8000", "256"),
      LINK("28", "20", "0.2", "0.3:6", NULL, NULL, "30000", "512")}},
    {"bad",
     "what a game should survive: round trip of 120 to 200 ms, 7 % lost",
     {LINK("60", "40", "5", "2:5", "1", "2:30", "512", "16"),
      LINK("60", "40", "5", "2:5", "1", "2:30", "1024", "32")}},
    {"satellite",
     "by a geostationary satellite: round trip of 560 to 600 ms",
     {LINK("280", "20", "0.5", "0.5:8", NULL, NULL, "3000", "256"),
      LINK("280", "20", "0.5", "0.5:8", NULL, NULL, "25000", "512")}},
};

_Static_assert(sizeof profiles / sizeof profiles[0] <= NETCOND_PROFILES_MAX, "profiles");

const netcond_profile *netcond_profile_at(uint32_t index)
{
    return index < sizeof profiles / sizeof profiles[0] ? &profiles[index] : NULL;
}

/* ---- settings ---- */

enum {
    PARTS_MAX = 3,
    PART_BYTES_MAX = 32,
    NAME_BYTES_MAX = 64,
    PERCENT_PLACES = 4, /* gives millionths */
    LENGTH_PLACES = 3,
    MS_PLACES = 3, /* gives microseconds */
    KB_PLACES = 3, /* gives bytes */
};

#define KB UINT64_C(1000)

static const netcond_setting_info infos[NETCOND_SETTING_COUNT] = {
    [NETCOND_SETTING_PROFILE] = {"profile", "NAME", "Start from one of the profiles below"},
    [NETCOND_SETTING_DELAY] = {"delay", "MS", "Time that every packet takes (0)"},
    [NETCOND_SETTING_JITTER] =
        {"jitter", "MS",
         "Each packet takes up to this much longer, uniformly (0). The order is "
         "kept: a packet waits for those before it"},
    [NETCOND_SETTING_OVERTAKE] = {"overtake", NULL,
                                  "Let packets overtake each other through jitter"},
    [NETCOND_SETTING_LOSS] = {"loss", "PCT", "Share of the packets lost, each for itself (0)"},
    [NETCOND_SETTING_BURST] =
        {"burst", "PCT:LENGTH[:LOSS]",
         "Gilbert-Elliott: PCT of the packets meet a bad period, LENGTH packets "
         "long on average, in which LOSS per cent are lost (100)"},
    [NETCOND_SETTING_DUPLICATE] = {"duplicate", "PCT",
                                   "Share of the packets that arrive twice (0)"},
    [NETCOND_SETTING_REORDER] =
        {"reorder", "PCT[:MS]",
         "Share of the packets (0) held back by MS (25), so that those behind "
         "overtake them"},
    [NETCOND_SETTING_RATE] = {"rate", "KBIT",
                              "Kilobits a second, headers counted; 0: no limit (0)"},
    [NETCOND_SETTING_BUCKET] = {"bucket", "KB",
                                "Token bucket: kilobytes that pass at once after a pause (3)"},
    [NETCOND_SETTING_QUEUE] =
        {"queue", "KB", "Kilobytes that wait for the rate at most; what is more is lost (64)"},
    [NETCOND_SETTING_PARTITION] =
        {"partition", "START:LENGTH[:EVERY]",
         "From START ms after the first packet on, nothing passes for LENGTH "
         "ms; again every EVERY ms"},
};

/* A value is one number, or several with colons between them, the last of which may be left out. */
typedef struct part_form {
    const char *word; /* NULL: there is no such part */
    uint32_t places;
    ls_option_range range;
} part_form;

static const part_form forms[NETCOND_SETTING_COUNT][PARTS_MAX] = {
    [NETCOND_SETTING_DELAY] = {{"MS", MS_PLACES, {0, LS_LINK_DELAY_MS_MAX}}},
    [NETCOND_SETTING_JITTER] = {{"MS", MS_PLACES, {0, LS_LINK_JITTER_MS_MAX}}},
    [NETCOND_SETTING_LOSS] = {{"PCT", PERCENT_PLACES, {0, 100}}},
    [NETCOND_SETTING_BURST] = {{"PCT", PERCENT_PLACES, {0, LS_LINK_BURST_PERCENT_MAX}},
                               {"LENGTH", LENGTH_PLACES, {1, LS_LINK_BURST_PACKETS_MAX}},
                               {"LOSS", PERCENT_PLACES, {0, 100}}},
    [NETCOND_SETTING_DUPLICATE] = {{"PCT", PERCENT_PLACES, {0, 100}}},
    [NETCOND_SETTING_REORDER] = {{"PCT", PERCENT_PLACES, {0, 100}},
                                 {"MS", MS_PLACES, {1, LS_LINK_DELAY_MS_MAX}}},
    [NETCOND_SETTING_RATE] = {{"KBIT", 0, {0, LS_LINK_RATE_KBIT_MAX}}},
    [NETCOND_SETTING_BUCKET] = {{"KB", KB_PLACES, {0, LS_LINK_QUEUE_KB_MAX}}},
    [NETCOND_SETTING_QUEUE] = {{"KB", KB_PLACES, {3, LS_LINK_QUEUE_KB_MAX}}},
    [NETCOND_SETTING_PARTITION] = {{"START", 0, {0, LS_LINK_PARTITION_MS_MAX}},
                                   {"LENGTH", 0, {0, LS_LINK_PARTITION_MS_MAX}},
                                   {"EVERY", 0, {0, LS_LINK_PARTITION_MS_MAX}}},
};

const netcond_setting_info *netcond_setting_info_of(netcond_setting setting)
{
    LS_ASSERT((uint32_t)setting < NETCOND_SETTING_COUNT);
    return &infos[setting];
}

const char *netcond_setting_scope_prefix(netcond_setting_scope scope)
{
    return scope == NETCOND_SCOPE_UP ? "up-" : scope == NETCOND_SCOPE_DOWN ? "down-" : "";
}

/* ---- one value ---- */

static uint32_t most_parts(netcond_setting setting)
{
    uint32_t count = 0;
    while (count < PARTS_MAX && forms[setting][count].word) {
        count++;
    }
    return count;
}

/* Cuts a value at its colons. false when it has too few or too many parts, or a part too long to be
 * a number. */
static bool split(netcond_setting setting, const char *value, char parts[PARTS_MAX][PART_BYTES_MAX],
                  uint32_t *count)
{
    uint32_t most = most_parts(setting);
    *count = 0;
    for (const char *rest = value; rest;) {
        size_t bytes = strcspn(rest, ":");
        if (*count == most || bytes >= PART_BYTES_MAX) {
            return false;
        }
        memcpy(parts[*count], rest, bytes);
        parts[(*count)++][bytes] = '\0';
        rest = rest[bytes] == ':' ? rest + bytes + 1 : NULL;
    }
    return *count == most || *count + 1 == most;
}

static ls_status parse(netcond_setting setting, const char *prefix, const char *value,
                       uint64_t numbers[PARTS_MAX], uint32_t *count, ls_text *why)
{
    const netcond_setting_info *info = &infos[setting];
    char parts[PARTS_MAX][PART_BYTES_MAX];
    if (!split(setting, value, parts, count)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--%s%s takes %s, not '%s'", prefix, info->name,
                       info->form, value);
    }
    bool has_words = most_parts(setting) > 1;
    ls_status status = LS_OK;
    for (uint32_t i = 0; i < *count && status == LS_OK; i++) {
        const part_form *part = &forms[setting][i];
        char name[NAME_BYTES_MAX];
        snprintf(name, sizeof name, "%s%s%s%s", prefix, info->name, has_words ? " " : "",
                 has_words ? part->word : "");
        status = ls_option_decimal(name, parts[i], part->places, part->range, &numbers[i], why);
    }
    return status;
}

static void assign_partition(ls_link_config *link, const uint64_t *numbers)
{
    link->partition_start_ns = numbers[0] * LS_NS_PER_MS;
    link->partition_length_ns = numbers[1] * LS_NS_PER_MS;
    link->partition_every_ns = numbers[2] * LS_NS_PER_MS;
}

static void assign(ls_link_config *link, netcond_setting setting, const uint64_t *numbers,
                   uint32_t count)
{
    const ls_link_config unsaid = ls_link_config_default();
    switch (setting) {
    case NETCOND_SETTING_DELAY:
        link->delay_ns = numbers[0] * LS_NS_PER_US;
        break;
    case NETCOND_SETTING_JITTER:
        link->jitter_ns = numbers[0] * LS_NS_PER_US;
        break;
    case NETCOND_SETTING_LOSS:
        link->loss_ppm = (uint32_t)numbers[0];
        break;
    case NETCOND_SETTING_BURST:
        link->burst_ppm = (uint32_t)numbers[0];
        link->burst_milli = (uint32_t)numbers[1];
        link->burst_loss_ppm = count > 2 ? (uint32_t)numbers[2] : unsaid.burst_loss_ppm;
        break;
    case NETCOND_SETTING_DUPLICATE:
        link->duplicate_ppm = (uint32_t)numbers[0];
        break;
    case NETCOND_SETTING_REORDER:
        link->reorder_ppm = (uint32_t)numbers[0];
        link->reorder_ns = count > 1 ? numbers[1] * LS_NS_PER_US : unsaid.reorder_ns;
        break;
    case NETCOND_SETTING_RATE:
        link->rate_bps = numbers[0] * KB;
        break;
    case NETCOND_SETTING_BUCKET:
        link->bucket_bytes = numbers[0];
        break;
    case NETCOND_SETTING_QUEUE:
        link->queue_bytes = numbers[0];
        break;
    case NETCOND_SETTING_PARTITION:
        assign_partition(link, numbers);
        break;
    case NETCOND_SETTING_OVERTAKE:
    case NETCOND_SETTING_PROFILE:
    case NETCOND_SETTING_COUNT:
        break;
    }
}

/* ---- all of them ---- */

/* Every setting that has a value, onto the link. */
static ls_status apply(ls_link_config *link, const char *const values[NETCOND_SETTING_COUNT],
                       const char *prefix, ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = NETCOND_SETTING_PROFILE + 1; i < NETCOND_SETTING_COUNT && status == LS_OK;
         i++) {
        uint64_t numbers[PARTS_MAX] = {0};
        uint32_t count = 0;
        if (!values[i]) {
            continue;
        }
        if (i == NETCOND_SETTING_OVERTAKE) {
            link->keeps_order = false;
            continue;
        }
        status = parse((netcond_setting)i, prefix, values[i], numbers, &count, why);
        if (status == LS_OK) {
            assign(link, (netcond_setting)i, numbers, count);
        }
    }
    return status;
}

static ls_status find_profile(const char *prefix, const char *name, const netcond_profile **profile,
                              ls_text *why)
{
    const char *names[NETCOND_PROFILES_MAX];
    uint32_t count = 0, index = 0;
    while (netcond_profile_at(count)) {
        names[count] = netcond_profile_at(count)->name;
        count++;
    }
    char option[NAME_BYTES_MAX];
    snprintf(option, sizeof option, "%s%s", prefix, infos[NETCOND_SETTING_PROFILE].name);
    ls_status status = ls_option_word(option, name, names, count, &index, why);
    if (status == LS_OK) {
        *profile = netcond_profile_at(index);
    }
    return status;
}

/* Settings of both directions come first, then those of this one: the later counts. */
static ls_status resolve_direction(const netcond_settings *settings, netcond_setting_scope scope,
                                   ls_link_config *link, ls_text *why)
{
    const netcond_setting_scope scopes[] = {NETCOND_SCOPE_BOTH, scope};
    const netcond_profile *profile = NULL;
    ls_status status = LS_OK;
    *link = ls_link_config_default();
    for (uint32_t i = 0; i < 2 && status == LS_OK; i++) {
        const char *name = settings->values[scopes[i]][NETCOND_SETTING_PROFILE];
        if (name) {
            status = find_profile(netcond_setting_scope_prefix(scopes[i]), name, &profile, why);
        }
    }
    if (status == LS_OK && profile) {
        status = apply(link, profile->values[scope], "", why);
    }
    for (uint32_t i = 0; i < 2 && status == LS_OK; i++) {
        status =
            apply(link, settings->values[scopes[i]], netcond_setting_scope_prefix(scopes[i]), why);
    }
    return status == LS_OK ? ls_link_config_check(link, why) : status;
}

ls_status netcond_settings_resolve(const netcond_settings *settings,
                                   ls_link_config links[NETCOND_DIRECTION_COUNT], ls_text *why)
{
    ls_link_config resolved[NETCOND_DIRECTION_COUNT];
    for (uint32_t scope = 0; scope < NETCOND_DIRECTION_COUNT; scope++) {
        ls_status status =
            resolve_direction(settings, (netcond_setting_scope)scope, &resolved[scope], why);
        if (status != LS_OK) {
            return status;
        }
    }
    memcpy(links, resolved, sizeof resolved);
    return LS_OK;
}
