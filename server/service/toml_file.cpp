#include "lockstep/server/service/toml_file.h"

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <cstdio>
#include <new>
#include <string>

namespace {

struct walk {
    const ls_toml_reader *reader;
    ls_text *why;
    std::string table;
    bool is_listed;
};

uint32_t line_of(const toml::node &node)
{
    return node.source().begin.line;
}

ls_status give(const walk &at, ls_toml_type type, const std::string &group, const std::string &key,
               const std::string &text, const toml::node &node)
{
    const ls_toml_value value = {type,         at.table.c_str(), at.is_listed, group.c_str(),
                                 key.c_str(), text.c_str(),     line_of(node)};
    return at.reader->take(at.reader->user, &value, at.why);
}

std::string text_of(double number)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.15g", number);
    return text;
}

ls_status give_value(const walk &at, const std::string &group, const std::string &key,
                     const toml::node &node)
{
    if (const auto *text = node.as_string()) {
        return give(at, LS_TOML_TEXT, group, key, text->get(), node);
    }
    if (const auto *whole = node.as_integer()) {
        return give(at, LS_TOML_NUMBER, group, key, std::to_string(whole->get()), node);
    }
    if (const auto *number = node.as_floating_point()) {
        return give(at, LS_TOML_NUMBER, group, key, text_of(number->get()), node);
    }
    if (const auto *is_on = node.as_boolean()) {
        return give(at, LS_TOML_BOOL, group, key, is_on->get() ? "on" : "off", node);
    }
    return give(at, LS_TOML_OTHER, group, key, "", node);
}

ls_status walk_group(const walk &at, const std::string &group, const toml::table &table)
{
    ls_status status = LS_OK;
    for (auto entry = table.begin(); status == LS_OK && entry != table.end(); ++entry) {
        status = give_value(at, group, std::string(entry->first.str()), entry->second);
    }
    return status;
}

ls_status walk_table(const walk &at, const toml::table &table)
{
    ls_status status = give(at, LS_TOML_TABLE, "", "", "", table);
    for (auto entry = table.begin(); status == LS_OK && entry != table.end(); ++entry) {
        const std::string key(entry->first.str());
        const toml::table *inner = entry->second.as_table();
        status = inner ? walk_group(at, key, *inner) : give_value(at, "", key, entry->second);
    }
    return status;
}

ls_status walk_list(walk at, const toml::array &list)
{
    ls_status status = LS_OK;
    at.is_listed = true;
    for (auto entry = list.begin(); status == LS_OK && entry != list.end(); ++entry) {
        status = walk_table(at, *entry->as_table());
    }
    return status;
}

ls_status walk_file(walk at, const toml::table &file)
{
    ls_status status = LS_OK;
    for (auto entry = file.begin(); status == LS_OK && entry != file.end(); ++entry) {
        const std::string key(entry->first.str());
        const toml::array *list = entry->second.as_array();
        at.table = key;
        if (const toml::table *table = entry->second.as_table()) {
            status = walk_table(at, *table);
        } else if (list && list->is_array_of_tables()) {
            status = walk_list(at, *list);
        } else {
            at.table.clear();
            status = give_value(at, "", key, entry->second);
        }
    }
    return status;
}

ls_status read_all(const char *bytes, size_t size, const ls_toml_reader *reader, ls_text *why)
{
    toml::parse_result file = toml::parse(std::string_view(bytes, size));
    if (!file) {
        const toml::parse_error &error = file.error();
        const std::string text(error.description());
        return ls_fail(LS_BAD_ARGUMENT, why, "line %u: %s", (unsigned)error.source().begin.line,
                       text.c_str());
    }
    return walk_file(walk{reader, why, "", false}, file.table());
}

} // namespace

/* Memory that is out is the one thing that the standard library throws here. */
extern "C" ls_status ls_toml_file_read(const char *bytes, size_t size, const ls_toml_reader *reader,
                                       ls_text *why)
{
    try {
        return read_all(bytes, size, reader, why);
    } catch (const std::bad_alloc &) {
        return LS_NO_MEMORY;
    }
}
