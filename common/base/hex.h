/* Hex: bytes as hexadecimal digits, two for each. Called by whatever writes keys, digests and
 * inputs for people, or reads them again. */
#ifndef LOCKSTEP_COMMON_BASE_HEX_H
#define LOCKSTEP_COMMON_BASE_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 2 * `size` small digits and a NUL. */
void ls_hex_write(char *text, const uint8_t *bytes, size_t size);

/* Reads 2 * `size` characters, which are there, small or capital. False, with anything in `bytes`,
 * when one is no digit; it takes as long then, for what is read may be a secret. */
bool ls_hex_read(const char *text, uint8_t *bytes, size_t size);

#endif
