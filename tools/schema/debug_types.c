#define _POSIX_C_SOURCE 200809L
#include "lockstep/tools/schema/debug_types.h"

#include "lockstep/common/maths/stable_sort.h"
#include "lockstep/common/system/file.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENUM_BYTES = 4, /* unless a flag or the code says otherwise */
    DEPTH_MAX = 64, /* of structs in structs, typedefs of typedefs, scopes in scopes */
    NAME_BYTES_MAX = 256,
    TYPES_MAX = 100000, /* of one struct: broken information may name itself without end */
    FIRST_CAPACITY = 64,
};

/* Everything that is handed out lives until close. */
typedef struct block {
    struct block *next;
    max_align_t bytes[];
} block;

typedef struct named_struct {
    const char *name;
    size_t bytes;
    bool is_typedef;
    Dwarf_Die die;
} named_struct;

struct schema_debug_file {
    ls_mapped_file bytes;
    Elf *elf;
    Dwarf *dwarf;
    block *blocks;
    named_struct *structs;    /* by name, typedefs before tags */
    schema_debug_name *names; /* each once */
    uint32_t struct_count, struct_capacity, name_count;
};

/* ---- near names ---- */

#define SCHEMA_NEAR_NAMES_MAX 3u

/* The best three of those that somebody may have meant by a name that does not exist: they contain
 * it or differ from it by a few letters. */
typedef struct schema_near_names {
    const char *wanted; /* borrowed, like the names */
    const char *names[SCHEMA_NEAR_NAMES_MAX];
    uint32_t distances[SCHEMA_NEAR_NAMES_MAX];
    uint32_t count;
} schema_near_names;

enum {
    LETTERS_MAX = 64, /* longer names are compared by their starts */
};

/* Levenshtein: letters to change, add or take away. */
static uint32_t letters_apart(const char *a, const char *b)
{
    uint32_t row[LETTERS_MAX + 1];
    size_t a_bytes = strnlen(a, LETTERS_MAX), b_bytes = strnlen(b, LETTERS_MAX);
    for (size_t j = 0; j <= b_bytes; j++) {
        row[j] = (uint32_t)j;
    }
    for (size_t i = 1; i <= a_bytes; i++) {
        uint32_t diagonal = row[0];
        row[0] = (uint32_t)i;
        for (size_t j = 1; j <= b_bytes; j++) {
            uint32_t changed = diagonal + (a[i - 1] != b[j - 1]);
            uint32_t shorter = LS_MIN(row[j], row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = LS_MIN(changed, shorter);
        }
    }
    return row[b_bytes];
}

static schema_near_names schema_near_names_make(const char *wanted)
{
    return (schema_near_names){.wanted = wanted};
}

static void schema_near_names_offer(schema_near_names *near, const char *name)
{
    uint32_t distance = letters_apart(near->wanted, name);
    size_t third = strlen(near->wanted) / 3;
    bool is_near = distance <= (LS_MAX(third, 2)) || strstr(name, near->wanted) != NULL;
    uint32_t place = near->count;
    while (place > 0 && near->distances[place - 1] > distance) {
        place--;
    }
    if (!is_near || place == SCHEMA_NEAR_NAMES_MAX) {
        return;
    }
    near->count += near->count < SCHEMA_NEAR_NAMES_MAX;
    for (uint32_t i = near->count - 1; i > place; i--) {
        near->names[i] = near->names[i - 1];
        near->distances[i] = near->distances[i - 1];
    }
    near->names[place] = name;
    near->distances[place] = distance;
}

/* Adds "; did you mean a, b or c?" when there are any. */
static void schema_near_names_say(const schema_near_names *near, ls_text *why)
{
    for (uint32_t i = 0; i < near->count; i++) {
        const char *before = i == 0 ? "; did you mean " : i + 1 < near->count ? ", " : " or ";
        ls_text_add(why, "%s%s", before, near->names[i]);
    }
    ls_text_add(why, near->count > 0 ? "?" : "");
}

/* ---- memory ---- */

static void *allocate(schema_debug_file *file, size_t bytes)
{
    block *memory = calloc(1, sizeof *memory + bytes);
    if (memory == NULL) {
        return NULL;
    }
    memory->next = file->blocks;
    file->blocks = memory;
    return memory->bytes;
}

/* NULL when memory is out. */
static const char *keep(schema_debug_file *file, const char *before, const char *text)
{
    size_t before_bytes = strlen(before), text_bytes = strlen(text);
    char *copy = allocate(file, before_bytes + text_bytes + 1);
    if (copy != NULL) {
        memcpy(copy, before, before_bytes);
        memcpy(copy + before_bytes, text, text_bytes);
    }
    return copy;
}

/* ---- what debug entries say ---- */

static bool unsigned_of(Dwarf_Die *die, unsigned int name, uint64_t *out)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (dwarf_attr_integrate(die, name, &attribute) == NULL ||
        dwarf_formudata(&attribute, &value) != 0) {
        return false;
    }
    *out = value;
    return true;
}

