/* Fuzzes what a hostile snapshot can do to the libretro plug-in: a save of a console is altered,
 * cut, lengthened or made of arbitrary bytes, and loaded into one whose core believes whatever it
 * is given. It is refused and nothing has changed, or it is a state that steps, draws, and is saved
 * and loaded as any other.
 *
 *   u8 shape    bit 0: the rest is the save, else changes of one; bits 1 to 3: steps before
 *   else        u8 kind, u16 offset and u8 value of each change
 */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/simulation/sim_files.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/system/file.h"
#include "lockstep/tests/fuzz/fuzz_input.h"
#include "lockstep/tests/fuzz/fuzz_save.h"

#include <string.h>

enum {
    SAVE_BYTES_MAX = 1 << 16,
    CHANGES_MAX = 16,
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
static size_t change(uint8_t *save, size_t size, fuzz_input *input)
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

static size_t alter(uint8_t *save, size_t size, fuzz_input *input)
{
    for (uint32_t i = 0; i < CHANGES_MAX && input->size > 0 && size > 0; i++) {
        size = change(save, size, input);
    }
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    /* To load a core takes a thousand times as long as the rest. */
    static ls_sim_instance *instance;
    static uint8_t save[SAVE_BYTES_MAX + 256 * CHANGES_MAX];
    fuzz_input input = {bytes, size};
    instance = instance ? instance : open_console();
    LS_ASSERT(ls_sim_instance_restart(instance) == LS_OK);
    uint8_t shape = fuzz_take_u8(&input);
    fuzz_save_step(instance, shape >> 1 & 7u);
    size_t save_bytes = ls_sim_instance_save_bytes(instance);
    LS_ASSERT(save_bytes <= SAVE_BYTES_MAX && ls_sim_instance_save(instance, save) == LS_OK);
    if (shape & 1u) {
        save_bytes = LS_MIN(input.size, (size_t)SAVE_BYTES_MAX);
        memcpy(save, input.bytes, save_bytes);
    } else {
        save_bytes = alter(save, save_bytes, &input);
    }
    fuzz_save_load(instance, save, save_bytes);
    LS_ASSERT(ls_sim_instance_save_bytes(instance) <= SAVE_BYTES_MAX);
    return 0;
}
