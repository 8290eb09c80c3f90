/* Byte io: little-endian loads and stores of single numbers, by hand, in one place. The callers
 * check lengths first: nothing here looks past the bytes that its name promises. A struct is
 * never cast onto bytes. Used by every format we own: wire, journal, canonical hashing. */
#ifndef LOCKSTEP_COMMON_BASE_BYTE_IO_H
#define LOCKSTEP_COMMON_BASE_BYTE_IO_H

#include <stdint.h>

static inline void ls_store_u16(uint8_t *bytes, uint16_t value)
{
    bytes[0] = (uint8_t)value;
    bytes[1] = (uint8_t)(value >> 8);
}

static inline void ls_store_u32(uint8_t *bytes, uint32_t value)
{
    ls_store_u16(bytes, (uint16_t)value);
    ls_store_u16(bytes + 2, (uint16_t)(value >> 16));
}

static inline void ls_store_u64(uint8_t *bytes, uint64_t value)
{
    ls_store_u32(bytes, (uint32_t)value);
    ls_store_u32(bytes + 4, (uint32_t)(value >> 32));
}

static inline uint16_t ls_load_u16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | (bytes[1] << 8));
}

static inline uint32_t ls_load_u32(const uint8_t *bytes)
{
    return (uint32_t)ls_load_u16(bytes) | ((uint32_t)ls_load_u16(bytes + 2) << 16);
}

static inline uint64_t ls_load_u64(const uint8_t *bytes)
{
    return (uint64_t)ls_load_u32(bytes) | ((uint64_t)ls_load_u32(bytes + 4) << 32);
}

#endif