static bool has(Dwarf_Die *die, unsigned int name)
{
    return dwarf_hasattr_integrate(die, name) != 0;
}

static bool type_of(Dwarf_Die *die, Dwarf_Die *out)
{
    Dwarf_Attribute attribute;
    return dwarf_attr_integrate(die, DW_AT_type, &attribute) != NULL &&
           dwarf_formref_die(&attribute, out) != NULL;
}

static const char *name_of(Dwarf_Die *die)
{
    const char *name = dwarf_diename(die);
    return name == NULL ? "" : name;
}

static bool is_struct_tag(int tag)
{
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type;
}

static bool is_written_in_c(Dwarf_Die *die)
{
    Dwarf_Die unit;
    int language = dwarf_diecu(die, &unit, NULL, NULL) == NULL ? -1 : dwarf_srclang(&unit);
    return language == DW_LANG_C89 || language == DW_LANG_C || language == DW_LANG_C99 ||
           language == DW_LANG_C11;
}

/* ---- from debug entries to types ---- */

typedef struct reader {
    schema_debug_file *file;
    uint32_t depth, type_count;
    ls_status status; /* of the first failure */
} reader;

/* The names and qualifiers that the typedefs, const and volatile round a type gave. */
typedef struct wrapping {
    const char *spelling; /* the outermost typedef's name */
    bool is_fixed, is_angle;
    bool has_known_size; /* int64_t and the like */
    bool is_wide;        /* wchar_t of C */
} wrapping;

static const schema_debug_type *read_type(reader *r, Dwarf_Die *die);

static bool fails(reader *r, ls_status status)
{
    if (r->status == LS_OK) {
        r->status = status;
    }
    return false;
}

