/* Hex: bytes as hexadecimal digits, two for each, and numbers. Called by whatever writes keys,
 * digests, inputs and hashes for people, or reads them again. */
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

/* Reads a number of 1 .. 16 small digits, in front of whatever follows. False, and `out` is as it
 * was, when the text has fewer. */
bool ls_hex_read_number(const char *text, uint32_t digit_count, uint64_t *out);

#endif
