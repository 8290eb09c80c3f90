#include "lockstep/common/simulation/simulation.h"

#include <string.h>

enum {
    SIZE_FIRST = offsetof(ls_simulation, save_fields) + sizeof(void *), /* the first of this abi */
    SIZE_MOST = 4096,
};

/* ---- the struct ---- */

static bool is_name_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' ||
           byte == '_';
}

static bool is_name(const char *name)
{
    if (!name || name[0] == '\0') {
        return false;
    }
    for (size_t i = 0; i < LS_NAME_BYTES_MAX; i++) {
        if (name[i] == '\0') {
            return true;
        }
        if (!is_name_byte(name[i])) {
            return false;
        }
    }
    return false;
}

static bool is_within(int64_t value, int64_t min, int64_t max)
{
    return value >= min && value <= max;
}

typedef struct number_rule {
    const char *field;
    uint32_t value;
    uint32_t min;
    uint32_t max;
} number_rule;

/* None, or one that whole Hz do not say as well. */
static bool is_rate(ls_rate rate, uint32_t hz)
{
    bool is_none = rate.numerator == 0 && rate.denominator == 0;
    return is_none ||
           (rate.denominator > 1 && ls_rate_is_good(rate) && ls_rate_nearest_hz(rate) == hz);
}

static ls_status check_numbers(const ls_simulation *simulation, ls_text *why)
{
    const number_rule rules[] = {
        {"default_tick_rate_hz", simulation->default_tick_rate_hz, LS_TICK_RATE_MIN_HZ,
         LS_TICK_RATE_MAX_HZ},
        {"players_max", simulation->players_max, 1, LS_PLAYERS_MAX},
        {"default_players", simulation->default_players, 1, simulation->players_max},
        {"input_bytes_max", simulation->input_bytes_max, 0, LS_INPUT_BYTES_MAX},
        {"param_count", simulation->param_count, 0, LS_PARAMS_MAX},
        {"pass_count", simulation->pass_count, 1, LS_PASSES_MAX},
        {"workers_max", simulation->workers_max, 0, LS_WORKERS_MAX},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (!is_within(rules[i].value, rules[i].min, rules[i].max)) {
            return ls_fail(LS_BAD_ARGUMENT, why, "simulation '%s': %s takes %u..%u, not %u",
                           simulation->name, rules[i].field, rules[i].min, rules[i].max,
                           rules[i].value);
        }
    }
    if (simulation->players_max * simulation->input_bytes_max > LS_INPUTS_BYTES_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "simulation '%s': players_max times input_bytes_max is at most %u, not %u",
                       simulation->name, LS_INPUTS_BYTES_MAX,
                       simulation->players_max * simulation->input_bytes_max);
    }
    if (!is_rate(simulation->default_tick_rate, simulation->default_tick_rate_hz)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "simulation '%s': default_tick_rate %u/%u is no fraction in lowest terms "
                       "whose nearest whole number is default_tick_rate_hz",
                       simulation->name, simulation->default_tick_rate.numerator,
                       simulation->default_tick_rate.denominator);
    }
    return LS_OK;
}

static const char *text_of(const char *text)
{
    return text ? text : "";
}

/* Of bytes at their least and most, up to the limit. */
static bool is_byte_range(const ls_param *param, int64_t limit)
{
    return param->min >= 0 && param->min <= param->max && param->max <= limit;
}

/* Whether this machine shows, and every machine gets, the very bytes. */
static bool is_shown_as_it_is(const char *text, size_t bytes)
{
    char shown[LS_STRING_BYTES_MAX];
    memcpy(shown, text, bytes);
    ls_text_make_printable(shown, bytes);
    return memcmp(shown, text, bytes) == 0;
}

static bool is_string_of(const ls_param *param, const char *text, size_t bytes)
{
    return bytes < LS_STRING_BYTES_MAX && is_within((int64_t)bytes, param->min, param->max) &&
           is_shown_as_it_is(text, bytes);
}