static bool is_sized_name(const char *name)
{
    static const char *const names[] = {"int8_t",  "int16_t",  "int32_t",  "int64_t",
                                        "uint8_t", "uint16_t", "uint32_t", "uint64_t"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_wrapper(int tag)
{
    return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
           tag == DW_TAG_atomic_type;
}

/* Takes the wrappers off `die`; false for one that wraps nothing. */
static bool unwrap(Dwarf_Die *die, wrapping *out)
{
    *out = (wrapping){.spelling = ""};
    for (uint32_t depth = 0; is_wrapper(dwarf_tag(die)); depth++) {
        if (dwarf_tag(die) == DW_TAG_typedef) {
            const char *name = name_of(die);
            out->spelling = out->spelling[0] == '\0' ? name : out->spelling;
            out->is_fixed |= strcmp(name, "ls_fixed") == 0;
            out->is_angle |= strcmp(name, "ls_angle") == 0;
            out->has_known_size |= is_sized_name(name);
            out->is_wide |= strcmp(name, "wchar_t") == 0;
        }
        Dwarf_Die inner;
        if (depth > DEPTH_MAX || !type_of(die, &inner)) {
            return false;
        }
        *die = inner;
    }
    return true;
}

/* LS_FIELD_TYPE_COUNT when there is none of that size. */
static ls_field_type integer_field(size_t bytes, bool is_signed)
{
    switch (bytes) {
    case 1:
        return is_signed ? LS_FIELD_I8 : LS_FIELD_U8;
    case 2:
        return is_signed ? LS_FIELD_I16 : LS_FIELD_U16;
    case 4:
        return is_signed ? LS_FIELD_I32 : LS_FIELD_U32;
    case 8:
        return is_signed ? LS_FIELD_I64 : LS_FIELD_U64;
    default:
        return LS_FIELD_TYPE_COUNT;
    }
}

static ls_field_type number_field(Dwarf_Die *die, size_t bytes)
{
    uint64_t encoding = 0;
    unsigned_of(die, DW_AT_encoding, &encoding);
    switch (encoding) {
    case DW_ATE_boolean:
    case DW_ATE_unsigned:
    case DW_ATE_unsigned_char:
    case DW_ATE_UTF:
        return integer_field(bytes, false);
    case DW_ATE_signed:
        return integer_field(bytes, true);
    case DW_ATE_signed_char: /* a plain char has a sign on some machines only */
        return integer_field(bytes, strcmp(name_of(die), "char") != 0);
    case DW_ATE_float:
        return bytes == 4 ? LS_FIELD_F32 : bytes == 8 ? LS_FIELD_F64 : LS_FIELD_TYPE_COUNT;
    default:
        return LS_FIELD_TYPE_COUNT;
    }
}

/* Compilers say it by an encoding, by the integer behind it, or by a negative value. */
static ls_field_type enum_field(Dwarf_Die *die, size_t bytes)
{
    uint64_t encoding = 0;
    Dwarf_Die behind;
    wrapping unused;
    if (unsigned_of(die, DW_AT_encoding, &encoding)) {
        return integer_field(bytes, encoding == DW_ATE_signed || encoding == DW_ATE_signed_char);
    }
    if (type_of(die, &behind) && unwrap(&behind, &unused)) {
        return number_field(&behind, bytes);
    }
    Dwarf_Die value;
    bool is_signed = false;
    for (int more = dwarf_child(die, &value); more == 0; more = dwarf_siblingof(&value, &value)) {
        Dwarf_Attribute attribute;
        Dwarf_Sword number = 0;
        if (dwarf_attr(&value, DW_AT_const_value, &attribute) != NULL &&
            dwarf_whatform(&attribute) == DW_FORM_sdata &&
            dwarf_formsdata(&attribute, &number) == 0) {
            is_signed |= number < 0;
        }
    }
    return integer_field(bytes, is_signed);
}

/* ---- types that mean other values elsewhere ---- */

static const schema_debug_doubt machine_sized = {
    "not on every machine", "take a type of a known size, such as int64_t or double", true};
static const schema_debug_doubt open_enum = {"not with every compiler's flags (-fshort-enums)",
                                             "take an integer of a known size", true};
static const schema_debug_doubt letter = {"with a sign on some machines alone",
                                          "take int8_t or uint8_t", false};
const schema_debug_doubt schema_debug_bit_field = {"compilers differ in where they put its bits",
                                                   "use a whole integer and masks", false};
const schema_debug_doubt schema_debug_address = {
    "a state has none, since addresses differ from run to run", "keep an index", false};

static bool is_machine_sized(const char *name, const wrapping *around)
{
    bool is_long = strncmp(name, "long", 4) == 0 && strncmp(name, "long long", 9) != 0;
    bool is_other = strcmp(name, "wchar_t") == 0 || strcmp(name, "usize") == 0 ||
                    strcmp(name, "isize") == 0 || around->is_wide;
    return !around->has_known_size && (is_long || is_other);
}

const schema_debug_doubt *schema_debug_doubt_of(const schema_debug_member *member)
{
    const schema_debug_type *type = member->type;
    bool is_array = type->kind == SCHEMA_DEBUG_ARRAY;
    while (type->kind == SCHEMA_DEBUG_ARRAY) {
        type = type->element;
    }
    return member->is_bit_field                 ? &schema_debug_bit_field
           : type->kind == SCHEMA_DEBUG_POINTER ? &schema_debug_address
           : is_array && type->is_letter        ? NULL
                                                : type->doubt;
}

static void read_scalar(Dwarf_Die *die, const wrapping *around, schema_debug_type *out)
{
    bool is_enum = dwarf_tag(die) == DW_TAG_enumeration_type;
    const char *name = name_of(die);
    out->field = is_enum ? enum_field(die, out->bytes) : number_field(die, out->bytes);
    out->kind = out->field == LS_FIELD_TYPE_COUNT ? SCHEMA_DEBUG_OTHER : SCHEMA_DEBUG_SCALAR;
    out->is_byte = out->field == LS_FIELD_U8 || out->field == LS_FIELD_I8;
    /* In C++ the code can say how wide an enum is, and nothing here says that it did. */
    bool is_open = is_enum && out->bytes != ENUM_BYTES && is_written_in_c(die);
    out->is_letter = !is_enum && strcmp(name, "char") == 0;
    out->doubt = is_open                                      ? &open_enum
                 : !is_enum && is_machine_sized(name, around) ? &machine_sized
                 : out->is_letter                             ? &letter
                                                              : NULL;
    if (around->is_fixed && out->field == LS_FIELD_I64) {
        out->field = LS_FIELD_FIXED;
    } else if (around->is_angle && out->field == LS_FIELD_U32) {
        out->field = LS_FIELD_ANGLE;
    }
}

static void note_line(reader *r, Dwarf_Die *die, schema_debug_member *out)
{
    const char *file = dwarf_decl_file(die);
    const char *slash = file ? strrchr(file, '/') : NULL;
    out->file = keep(r->file, "", slash ? slash + 1 : file ? file : "");
    (void)dwarf_decl_line(die, &out->line);
}

static bool read_member(reader *r, Dwarf_Die *die, schema_debug_member *out)
{
    uint64_t offset = 0;
    Dwarf_Die type;
    unsigned_of(die, DW_AT_data_member_location, &offset); /* the first of a union has none */
    out->name = keep(r->file, "", name_of(die));
    out->offset = (size_t)offset;
    out->is_bit_field = has(die, DW_AT_bit_size);
    note_line(r, die, out);
    if (out->name == NULL || out->file == NULL) {
        return fails(r, LS_NO_MEMORY);
    }
    if (!type_of(die, &type)) {
        return fails(r, LS_MALFORMED);
    }
    out->type = read_type(r, &type);
    return out->type != NULL;
}

/* Static members of C++ are declared here and lie elsewhere. */
static bool is_member(Dwarf_Die *die)
{
    int tag = dwarf_tag(die);
    return (tag == DW_TAG_member && !has(die, DW_AT_external) && !has(die, DW_AT_declaration)) ||
           tag == DW_TAG_inheritance;
}

static bool read_members(reader *r, Dwarf_Die *die, schema_debug_type *out)
{
    Dwarf_Die child;
    uint32_t count = 0;
    for (int more = dwarf_child(die, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
        count += is_member(&child);
    }
    schema_debug_member *members = allocate(r->file, (count + 1) * sizeof *members);
    if (members == NULL) {
        return fails(r, LS_NO_MEMORY);
    }
    out->members = members;
    for (int more = dwarf_child(die, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
        if (is_member(&child) && !read_member(r, &child, &members[out->member_count++])) {
            return false;
        }
    }
    return true;
}

/* An array without a length gives 0. */
static uint32_t length_of(Dwarf_Die *range)
{
    uint64_t length = 0, last = 0;
    if (!unsigned_of(range, DW_AT_count, &length) && unsigned_of(range, DW_AT_upper_bound, &last)) {
        length = last + 1;
    }
    return length <= UINT32_MAX ? (uint32_t)length : 0;
}

/* The dimensions are neighbours below the array: the first one's element is an array of the rest.
 */
static bool read_dimensions(reader *r, Dwarf_Die *range, const schema_debug_type *element,
                            schema_debug_type *out)
{
    Dwarf_Die next = *range;
    int more = 0;
    do {
        more = dwarf_siblingof(&next, &next);
    } while (more == 0 && dwarf_tag(&next) != DW_TAG_subrange_type);
    out->kind = SCHEMA_DEBUG_ARRAY;
    out->spelling = "";
    out->length = length_of(range);
    out->element = element;
    if (more == 0) {
        schema_debug_type *rest = allocate(r->file, sizeof *rest);
        if (rest == NULL) {
            return fails(r, LS_NO_MEMORY);
        }
        out->element = rest;
        if (!read_dimensions(r, &next, element, rest)) {
            return false;
        }
    }
    out->bytes = out->element->bytes * out->length;
    return true;
}

static bool read_array(reader *r, Dwarf_Die *die, schema_debug_type *out)
{
    Dwarf_Die element, range;
    if (!type_of(die, &element) || dwarf_child(die, &range) != 0) {
        return fails(r, LS_MALFORMED);
    }
    const schema_debug_type *type = read_type(r, &element);
    return type != NULL && read_dimensions(r, &range, type, out);
}

/* "ship" in C++, with the namespaces round it; "struct ship" in C; "" without a name. */
static const char *spelling_of(reader *r, Dwarf_Die *die)
{
    char text[NAME_BYTES_MAX] = "";
    size_t bytes = 0;
    const char *name = name_of(die);
    bool is_c = is_written_in_c(die);
    if (name[0] == '\0' || is_c) {
        return keep(r->file, name[0] == '\0' || !is_struct_tag(dwarf_tag(die)) ? "" : "struct ",
                    name);
    }
    Dwarf_Die *scopes = NULL;
    int count = dwarf_getscopes_die(die, &scopes);
    for (int i = count - 1; i > 0; i--) {
        const char *scope = dwarf_tag(&scopes[i]) == DW_TAG_compile_unit ? "" : name_of(&scopes[i]);
        size_t scope_bytes = strlen(scope);
        if (scope_bytes > 0 && bytes + scope_bytes + 2 < sizeof text) {
            memcpy(text + bytes, scope, scope_bytes);
            memcpy(text + bytes + scope_bytes, "::", 3);
            bytes += scope_bytes + 2;
        }
    }
    free(scopes);
    return keep(r->file, text, name);
}

static bool fill_type(reader *r, Dwarf_Die *die, const wrapping *around, schema_debug_type *out)
{
    int bytes = dwarf_bytesize(die);
    out->bytes = bytes < 0 ? 0 : (size_t)bytes;
    out->spelling =
        around->spelling[0] != '\0' ? keep(r->file, "", around->spelling) : spelling_of(r, die);
    if (out->spelling == NULL) {
        return fails(r, LS_NO_MEMORY);
    }
    out->kind = SCHEMA_DEBUG_OTHER;
    switch (dwarf_tag(die)) {
    case DW_TAG_base_type:
    case DW_TAG_enumeration_type:
        read_scalar(die, around, out);
        return true;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
        out->kind = has(die, DW_AT_declaration) ? SCHEMA_DEBUG_OTHER : SCHEMA_DEBUG_STRUCT;
        return read_members(r, die, out);
    case DW_TAG_union_type:
        out->kind = SCHEMA_DEBUG_UNION;
        return true;
    case DW_TAG_array_type:
        return read_array(r, die, out);
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
    case DW_TAG_ptr_to_member_type:
        out->kind = SCHEMA_DEBUG_POINTER;
        return true;
    default:
        return true;
    }
}

static const schema_debug_type *read_type(reader *r, Dwarf_Die *die)
{
    Dwarf_Die inner = *die;
    wrapping around;
    schema_debug_type *type = allocate(r->file, sizeof *type);
    if (type == NULL) {
        fails(r, LS_NO_MEMORY);
        return NULL;
    }
    if (r->depth >= DEPTH_MAX || r->type_count++ >= TYPES_MAX || !unwrap(&inner, &around)) {
        fails(r, LS_MALFORMED);
        return NULL;
    }
    r->depth++;
    bool is_read = fill_type(r, &inner, &around, type);
    r->depth--;
    return is_read ? type : NULL;
}

/* ---- the structs of a file ---- */

static ls_status add_struct(schema_debug_file *file, Dwarf_Die *die, size_t bytes, bool is_typedef)
{
    if (file->struct_count == file->struct_capacity) {
        uint32_t capacity = file->struct_capacity * 2 + FIRST_CAPACITY;
        named_struct *more = realloc(file->structs, capacity * sizeof *more);
        if (more == NULL) {
            return LS_NO_MEMORY;
        }
        file->structs = more;
        file->struct_capacity = capacity;
    }
    reader r = {.file = file};
    const char *name = is_typedef ? name_of(die) : spelling_of(&r, die);
    if (name == NULL) {
        return LS_NO_MEMORY;
    }
    name += strncmp(name, "struct ", 7) == 0 ? 7 : 0;
    file->structs[file->struct_count++] = (named_struct){name, bytes, is_typedef, *die};
    return LS_OK;
}

/* A struct with a name, or a name for one. */
static ls_status scan_entry(schema_debug_file *file, Dwarf_Die *die)
{
    Dwarf_Die inner = *die;
    wrapping around;
    int tag = dwarf_tag(die);
    bool is_typedef = tag == DW_TAG_typedef;
    if ((!is_typedef && !is_struct_tag(tag)) || name_of(die)[0] == '\0' ||
        !unwrap(&inner, &around)) {
        return LS_OK;
    }
    if (!is_struct_tag(dwarf_tag(&inner)) || has(&inner, DW_AT_declaration)) {
        return LS_OK;
    }
    int bytes = dwarf_bytesize(&inner);
    return add_struct(file, die, bytes < 0 ? 0 : (size_t)bytes, is_typedef);
}

/* The entries below a unit, and below its namespaces and structs. */
static ls_status scan_below(schema_debug_file *file, Dwarf_Die *parent, uint32_t depth)
{
    Dwarf_Die die;
    ls_status status = LS_OK;
    int more = depth < DEPTH_MAX ? dwarf_child(parent, &die) : 1;
    for (; more == 0 && status == LS_OK; more = dwarf_siblingof(&die, &die)) {
        status = scan_entry(file, &die);
        if (status == LS_OK &&
            (dwarf_tag(&die) == DW_TAG_namespace || is_struct_tag(dwarf_tag(&die)))) {
            status = scan_below(file, &die, depth + 1);
        }
    }
    return status;
}

static ls_status scan_units(schema_debug_file *file)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    ls_status status = LS_OK;
    while (status == LS_OK &&
           dwarf_get_units(file->dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
        status = scan_below(file, &die, 0);
    }
    return status;
}

static int compare_structs(const void *a, const void *b, const void *context)
{
    const named_struct *left = a, *right = b;
    (void)context;
    int order = strcmp(left->name, right->name);
    return order != 0 ? order : right->is_typedef - left->is_typedef;
}

static ls_status sort_structs(schema_debug_file *file)
{
    named_struct *scratch = calloc(file->struct_count + 1u, sizeof *scratch);
    if (scratch == NULL) {
        return LS_NO_MEMORY;
    }
    ls_stable_sort(file->structs, file->struct_count, sizeof *scratch, scratch, compare_structs,
                   NULL);
    free(scratch);
    return LS_OK;
}

static ls_status list_names(schema_debug_file *file)
{
    file->names = allocate(file, (file->struct_count + 1) * sizeof *file->names);
    if (file->names == NULL) {
        return LS_NO_MEMORY;
    }
    for (uint32_t i = 0; i < file->struct_count; i++) {
        const named_struct *found = &file->structs[i];
        if (i == 0 || strcmp(found->name, file->structs[i - 1].name) != 0) {
            file->names[file->name_count++] = (schema_debug_name){found->name, found->bytes};
        }
    }
    return LS_OK;
}

/* Why the file cannot be used, as far as its kind goes. */
static ls_status check_kind(Elf *elf, const char *path, ls_text *why)
{
    GElf_Ehdr header;
    if (elf == NULL || gelf_getehdr(elf, &header) == NULL) {
        return ls_fail(LS_UNSUPPORTED, why, "%s is no ELF file: give a .so or a program", path);
    }
    if (header.e_type != ET_DYN && header.e_type != ET_EXEC) {
        return ls_fail(LS_UNSUPPORTED, why, "%s is not linked yet: give a .so or a program", path);
    }
    return LS_OK;
}

static ls_status open_dwarf(schema_debug_file *file, const char *path, ls_text *why)
{
    ls_status status = ls_mapped_file_open(path, &file->bytes, why);
    if (status == LS_OK) {
        elf_version(EV_CURRENT);
        file->elf = elf_memory((char *)(uintptr_t)file->bytes.bytes, file->bytes.size);
        status = check_kind(file->elf, path, why);
    }
    if (status != LS_OK) {
        return status;
    }
    file->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    if (file->dwarf == NULL ||
        dwarf_get_units(file->dwarf, NULL, &unit, NULL, NULL, &die, NULL) != 0) {
        return ls_fail(LS_UNSUPPORTED, why,
                       "%s has no debug information: compile it with -g, and do not strip it",
                       path);
    }
    return LS_OK;
}

ls_status schema_debug_open(const char *path, schema_debug_file **out, ls_text *why)
{
    schema_debug_file *file = calloc(1, sizeof *file);
    if (file == NULL) {
        return LS_NO_MEMORY;
    }
    ls_status status = open_dwarf(file, path, why);
    LS_THEN(status, scan_units(file));
    LS_THEN(status, sort_structs(file));
    LS_THEN(status, list_names(file));
    if (status != LS_OK) {
        schema_debug_close(file);
        return status;
    }
    *out = file;
    return LS_OK;
}

void schema_debug_close(schema_debug_file *file)
{
    if (file == NULL) {
        return;
    }
    dwarf_end(file->dwarf);
    elf_end(file->elf);
    ls_mapped_file_close(&file->bytes);
    while (file->blocks != NULL) {
        block *next = file->blocks->next;
        free(file->blocks);
        file->blocks = next;
    }
    free(file->structs);
    free(file);
}

const schema_debug_name *schema_debug_names(const schema_debug_file *file, uint32_t *count)
{
    *count = file->name_count;
    return file->names;
}

static ls_status say_unknown(const schema_debug_file *file, const char *name, ls_text *why)
{
    schema_near_names near = schema_near_names_make(name);
    for (uint32_t i = 0; i < file->name_count; i++) {
        schema_near_names_offer(&near, file->names[i].name);
    }
    ls_text_set(why, "there is no struct \"%s\" in the debug information", name);
    schema_near_names_say(&near, why);
    return LS_NOT_FOUND;
}

ls_status schema_debug_find(schema_debug_file *file, const char *name,
                            const schema_debug_type **out, ls_text *why)
{
    const named_struct *found = NULL;
    const char *bare = strncmp(name, "struct ", 7) == 0 ? name + 7 : name;
    for (uint32_t i = 0; i < file->struct_count; i++) {
        const named_struct *candidate = &file->structs[i];
        if (strcmp(candidate->name, bare) != 0 || (bare != name && candidate->is_typedef)) {
            continue;
        }
        if (found != NULL && found->bytes != candidate->bytes) {
            return ls_fail(LS_BAD_ARGUMENT, why,
                           "there are two structs \"%s\", of %zu and of %zu bytes: rename one",
                           name, found->bytes, candidate->bytes);
        }
        found = found == NULL ? candidate : found;
    }
    if (found == NULL) {
        return say_unknown(file, name, why);
    }
    reader r = {.file = file};
    Dwarf_Die die = found->die;
    const schema_debug_type *type = read_type(&r, &die);
    if (type == NULL) {
        ls_text_set(why, "the debug information of \"%s\" makes no sense", name);
        return r.status;
    }
    *out = type;
    return LS_OK;
}

/* ---- the structs of states ---- */

typedef struct state_search {
    schema_debug_file *file;
    const size_t *sizes;
    uint32_t size_count;
    schema_debug_given given;
    const schema_debug_type **found;
    uint32_t capacity, count;
} state_search;

/* Takes a pointer or reference off; false for what is neither. A pointer to void leads to
 * nothing, which is of no tag. */
static bool follow(Dwarf_Die *die)
{
    wrapping unused;
    Dwarf_Die target;
    if (!unwrap(die, &unused) ||
        (dwarf_tag(die) != DW_TAG_pointer_type && dwarf_tag(die) != DW_TAG_reference_type)) {
        return false;
    }
    *die = type_of(die, &target) ? target : (Dwarf_Die){0};
    return true;
}

static bool leads_nowhere(Dwarf_Die *die)
{
    wrapping unused;
    return die->addr == NULL || !unwrap(die, &unused) || strcmp(name_of(die), "c_void") == 0;
}

static bool takes_state(Dwarf_Die *function, schema_debug_given given)
{
    Dwarf_Die child, type;
    for (int more = dwarf_child(function, &child); more == 0;
         more = dwarf_siblingof(&child, &child)) {
        if (dwarf_tag(&child) == DW_TAG_formal_parameter && type_of(&child, &type) &&
            follow(&type) &&
            (leads_nowhere(&type) ? given == SCHEMA_DEBUG_GIVEN_AS_VOID
                                  : strcmp(name_of(&type), "ls_step") == 0)) {
            return true;
        }
    }
    return false;
}

/* The types of this library's own headers are no game's. A spelling may begin with "struct". */
static bool is_found_before(const state_search *search, const char *name)
{
    const char *tag = strncmp(name, "struct ", 7) == 0 ? name + 7 : name;
    bool is_before = strncmp(tag, "ls_", 3) == 0 || strncmp(tag, "lockstep_", 9) == 0;
    for (uint32_t i = 0; i < search->count && !is_before; i++) {
        is_before = strcmp(search->found[i]->spelling, name) == 0;
    }
    return is_before;
}

static void offer_state(state_search *search, Dwarf_Die *die)
{
    Dwarf_Die inner = *die;
    wrapping around;
    reader r = {.file = search->file};
    bool is_wanted = false;
    if (leads_nowhere(die) || !unwrap(&inner, &around) || !is_struct_tag(dwarf_tag(&inner))) {
        return;
    }
    int bytes = dwarf_bytesize(&inner);
    for (uint32_t i = 0; i < search->size_count && bytes > 0; i++) {
        is_wanted |= search->sizes[i] == (size_t)bytes;
    }
    const schema_debug_type *type =
        is_wanted && search->count < search->capacity ? read_type(&r, die) : NULL;
    if (type != NULL && !is_found_before(search, type->spelling)) {
        search->found[search->count++] = type;
    }
}

/* And those of its blocks. */
static void offer_variables(state_search *search, Dwarf_Die *scope, uint32_t depth)
{
    Dwarf_Die child, type;
    int more = depth < DEPTH_MAX ? dwarf_child(scope, &child) : 1;
    for (; more == 0; more = dwarf_siblingof(&child, &child)) {
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_lexical_block) {
            offer_variables(search, &child, depth + 1);
        } else if ((tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) &&
                   type_of(&child, &type) && follow(&type)) {
            offer_state(search, &type);
        }
    }
}

static void scan_functions(state_search *search, Dwarf_Die *parent, uint32_t depth)
{
    Dwarf_Die die;
    int more = depth < DEPTH_MAX ? dwarf_child(parent, &die) : 1;
    for (; more == 0; more = dwarf_siblingof(&die, &die)) {
        if (dwarf_tag(&die) == DW_TAG_subprogram && takes_state(&die, search->given)) {
            offer_variables(search, &die, 0);
        } else if (dwarf_tag(&die) == DW_TAG_namespace || is_struct_tag(dwarf_tag(&die))) {
            scan_functions(search, &die, depth + 1);
        }
    }
}

uint32_t schema_debug_states(schema_debug_file *file, const size_t *sizes, uint32_t size_count,
                             schema_debug_given given, const schema_debug_type **out,
                             uint32_t capacity)
{
    state_search search = {file, sizes, size_count, given, out, capacity, 0};
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    while (dwarf_get_units(file->dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
        scan_functions(&search, &die, 0);
    }
    return search.count;
}
