/* Secret: keys and the proofs that are made from them: a client with the secret of a seat gets that
 * seat back. Deterministic but for ls_secret_key_random, which asks the system. */
#ifndef LOCKSTEP_COMMON_BASE_SECRET_H
#define LOCKSTEP_COMMON_BASE_SECRET_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"

#include <stdbool.h>
#include <stdint.h>

LS_C_BEGIN

#define LS_SECRET_KEY_BYTES 32u
#define LS_SECRET_BYTES 16u

typedef struct ls_secret_key {
    uint8_t bytes[LS_SECRET_KEY_BYTES];
} ls_secret_key;

/* IO when the system has no randomness to give. */
ls_status ls_secret_key_random(ls_secret_key *out);

/* A number for a new match, never 0, made from its key. */
uint64_t ls_secret_match_id(const ls_secret_key *key);

/* The first secret of a seat, which the `turn`-th player sits on: keyed BLAKE2b over le64(match_id)
 * le32(slot) le32(turn). */
void ls_secret_derive(const ls_secret_key *key, uint64_t match_id, uint32_t slot, uint32_t turn,
                      uint8_t out[LS_SECRET_BYTES]);

/* The secret with this number, from 0 on, of the seat with this first one: for each number above 0
 * keyed BLAKE2b over "lockstep return", `first` and le32(number). */
void ls_secret_renew(const ls_secret_key *key, const uint8_t first[LS_SECRET_BYTES],
                     uint32_t number, uint8_t out[LS_SECRET_BYTES]);

/* Proves that whoever has the key closed the ticks before `tick`, which have this chain:
 * PROTOCOL.md, Seals. */
uint32_t ls_secret_seal(const ls_secret_key *key, uint64_t match_id, uint32_t tick, uint64_t chain);

/* Takes as long whatever they differ in. */
bool ls_secret_is_equal(const uint8_t a[LS_SECRET_BYTES], const uint8_t b[LS_SECRET_BYTES]);

LS_C_END

#endif