static const char *range_fault(const ls_param *param)
{
    const char *text = text_of(param->default_text);
    switch (param->kind) {
    case LS_PARAM_INTEGER:
        return is_within(param->default_value, param->min, param->max)
                   ? NULL
                   : "has a default outside min..max";
    case LS_PARAM_STRING:
        if (!is_byte_range(param, LS_STRING_BYTES_MAX - 1)) {
            return "is a string whose bytes are not 0 <= min <= max <= 255";
        }
        return is_string_of(param, text, strlen(text)) ? NULL : "has a default that it cannot take";
    case LS_PARAM_FILE:
        return is_byte_range(param, LS_FILE_BYTES_MAX)
                   ? NULL
                   : "is a file whose bytes are not 0 <= min <= max <= 64 MiB";
    default:
        return "is of no kind that there is";
    }
}

/* The fault of parameter `index` in words, or NULL. */
static const char *param_fault(const ls_simulation *simulation, uint32_t index)
{
    const ls_param *param = &simulation->params[index];
    if (!is_name(param->name)) {
        return "has no name of 1..63 bytes of a-z 0-9 - _";
    }
    if (!param->unit || !param->help) {
        return "has no unit or no help";
    }
    const char *fault = range_fault(param);
    if (fault) {
        return fault;
    }
    const ls_param *first = ls_simulation_param(simulation, param->name, strlen(param->name));
    return first == param ? NULL : "has the name of an earlier one";
}

static uint32_t count_kind(const ls_simulation *simulation, uint32_t kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < simulation->param_count; i++) {
        count += simulation->params[i].kind == kind;
    }
    return count;
}

static ls_status check_kinds(const ls_simulation *simulation, ls_text *why)
{
    uint32_t strings = count_kind(simulation, LS_PARAM_STRING);
    uint32_t files = count_kind(simulation, LS_PARAM_FILE);
    if (strings > LS_STRING_PARAMS_MAX || files > LS_FILE_PARAMS_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "simulation '%s': params has %u strings and %u files; it can have %u and %u",
                       simulation->name, strings, files, LS_STRING_PARAMS_MAX, LS_FILE_PARAMS_MAX);
    }
    return LS_OK;
}

static const char *pass_fault(const ls_simulation *simulation, uint32_t index)
{
    const ls_pass *pass = &simulation->passes[index];
    if (!is_name(pass->name)) {
        return "has no name of 1..63 bytes of a-z 0-9 - _";
    }
    if (!pass->run) {
        return "has no run function";
    }
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(simulation->passes[i].name, pass->name) == 0) {
            return "has the name of an earlier one";
        }
    }
    return NULL;
}

static ls_status check_lists(const ls_simulation *simulation, ls_text *why)
{
    if (!simulation->passes || (simulation->param_count > 0 && !simulation->params)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "simulation '%s': %s is NULL", simulation->name,
                       simulation->passes ? "params" : "passes");
    }
    for (uint32_t i = 0; i < simulation->param_count; i++) {
        const char *fault = param_fault(simulation, i);
        if (fault) {
            return ls_fail(LS_BAD_ARGUMENT, why, "simulation '%s': params[%u] %s", simulation->name,
                           i, fault);
        }
    }
    for (uint32_t i = 0; i < simulation->pass_count; i++) {
        const char *fault = pass_fault(simulation, i);
        if (fault) {
            return ls_fail(LS_BAD_ARGUMENT, why, "simulation '%s': passes[%u] %s", simulation->name,
                           i, fault);
        }
    }
    return check_kinds(simulation, why);
}

