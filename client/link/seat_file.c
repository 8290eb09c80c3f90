#include "lockstep/client/link/seat_file.h"

#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/system/private_file.h"

#include <stdio.h>
#include <string.h>

enum {
    MAGIC_BYTES = 16,
    SERVER_AT = MAGIC_BYTES, /* the hash of its name */
    MATCH_AT = SERVER_AT + 8,
    SECRET_AT = MATCH_AT + 8,
    FILE_BYTES = SECRET_AT + LS_SECRET_BYTES,
};

static const uint8_t magic[MAGIC_BYTES] = "lockstep seat 1";

static uint64_t name_of(const char *server)
{
    return ls_hash_bytes(server, strlen(server), 0);
}

ls_status ls_seat_file_read(const char *path, const char *server, ls_session_seat *seat,
                            ls_text *why)
{
    uint8_t bytes[FILE_BYTES];
    size_t size = 0;
    if (!path) {
        return LS_NOT_FOUND;
    }
    ls_status status = ls_private_file_read(path, bytes, sizeof bytes, &size, why);
    if (status != LS_OK) {
        return status;
    }
    if (size != sizeof bytes || memcmp(bytes, magic, sizeof magic) != 0) {
        return ls_fail(LS_IO, why, "%s remembers no seat: name another file", path);
    }
    if (ls_load_u64(bytes + SERVER_AT) != name_of(server)) {
        return ls_fail(LS_NOT_FOUND, why, "%s is of another server", path);
    }
    seat->match_id = ls_load_u64(bytes + MATCH_AT);
    memcpy(seat->secret, bytes + SECRET_AT, sizeof seat->secret);
    return LS_OK;
}

ls_status ls_seat_file_write(const char *path, const char *server, const ls_session_seat *seat,
                             ls_text *why)
{
    uint8_t bytes[FILE_BYTES];
    memcpy(bytes, magic, sizeof magic);
    ls_store_u64(bytes + SERVER_AT, name_of(server));
    ls_store_u64(bytes + MATCH_AT, seat->match_id);
    memcpy(bytes + SECRET_AT, seat->secret, sizeof seat->secret);
    return ls_private_file_replace(path, "seat", bytes, sizeof bytes, why);
}

void ls_seat_file_remove(const char *path)
{
    remove(path);
}

/* After any other end another attempt, maybe with another build, may get the seat. */
static bool is_seat_gone(ls_status status)
{
    return status == LS_OK || status == LS_ALREADY_OVER || status == LS_NOT_FOUND ||
           status == LS_KICKED || status == LS_DESYNCED;
}

void ls_seat_file_receive_event(const char *path, const char *server, const ls_session *session,
                                const ls_session_event *event, const ls_log *log)
{
    ls_text why = {{0}};
    if (!path) {
        return;
    }
    if (event->kind == LS_SESSION_EVENT_OVER && is_seat_gone(event->status)) {
        ls_seat_file_remove(path);
    }
    if (event->kind != LS_SESSION_EVENT_SEATED && event->kind != LS_SESSION_EVENT_SECRET) {
        return;
    }
    const ls_offer *offer = ls_session_offer(session);
    if (offer->is_spectator) {
        return;
    }
    ls_session_seat seat = {.match_id = offer->match_id};
    memcpy(seat.secret, offer->secret, sizeof seat.secret);
    if (ls_seat_file_write(path, server, &seat, &why) != LS_OK) {
        ls_log_line(log, LS_LOG_WARNING, "%s", why.bytes);
    }
}
