#include "lockstep/tools/synctest/noise.h"

#include <string.h>

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t *seed)
{
    uint64_t word = *seed += UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

uint64_t synctest_noise(bool is_moved, uint32_t variant, uint32_t tick, uint32_t place)
{
    uint64_t seed = (uint64_t)variant << 56 ^ (uint64_t)place << 32 ^ tick;
    return is_moved ? mix(&seed) | 1 : 0;
}

void synctest_noise_fill(void *bytes, size_t byte_count, uint64_t noise)
{
    uint8_t *at = bytes;
    if (!noise) {
        memset(bytes, 0, byte_count);
        return;
    }
    for (size_t left = byte_count; left >= sizeof noise; left -= sizeof noise) {
        uint64_t word = mix(&noise);
        memcpy(at, &word, sizeof word);
        at += sizeof word;
    }
    uint64_t last = mix(&noise);
    memcpy(at, &last, byte_count % sizeof last);
}
