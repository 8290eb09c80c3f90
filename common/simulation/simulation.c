#include "lockstep/common/simulation/simulation.h"

#include <string.h>

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
    return LS_OK;
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
    if (!is_within(param->default_value, param->min, param->max)) {
        return "has a default outside min..max";
    }
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(simulation->params[i].name, param->name) == 0) {
            return "has the name of an earlier one";
        }
    }
    return NULL;
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
    return LS_OK;
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
    return NULL;
}

ls_status ls_simulation_check(const ls_simulation *simulation, ls_text *why)
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
    if (!is_name(simulation->name)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "the simulation has no name of 1..63 bytes of a-z 0-9 - _");
    }
    if (!simulation->summary) {
        return ls_fail(LS_BAD_ARGUMENT, why, "simulation '%s': summary is NULL", simulation->name);
    }
    ls_status status = check_numbers(simulation, why);
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
        .players = simulation->default_players,
        .param_count = simulation->param_count,
    };
    for (uint32_t i = 0; i < simulation->param_count; i++) {
        config.params[i] = simulation->params[i].default_value;
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

static const ls_param *find_param(const ls_simulation *simulation, const char *name,
                                  size_t name_size)
{
    for (uint32_t i = 0; i < simulation->param_count; i++) {
        const ls_param *param = &simulation->params[i];
        if (strlen(param->name) == name_size && memcmp(param->name, name, name_size) == 0) {
            return param;
        }
    }
    return NULL;
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
    const ls_param *param = find_param(simulation, assignment, name_size);
    if (!param) {
        size_t room = name_size + 1 < sizeof shown ? name_size + 1 : sizeof shown;
        ls_name_copy(shown, room, assignment);
        return refuse_name(simulation, shown, why);
    }
    ls_name_copy(shown, sizeof shown, equals + 1);
    int64_t value = 0;
    number_kind kind = parse_int64(equals + 1, &value);
    if (kind == NUMBER_NONE) {
        return refuse_value(simulation, param, "a whole number ", shown[0] ? shown : "nothing",
                            why);
    }
    if (kind == NUMBER_TOO_BIG || !is_within(value, param->min, param->max)) {
        return refuse_value(simulation, param, "", shown, why);
    }
    config->params[param - simulation->params] = value;
    return LS_OK;
}

static ls_status check_ranges(const ls_simulation *simulation, const ls_sim_config *config,
                              ls_text *why)
{
    if (!is_within(config->tick_rate_hz, LS_TICK_RATE_MIN_HZ, LS_TICK_RATE_MAX_HZ)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the tick rate takes %u..%u Hz, not %u",
                       LS_TICK_RATE_MIN_HZ, LS_TICK_RATE_MAX_HZ, config->tick_rate_hz);
    }
    if (!is_within(config->players, 1, simulation->players_max)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "'%s' takes 1..%u players, not %u", simulation->name,
                       simulation->players_max, config->players);
    }
    if (config->param_count != simulation->param_count) {
        return ls_fail(LS_BAD_ARGUMENT, why, "'%s' has %u parameters, not %u", simulation->name,
                       simulation->param_count, config->param_count);
    }
    for (uint32_t i = 0; i < config->param_count; i++) {
        const ls_param *param = &simulation->params[i];
        if (!is_within(config->params[i], param->min, param->max)) {
            ls_text value;
            ls_text_set(&value, "%lld", (long long)config->params[i]);
            return refuse_value(simulation, param, "", value.bytes, why);
        }
    }
    return LS_OK;
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