/* Which functions are missing or cannot stand together, or NULL. */
static const char *function_fault(const ls_simulation *simulation)
{
    if (!simulation->state_bytes) {
        return "state_bytes is NULL";
    }
    if (!simulation->init) {
        return "init is NULL";
    }
    if (!simulation->fields && !simulation->hash) {
        return "fields and hash are both NULL";
    }
    if (simulation->fields && simulation->hash) {
        return "fields and hash are both given; a state has one or the other";
    }
    if (!simulation->hash && (simulation->save || simulation->load || simulation->deinit)) {
        return "save, load and deinit are only for a simulation with hash";
    }
    if (!simulation->save != !simulation->load) {
        return "save and load come together";
    }
    if (simulation->hash && simulation->names_writes) {
        return "names_writes is only for a simulation with fields";
    }
    return NULL;
}

static ls_status check_abi(const ls_simulation *simulation, ls_text *why)
{
    if (!simulation) {
        return ls_fail(LS_PLUGIN, why, "there is no simulation");
    }
    if (simulation->abi != LS_SIMULATION_ABI) {
        /* Nothing past abi can be read: another abi may lay the struct out differently. */
        return ls_fail(LS_PLUGIN, why,
                       "the simulation was built for abi %u, this program has abi %u",
                       simulation->abi, LS_SIMULATION_ABI);
    }
    return LS_OK;
}

ls_status ls_simulation_read(const ls_simulation *exported, ls_simulation *out, ls_text *why)
{
    ls_status status = check_abi(exported, why);
    if (status != LS_OK) {
        return status;
    }
    const uint8_t *bytes = (const uint8_t *)exported;
    if (exported->size < SIZE_FIRST || exported->size > SIZE_MOST) {
        return ls_fail(LS_PLUGIN, why,
                       "the simulation's size is %u; it has to be sizeof(ls_simulation)",
                       exported->size);
    }
    for (uint32_t i = sizeof *out; i < exported->size; i++) {
        if (bytes[i] != 0) {
            return ls_fail(LS_PLUGIN, why,
                           "the simulation was built for a later version of Lockstep, and uses "
                           "what this one does not have");
        }
    }
    memset(out, 0, sizeof *out);
    memcpy(out, exported, LS_MIN(exported->size, (uint32_t)sizeof *out));
    out->size = sizeof *out;
    return LS_OK;
}

ls_status ls_simulation_check(const ls_simulation *simulation, ls_text *why)
{
    ls_status status = check_abi(simulation, why);
    if (status != LS_OK) {
        return status;
    }
    if (simulation->size != sizeof *simulation) {
        return ls_fail(LS_PLUGIN, why,
                       "the simulation's size is %u; it has to be %zu, sizeof(ls_simulation)",
                       simulation->size, sizeof *simulation);
    }
    if (!is_name(simulation->name)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the name '%.64s' is not 1..63 of a-z 0-9 - _",
                       simulation->name ? simulation->name : "");
    }
    if (!simulation->summary) {
        return ls_fail(LS_BAD_ARGUMENT, why, "simulation '%s': summary is NULL", simulation->name);
    }
    status = check_numbers(simulation, why);
    if (status != LS_OK) {
        return status;
    }
    status = check_lists(simulation, why);
    if (status != LS_OK) {
        return status;
    }
    const char *fault = function_fault(simulation);
    if (fault) {
        return ls_fail(LS_BAD_ARGUMENT, why, "simulation '%s': %s", simulation->name, fault);
    }
    return LS_OK;
}

/* ---- the configuration ---- */

ls_sim_config ls_sim_config_default(const ls_simulation *simulation)
{
    ls_sim_config config = {
        .seed = 1,
        .tick_rate_hz = simulation->default_tick_rate_hz,
        .tick_rate = simulation->default_tick_rate,
        .players = simulation->default_players,
        .param_count = simulation->param_count,
    };
    for (uint32_t i = 0; i < simulation->param_count; i++) {
        const ls_param *param = &simulation->params[i];
        if (param->kind == LS_PARAM_STRING) {
            ls_name_copy(config.strings[config.string_count], LS_STRING_BYTES_MAX,
                         text_of(param->default_text));
            config.params[i] = config.string_count++;
        } else if (param->kind == LS_PARAM_FILE) {
            config.params[i] = config.file_count++;
        } else {
            config.params[i] = param->default_value;
        }
    }
    return config;
}

