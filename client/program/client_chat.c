#include "lockstep/client/program/client_chat.h"

#include <string.h>

/* Every answer of the program begins so; the line of a player begins with "[". */
#define OWN "-- "

/* ---- who is muted ---- */

/* Another player may have taken the seat. */
static bool is_muted(ls_client_chat *chat, const ls_chat *said)
{
    if (strcmp(chat->muted[said->slot], said->name) != 0) {
        ls_slot_set_remove(&chat->muted_slots, said->slot);
    }
    return ls_slot_set_has(&chat->muted_slots, said->slot);
}

bool ls_client_chat_write(ls_client_chat *chat, const ls_chat *said, ls_text *line)
{
    ls_text_set(line, "[%u] %s: %s", said->slot + 1, said->name, said->text);
    return !is_muted(chat, said);
}

/* The slot of a player by its name, or by the number of its seat; LS_PLAYERS_MAX: there is none. */
static uint32_t find_player(const ls_session *session, const char *who)
{
    const ls_offer *offer = ls_session_offer(session);
    uint32_t players = offer ? offer->config.players : 0;
    for (uint32_t slot = 0; slot < players; slot++) {
        ls_text number = {{0}};
        ls_text_set(&number, "%u", slot + 1);
        const char *name = ls_session_player_name(session, slot);
        if ((name[0] != '\0' && strcmp(name, who) == 0) || strcmp(number.bytes, who) == 0) {
            return slot;
        }
    }
    return LS_PLAYERS_MAX;
}

static void mute(ls_client_chat *chat, const ls_session *session, const char *who, bool is_on,
                 ls_text *answer)
{
    uint32_t slot = find_player(session, who);
    if (slot == LS_PLAYERS_MAX) {
        ls_text_set(answer, OWN "there is no player '%s'; give a name or the number of a seat",
                    who);
        return;
    }
    ls_slot_set_put(&chat->muted_slots, slot, is_on);
    ls_name_copy(chat->muted[slot], sizeof chat->muted[slot],
                 ls_session_player_name(session, slot));
    ls_text_set(answer, OWN "%s (seat %u) is %s", chat->muted[slot], slot + 1,
                is_on ? "muted: you see none of its lines" : "heard again");
}

/* ---- what the person says ---- */

static void report(ls_status status, ls_text *answer)
{
    if (status == LS_UNSUPPORTED) {
        ls_text_set(answer, OWN "a spectator may read, and not write");
    } else if (status != LS_OK) {
        ls_text_set(answer, OWN "nobody can hear you now");
    }
}

void ls_client_chat_say(ls_session *session, uint32_t quick_line, ls_text *answer)
{
    report(ls_session_chat(session, quick_line, NULL), answer);
}

static void help(ls_text *answer)
{
    ls_text_set(answer, OWN "/mute NAME, /unmute NAME, /vote NUMBER; quick lines:");
    for (uint32_t i = 1; i <= LS_QUICK_LINES; i++) {
        ls_text_add(answer, " /%u %s", i, ls_quick_line_words(i));
    }
}

/* The rest behind the word, or NULL when the text does not begin with it. */
static const char *after(const char *text, const char *word)
{
    size_t size = strlen(word);
    bool is_it = strncmp(text, word, size) == 0 && (text[size] == ' ' || text[size] == '\0');
    return is_it ? text + size + strspn(text + size, " ") : NULL;
}

static void command(ls_client_chat *chat, ls_session *session, const char *typed, ls_text *answer)
{
    const char *muted = after(typed, "/mute");
    const char *unmuted = after(typed, "/unmute");
    bool is_quick = typed[1] >= '1' && typed[1] < '1' + (int)LS_QUICK_LINES && typed[2] == '\0';
    if (is_quick) {
        ls_client_chat_say(session, (uint32_t)(typed[1] - '0'), answer);
    } else if (after(typed, "/vote")) {
        report(ls_session_chat(session, 0, typed), answer); /* the server counts it */
    } else if (muted || unmuted) {
        mute(chat, session, muted ? muted : unmuted, muted != NULL, answer);
    } else if (after(typed, "/help")) {
        help(answer);
    } else {
        ls_text_set(answer, OWN "'%s' is no command; /help names them", typed);
    }
}

void ls_client_chat_type(ls_client_chat *chat, ls_session *session, const char *typed,
                         ls_text *answer)
{
    char text[LS_CHAT_TEXT_BYTES_MAX];
    ls_name_copy(text, sizeof text, typed + strspn(typed, " "));
    size_t size = strlen(text);
    while (size > 0 && text[size - 1] == ' ') {
        text[--size] = '\0';
    }
    if (text[0] == '/') {
        command(chat, session, text, answer);
    } else {
        report(ls_session_chat(session, 0, text), answer);
    }
}
