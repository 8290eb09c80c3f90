/* Fuzzes the saves of plug-ins. */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/simulation/sim_files.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/system/file.h"

#include "lockstep/tests/fuzz/fuzz_input.h"

#include <stdlib.h>
#include <string.h>

/* ==== what a hostile save may do to an instance of an engine ==== */

/* A number at which sizes turn over. */
static uint32_t fuzz_save_edge(uint8_t which)
{
    static const uint32_t edges[] = {0, 1, 2, 0x0a000000, INT32_MAX, 0x80000000u, UINT32_MAX};
    return edges[which % (sizeof edges / sizeof edges[0])];
}

/* So many ticks in which two players do nothing. */
static void fuzz_save_step(ls_sim_instance *instance, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const ls_slot_input slots[2] = {{0}};
        ls_tick_inputs inputs = {ls_sim_instance_tick(instance), 2, slots};
        ls_sim_instance_step(instance, &inputs);
    }
}

/* A state that was loaded steps, draws, and is saved and loaded as any other. */
static void fuzz_save_use(ls_sim_instance *instance)
{
    const ls_sim_config *config = ls_sim_instance_config(instance);
    static ls_draw_shape shapes[64];
    ls_draw_list list = {.shapes = shapes, .capacity = 64};
    const void *state = ls_sim_instance_view(instance);
    fuzz_save_step(instance, 2);
    ls_sim_instance_simulation(instance)->draw(config, state, state, LS_FIXED_HALF, &list);
    size_t size = ls_sim_instance_save_bytes(instance);
    uint8_t *save = malloc(size);
    uint64_t state_hash = ls_sim_instance_hash(instance);
    LS_ASSERT(save && ls_sim_instance_save(instance, save) == LS_OK);
    LS_ASSERT(ls_sim_instance_load(instance, save, size, 1) == LS_OK);
    LS_ASSERT(ls_sim_instance_hash(instance) == state_hash);
    free(save);
}

/* Loads a copy of the bytes, of its own size, so that a read past its end is found. A save that is
 * refused changes nothing. */
static void fuzz_save_load(ls_sim_instance *instance, const uint8_t *save, size_t size)
{
    uint64_t state_hash = ls_sim_instance_hash(instance);
    uint8_t *sent = malloc(size > 0 ? size : 1);
    LS_ASSERT(sent != NULL);
    memcpy(sent, save, size);
    if (ls_sim_instance_load(instance, sent, size, 1) == LS_OK) {
        fuzz_save_use(instance);
    } else {
        LS_ASSERT(ls_sim_instance_hash(instance) == state_hash);
    }
    free(sent);
}

/* ==== script ==== */

#ifdef LS_TEST_LUA

/* Fuzzes what a hostile snapshot can do to the lua plug-in: a save of a script's state is altered,
 * or made of arbitrary bytes, and loaded. It is refused and nothing has changed, or it is a state
 * that steps, draws, and is saved and loaded as any other.
 *
 *   u8 shape    bit 0: the rest is the content of a save; bits 1 to 5: steps before
 *   else        u8 kind, u16 offset and more of each change
 */

enum {
    HEAD_BYTES = 8 + 24, /* of the instance, and of an image without watches */
    SAVE_BYTES_MAX = 1 << 16,
    CHANGES_MAX = 16,
};

static const char script[] =
    "storage.a = {text = 'text', list = {1, 2.5, true, {}}, [0.5] = 'half', [false] = -1}\n"
    "storage.b, storage.me = storage.a.list, storage\n"
    "function step(t) local a, n = storage.a, 0\n"
    "  if type(a) == 'table' then for k, v in pairs(a) do n = n + #tostring(k) end\n"
    "    a[t % 9] = {t, 'x' .. t, storage.b} a.r = math.random(9) storage.n = n + #a end end\n"
    "function draw(on) on.text(1, 0, 0, 1, tostring(storage.n), 0xff) end\n";

static ls_sim_instance *open_script(void)
{
    static ls_loaded_simulation loaded;
    ls_sim_instance *instance = NULL;
    ls_text why = {{0}};
    if (!loaded.simulation) {
        LS_ASSERT(ls_simulation_load(LS_TEST_LUA, &loaded, &why) == LS_OK);
    }
    ls_sim_config config = ls_sim_config_default(loaded.simulation);
    size_t size = strlen(script);
    config.files[0] = (ls_sim_file){(const uint8_t *)script, size, ls_hash_bytes(script, size, 0)};
    LS_ASSERT(ls_sim_instance_create(loaded.simulation, &config, ls_allocator_heap(), &instance,
                                     &why) == LS_OK);
    return instance;
}

/* Returns the size that it has then. */
static size_t change(uint8_t *save, size_t size, fuzz_input *input)
{
    uint8_t kind = fuzz_take_u8(input);
    size_t offset = fuzz_take_u16(input) % size;
    uint8_t value = fuzz_take_u8(input);
    size_t left = size - offset;
    switch (kind % 5) {
    case 0:
        save[offset] = value;
        break;
    case 1:
        if (left >= 4) {
            ls_store_u32(save + offset, fuzz_save_edge(value));
        }
        break;
    case 2:
        memmove(save + offset, save + size - left, left / 2);
        memmove(save + offset, save + value % size, LS_MIN(left, size - value % size));
        break;
    case 3:
        return size - LS_MIN(left, value);
    default:
        ls_store_u64(save, value & 1u ? 1ull << (value >> 2) : size - 8 + value / 2u);
        return size;
    }
    return size;
}

static size_t alter(uint8_t *save, size_t size, fuzz_input *input)
{
    bool is_honest = true;
    for (uint32_t i = 0; i < CHANGES_MAX && input->size > 0 && size > 8; i++) {
        is_honest = input->bytes[0] % 5 != 4;
        size = change(save, size, input);
    }
    if (is_honest && size >= 8) {
        ls_store_u64(save, size - 8);
    }
    return size;
}