typedef enum number_kind {
    NUMBER_FITS,
    NUMBER_TOO_BIG,
    NUMBER_NONE
} number_kind;

/* A '-' or nothing, then digits alone: no spaces, no '+', no locale. */
static number_kind parse_int64(const char *text, int64_t *out)
{
    bool is_negative = text[0] == '-';
    const char *digits = is_negative ? text + 1 : text;
    uint64_t limit = is_negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
    uint64_t magnitude = 0;
    bool is_too_big = false;
    size_t i = 0;
    for (; digits[i] >= '0' && digits[i] <= '9'; i++) {
        uint64_t digit = (uint64_t)(digits[i] - '0');
        is_too_big = is_too_big || magnitude > (limit - digit) / 10;
        magnitude = is_too_big ? limit : magnitude * 10 + digit;
    }
    if (i == 0 || digits[i] != '\0') {
        return NUMBER_NONE;
    }
    if (is_too_big) {
        return NUMBER_TOO_BIG;
    }
    *out = ls_signed_from_bits(is_negative ? 0u - magnitude : magnitude);
    return NUMBER_FITS;
}

static ls_status refuse_name(const ls_simulation *simulation, const char *name, ls_text *why)
{
    ls_text_set(why, "unknown parameter '%s'; ", name);
    if (simulation->param_count == 0) {
        ls_text_add(why, "'%s' has none", simulation->name);
        return LS_NOT_FOUND;
    }
    ls_text_add(why, "'%s' has: ", simulation->name);
    for (uint32_t i = 0; i < simulation->param_count; i++) {
        ls_text_add(why, "%s%s", i > 0 ? ", " : "", simulation->params[i].name);
    }
    return LS_NOT_FOUND;
}

/* `kind` says what was wanted: "" for a number that is out of range. */
static ls_status refuse_value(const ls_simulation *simulation, const ls_param *param,
                              const char *kind, const char *value, ls_text *why)
{
    return ls_fail(LS_BAD_ARGUMENT, why, "parameter '%s' of '%s' takes %s%lld..%lld%s%s, not %s",
                   param->name, simulation->name, kind, (long long)param->min,
                   (long long)param->max, param->unit[0] != '\0' ? " " : "", param->unit, value);
}

const ls_param *ls_simulation_param(const ls_simulation *simulation, const char *name,
                                    size_t name_bytes)
{
    for (uint32_t i = 0; i < simulation->param_count; i++) {
        const ls_param *param = &simulation->params[i];
        if (strlen(param->name) == name_bytes && memcmp(param->name, name, name_bytes) == 0) {
            return param;
        }
    }
    return NULL;
}

static ls_status set_number(const ls_simulation *simulation, ls_sim_config *config,
                            const ls_param *param, const char *text, ls_text *why)
{
    char shown[2 * LS_NAME_BYTES_MAX];
    int64_t value = 0;
    number_kind kind = parse_int64(text, &value);
    ls_name_copy(shown, sizeof shown, text);
    if (kind == NUMBER_FITS && is_within(value, param->min, param->max)) {
        config->params[param - simulation->params] = value;
        return LS_OK;
    }
    return refuse_value(simulation, param, kind == NUMBER_NONE ? "a whole number " : "",
                        shown[0] ? shown : "nothing", why);
}

static ls_status refuse_string(const ls_simulation *simulation, const ls_param *param, ls_text *why)
{
    return ls_fail(LS_BAD_ARGUMENT, why,
                   "parameter '%s' of '%s' takes %lld..%lld bytes of UTF-8 without control "
                   "characters",
                   param->name, simulation->name, (long long)param->min, (long long)param->max);
}

