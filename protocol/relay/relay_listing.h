/* Relay listing: the entry by which a server is found in the directory of its relay, and the bytes
 * of LIST and GAMES, which have one or many of them, as docs/directory.md has them. Pure. Called by
 * relay_server, the directory and, for the search below, finder. */
#ifndef LOCKSTEP_PROTOCOL_RELAY_RELAY_LISTING_H
#define LOCKSTEP_PROTOCOL_RELAY_RELAY_LISTING_H

#include "lockstep/common/base/limits.h"
#include "lockstep/protocol/relay/relay_packet.h"

#define LS_RELAY_WORD_BYTES_MAX 16u  /* with its final NUL: a region, a program's version */
#define LS_RELAY_PAGE_BYTES_MAX 256u /* with its final NUL */
#define LS_RELAY_LIST_BYTES_MAX 449u
#define LS_RELAY_GAMES_BYTES_MAX 1200u
#define LS_RELAY_GAMES_MAX 32u /* in one datagram; no more fit, of the shortest ones */
#define LS_RELAY_LIST_OVER UINT64_MAX
#define LS_RELAY_GAMES_END UINT32_MAX /* of GAMES: there are no more */

/* A server's description of itself. */
typedef struct ls_relay_listing {
    char name[LS_PLAYER_NAME_BYTES_MAX]; /* as anybody sent it: see ls_player_name_clean */
    char simulation[LS_NAME_BYTES_MAX];
    char region[LS_RELAY_WORD_BYTES_MAX];  /* "": not told */
    char version[LS_RELAY_WORD_BYTES_MAX]; /* of the program */
    uint32_t simulation_version;
    uint64_t digest;
    uint16_t protocol; /* version */
    uint16_t players, seats, spectators;
    bool needs_token;
    char secret[LS_RELAY_SECRET_CHARACTERS]; /* of its code */
    char page[LS_RELAY_PAGE_BYTES_MAX]; /* the link to play by in a browser; "": none; LIST alone */
} ls_relay_listing;

/* Whether a text can be a region or a version: letters, digits, '-', '_', '.' and '+'. */
bool ls_relay_is_word(const char *text);
/* Whether a text can be the link of a page: it begins with http:// or https://, is shorter than
 * LS_RELAY_PAGE_BYTES_MAX, and of ASCII without blanks, quotes, angle brackets and backslashes. */
bool ls_relay_is_page(const char *text);

/* ---- LIST ---- */

typedef struct ls_relay_list {
    uint64_t number; /* the id of the registration */
    uint64_t counter;
    uint64_t challenge; /* 0: one is wanted; LS_RELAY_LIST_OVER: the game is not to be shown */
    ls_relay_listing listing;
} ls_relay_list;

/* With its tag by the server's key; returns the size. */
size_t ls_relay_list_write(const ls_relay_list *list, const uint8_t to_relay[LS_CIPHER_KEY_BYTES],
                           uint8_t bytes[LS_RELAY_LIST_BYTES_MAX]);
/* False, and `list` is as it was, for what is none. Looks at no tag. */
bool ls_relay_list_read(const uint8_t *bytes, size_t size, ls_relay_list *list);
/* Of one that could be read. */
bool ls_relay_list_is_signed(const uint8_t *bytes, size_t size,
                             const uint8_t to_relay[LS_CIPHER_KEY_BYTES]);

/* ---- GAMES ---- */

typedef struct ls_relay_game {
    char name[LS_RELAY_NAME_CHARACTERS]; /* the relay's part of its code */
    uint16_t ping_ms;
    ls_relay_listing listing;
} ls_relay_game;

/* The whole code, as people write it. */
void ls_relay_game_code(const ls_relay_game *game, char text[LS_RELAY_CODE_BYTES]);

typedef struct ls_relay_games {
    uint8_t nonce[LS_RELAY_NONCE_BYTES]; /* of the LOOK */
    uint32_t place;                      /* likewise */
    uint32_t next;                       /* where to go on; LS_RELAY_GAMES_END: nowhere */
    uint32_t count;
    ls_relay_game games[LS_RELAY_GAMES_MAX];
} ls_relay_games;

/* The answer to a LOOK without a game; they are added to it as long as they fit. Returns its size.
 */
size_t ls_relay_games_begin(const ls_relay_packet *look, uint8_t bytes[LS_RELAY_GAMES_BYTES_MAX]);
/* False, and the size is as it was, when it does not fit. */
bool ls_relay_games_add(uint8_t bytes[LS_RELAY_GAMES_BYTES_MAX], size_t *size,
                        const ls_relay_game *game);
void ls_relay_games_end(uint8_t bytes[LS_RELAY_GAMES_BYTES_MAX], uint32_t next);
/* False, and `games` may have been changed, for what is none. */
bool ls_relay_games_read(const uint8_t *bytes, size_t size, ls_relay_games *games);

/* ---- Relay search: a client's look at the games that a relay lists: which datagrams it sends, and
 * what has come of them. Bytes and times come in as arguments; knows no socket. Needs
 * ls_cipher_init. Called by game_list ---- */

typedef enum ls_relay_search_state {
    LS_RELAY_SEARCHING,
    LS_RELAY_SEARCH_DONE,
    LS_RELAY_SEARCH_CUT,    /* not all has come in time */
    LS_RELAY_SEARCH_SILENT, /* nothing has */
} ls_relay_search_state;

typedef struct ls_relay_search {
    ls_relay_game *games; /* the caller's, and how many fit */
    uint32_t games_max;
    uint32_t count;
    ls_relay_search_state state;
    uint64_t rtt_ns; /* the shortest round trip to the relay; UINT64_MAX: none yet */

    ls_relay_packet sent; /* ASK or LOOK */
    uint32_t place;       /* to go on from */
    uint32_t repeats;     /* of `sent` */
    uint64_t sent_ns;
    uint64_t due_ns;
    uint64_t end_ns;  /* unless something comes */
    uint64_t last_ns; /* whatever comes */
} ls_relay_search;

void ls_relay_search_begin(ls_relay_search *search, ls_relay_game *games, uint32_t games_max,
                           uint64_t now_ns);

/* Writes the datagram that is due for the relay, and returns its size; 0: none is. */
size_t ls_relay_search_advance(ls_relay_search *search, uint64_t now_ns,
                               uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX]);

/* A datagram has come of the relay. */
void ls_relay_search_receive(ls_relay_search *search, const uint8_t *bytes, size_t size,
                             uint64_t now_ns);

#endif