/* The content as it comes, behind a head that says the right sizes. */
static size_t replace(uint8_t *save, fuzz_input *input)
{
    size_t head = HEAD_BYTES + 8u * (fuzz_take_u8(input) % 8u);
    size_t size = LS_MIN(input->size, (size_t)SAVE_BYTES_MAX - head);
    memcpy(save + head, input->bytes, size);
    ls_store_u64(save, head - 8 + size);
    return head + size;
}

FUZZ_TARGET(script)
{
    fuzz_input input = {bytes, size};
    ls_sim_instance *instance = open_script();
    uint8_t *save = malloc(SAVE_BYTES_MAX);
    uint8_t shape = fuzz_take_u8(&input);
    fuzz_save_step(instance, shape >> 1 & 31u);
    size_t save_bytes = ls_sim_instance_save_bytes(instance);
    LS_ASSERT(save && save_bytes <= SAVE_BYTES_MAX &&
              ls_sim_instance_save(instance, save) == LS_OK);
    save_bytes = shape & 1u ? replace(save, &input) : alter(save, save_bytes, &input);
    fuzz_save_load(instance, save, save_bytes);
    free(save);
    ls_sim_instance_destroy(instance);
    return 0;
}

#endif

/* ==== libretro ==== */

#ifdef LS_TEST_LIBRETRO

/* Fuzzes what a hostile snapshot can do to the libretro plug-in: a save of a console is altered,
 * cut, lengthened or made of arbitrary bytes, and loaded into one whose core believes whatever it
 * is given. It is refused and nothing has changed, or it is a state that steps, draws, and is saved
 * and loaded as any other.
 *
 *   u8 shape    bit 0: the rest is the save, else changes of one; bits 1 to 3: steps before
 *   else        u8 kind, u16 offset and u8 value of each change
 */

enum {
    LIBRETRO_SAVE_BYTES_MAX = 1 << 16,
    LIBRETRO_CHANGES_MAX = 16,
};

static void add_file(ls_sim_files *files, const char *name, const char *path, ls_mapped_file *file)
{
    ls_text why = {{0}};
    LS_ASSERT(ls_mapped_file_open(path, file, &why) == LS_OK);
    LS_ASSERT(ls_sim_files_add(files, name, file->bytes, file->size, &why) == LS_OK);
}

/* The core and its content, which is the core once more: it looks at none. */
static ls_sim_instance *open_console(void)
{
    static ls_loaded_simulation loaded;
    static ls_mapped_file core, content;
    ls_sim_instance *instance = NULL;
    ls_sim_files files = {0};
    ls_text why = {{0}};
    LS_ASSERT(ls_simulation_load(LS_TEST_LIBRETRO, &loaded, &why) == LS_OK);
    ls_sim_config config = ls_sim_config_default(loaded.simulation);
    add_file(&files, "core", LS_TEST_TRUSTING_CORE, &core);
    add_file(&files, "content", LS_TEST_TRUSTING_CORE, &content);
    LS_ASSERT(ls_sim_files_decide(&files, loaded.simulation, &config, &why) == LS_OK);
    LS_ASSERT(ls_sim_instance_create(loaded.simulation, &config, ls_allocator_heap(), &instance,
                                     &why) == LS_OK);
    return instance;
}

/* Returns the size that it has then. */
static size_t libretro_change(uint8_t *save, size_t size, fuzz_input *input)
{
    uint8_t kind = fuzz_take_u8(input);
    size_t offset = fuzz_take_u16(input) % size;
    uint8_t value = fuzz_take_u8(input);
    size_t left = size - offset;
    switch (kind % 5u) {
    case 0:
        save[offset % 64 % size] = value; /* where sizes stand */
        break;
    case 1:
        save[offset] = value;
        break;
    case 2:
        if (left >= 4) {
            ls_store_u32(save + offset, fuzz_save_edge(value));
        }
        break;
    case 3:
        return size - LS_MIN(left, value);
    default:
        memset(save + size, value, value);
        return size + value;
    }
    return size;
}

static size_t libretro_alter(uint8_t *save, size_t size, fuzz_input *input)
{
    for (uint32_t i = 0; i < LIBRETRO_CHANGES_MAX && input->size > 0 && size > 0; i++) {
        size = libretro_change(save, size, input);
    }
    return size;
}

FUZZ_TARGET(libretro)
{
    /* To load a core takes a thousand times as long as the rest. */
    static ls_sim_instance *instance;
    static uint8_t save[LIBRETRO_SAVE_BYTES_MAX + 256 * LIBRETRO_CHANGES_MAX];
    fuzz_input input = {bytes, size};
    instance = instance ? instance : open_console();
    LS_ASSERT(ls_sim_instance_restart(instance) == LS_OK);
    uint8_t shape = fuzz_take_u8(&input);
    fuzz_save_step(instance, shape >> 1 & 7u);
    size_t save_bytes = ls_sim_instance_save_bytes(instance);
    LS_ASSERT(save_bytes <= LIBRETRO_SAVE_BYTES_MAX &&
              ls_sim_instance_save(instance, save) == LS_OK);
    if (shape & 1u) {
        save_bytes = LS_MIN(input.size, (size_t)LIBRETRO_SAVE_BYTES_MAX);
        memcpy(save, input.bytes, save_bytes);
    } else {
        save_bytes = libretro_alter(save, save_bytes, &input);
    }
    fuzz_save_load(instance, save, save_bytes);
    LS_ASSERT(ls_sim_instance_save_bytes(instance) <= LIBRETRO_SAVE_BYTES_MAX);
    return 0;
}

#endif