static ls_status set_string(const ls_simulation *simulation, ls_sim_config *config,
                            const ls_param *param, const char *text, ls_text *why)
{
    if (!is_string_of(param, text, strlen(text))) {
        return refuse_string(simulation, param, why);
    }
    char *field = config->strings[config->params[param - simulation->params]];
    ls_name_copy(field, LS_STRING_BYTES_MAX, text);
    return LS_OK;
}

ls_status ls_sim_config_set(const ls_simulation *simulation, ls_sim_config *config,
                            const char *assignment, ls_text *why)
{
    char shown[2 * LS_NAME_BYTES_MAX];
    const char *equals = strchr(assignment, '=');
    if (!equals) {
        ls_name_copy(shown, sizeof shown, assignment);
        return ls_fail(LS_BAD_ARGUMENT, why, "'%s' is not of the form name=value", shown);
    }
    size_t name_size = (size_t)(equals - assignment);
    const ls_param *param = ls_simulation_param(simulation, assignment, name_size);
    if (!param) {
        size_t room = name_size + 1 < sizeof shown ? name_size + 1 : sizeof shown;
        ls_name_copy(shown, room, assignment);
        return refuse_name(simulation, shown, why);
    }
    if (param->kind == LS_PARAM_FILE) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "parameter '%s' of '%s' is a file, which is not read here", param->name,
                       simulation->name);
    }
    return param->kind == LS_PARAM_STRING ? set_string(simulation, config, param, equals + 1, why)
                                          : set_number(simulation, config, param, equals + 1, why);
}

static ls_status check_number(const ls_simulation *simulation, const ls_param *param, int64_t value,
                              ls_text *why)
{
    ls_text shown;
    if (is_within(value, param->min, param->max)) {
        return LS_OK;
    }
    ls_text_set(&shown, "%lld", (long long)value);
    return refuse_value(simulation, param, "", shown.bytes, why);
}

/* Up to a NUL that may be missing. */
static size_t bytes_of(const char text[LS_STRING_BYTES_MAX])
{
    const char *end = memchr(text, '\0', LS_STRING_BYTES_MAX);
    return end ? (size_t)(end - text) : LS_STRING_BYTES_MAX;
}

static ls_status check_string(const ls_simulation *simulation, const ls_param *param,
                              const char *text, ls_text *why)
{
    size_t bytes = bytes_of(text);
    return is_string_of(param, text, bytes) ? LS_OK : refuse_string(simulation, param, why);
}

static ls_status check_file(const ls_simulation *simulation, const ls_param *param,
                            const ls_sim_file *file, ls_text *why)
{
    if (file->size == 0 && param->min > 0) {
        return ls_fail(LS_BAD_ARGUMENT, why, "'%s' needs a file: --param %s=PATH (%s)",
                       simulation->name, param->name, param->help);
    }
    if (file->size > (uint64_t)param->max || file->size < (uint64_t)param->min) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "parameter '%s' of '%s' takes a file of %lld..%lld bytes, not %llu",
                       param->name, simulation->name, (long long)param->min, (long long)param->max,
                       (unsigned long long)file->size);
    }
    if (file->size > 0 && !file->bytes) {
        return ls_fail(LS_NOT_FOUND, why,
                       "the file '%s' (digest %016llx, %llu bytes) is needed: --param %s=PATH",
                       param->name, (unsigned long long)file->digest,
                       (unsigned long long)file->size, param->name);
    }
    return LS_OK;
}

