/* Fuzzes what a hostile snapshot can do to the lua plug-in: a save of a script's state is altered,
 * or made of arbitrary bytes, and loaded. It is refused and nothing has changed, or it is a state
 * that steps, draws, and is saved and loaded as any other.
 *
 *   u8 shape    bit 0: the rest is the content of a save; bits 1 to 5: steps before
 *   else        u8 kind, u16 offset and more of each change
 */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/tests/fuzz/fuzz_input.h"
#include "lockstep/tests/fuzz/fuzz_save.h"

#include <string.h>

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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
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