/* Numbers may come from anywhere: a place is looked at before it is used. */
static ls_status check_params(const ls_simulation *simulation, const ls_sim_config *config,
                              ls_text *why)
{
    uint32_t strings = 0;
    uint32_t files = 0;
    size_t bytes = 0;
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < config->param_count; i++) {
        const ls_param *param = &simulation->params[i];
        bool is_number = param->kind == LS_PARAM_INTEGER;
        bool is_string = param->kind == LS_PARAM_STRING;
        uint32_t place = is_number ? 0 : is_string ? strings++ : files++;
        if (is_number) {
            status = check_number(simulation, param, config->params[i], why);
        } else if (config->params[i] != place) {
            status = ls_fail(LS_BAD_ARGUMENT, why, "parameter '%s' of '%s' is in another place",
                             param->name, simulation->name);
        } else if (is_string) {
            bytes += bytes_of(config->strings[place]);
            status = check_string(simulation, param, config->strings[place], why);
        } else {
            status = check_file(simulation, param, &config->files[place], why);
        }
    }
    if (status == LS_OK && (config->string_count != strings || config->file_count != files)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "'%s' has %u strings and %u files, not %u and %u",
                       simulation->name, strings, files, config->string_count, config->file_count);
    }
    if (status == LS_OK && bytes > LS_STRINGS_BYTES_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the strings of '%s' take %zu bytes together; %u fit",
                       simulation->name, bytes, LS_STRINGS_BYTES_MAX);
    }
    return status;
}

static ls_status check_ranges(const ls_simulation *simulation, const ls_sim_config *config,
                              ls_text *why)
{
    if (!is_within(config->tick_rate_hz, LS_TICK_RATE_MIN_HZ, LS_TICK_RATE_MAX_HZ)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the tick rate takes %u..%u Hz, not %u",
                       LS_TICK_RATE_MIN_HZ, LS_TICK_RATE_MAX_HZ, config->tick_rate_hz);
    }
    if (!is_rate(config->tick_rate, config->tick_rate_hz)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "the tick rate %u/%u is no fraction in lowest terms whose nearest whole "
                       "number is %u",
                       config->tick_rate.numerator, config->tick_rate.denominator,
                       config->tick_rate_hz);
    }
    if (!is_within(config->players, 1, simulation->players_max)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "'%s' takes 1..%u players, not %u", simulation->name,
                       simulation->players_max, config->players);
    }
    if (config->param_count != simulation->param_count) {
        return ls_fail(LS_BAD_ARGUMENT, why, "'%s' has %u parameters, not %u", simulation->name,
                       simulation->param_count, config->param_count);
    }
    return check_params(simulation, config, why);
}

ls_status ls_sim_config_check(const ls_simulation *simulation, const ls_sim_config *config,
                              ls_text *why)
{
    ls_status status = check_ranges(simulation, config, why);
    if (status != LS_OK) {
        return status;
    }
    if (!simulation->check) {
        return LS_OK;
    }
    ls_text said = {""};
    status = simulation->check(config, &said);
    if (status != LS_OK) {
        ls_text_set(why, "'%s' refuses its configuration: %s", simulation->name,
                    said.bytes[0] != '\0' ? said.bytes : ls_status_text(status));
    }
    return status;
}

static bool are_files_equal(const ls_sim_config *a, const ls_sim_config *b)
{
    for (uint32_t i = 0; i < a->file_count; i++) {
        if (a->files[i].size != b->files[i].size || a->files[i].digest != b->files[i].digest) {
            return false;
        }
    }
    return true;
}

bool ls_sim_config_is_equal(const ls_sim_config *a, const ls_sim_config *b)
{
    bool is_equal = a->seed == b->seed && a->tick_rate_hz == b->tick_rate_hz &&
                    a->tick_rate.numerator == b->tick_rate.numerator &&
                    a->tick_rate.denominator == b->tick_rate.denominator &&
                    a->players == b->players && a->param_count == b->param_count &&
                    a->string_count == b->string_count && a->file_count == b->file_count &&
                    memcmp(a->params, b->params, a->param_count * sizeof a->params[0]) == 0;
    for (uint32_t i = 0; is_equal && i < a->string_count; i++) {
        is_equal = strcmp(a->strings[i], b->strings[i]) == 0;
    }
    return is_equal && are_files_equal(a, b);
}
