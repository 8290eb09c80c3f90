/* Limits: the named maximum of every queue, ring, packet and string in Lockstep.
 * A number that bounds memory or wire size stands here and nowhere else. */
#ifndef LOCKSTEP_COMMON_BASE_LIMITS_H
#define LOCKSTEP_COMMON_BASE_LIMITS_H

#define LS_PLAYERS_MAX 128u           /* slots in a match */
#define LS_INPUT_BYTES_MAX 1024u      /* bytes of one slot's input for one tick, ... */
#define LS_INPUTS_BYTES_MAX 32768u    /* ... and of all slots together */
#define LS_NAMES_PER_MESSAGE 32u      /* players' names that fit into one packet */
#define LS_NAMES_PER_LINE 12u         /* players named in a line of text; of the rest the number */
#define LS_PARAMS_MAX 32u             /* parameters of a simulation */
#define LS_STRING_PARAMS_MAX 4u       /* of them that are strings, ... */
#define LS_STRING_BYTES_MAX 256u      /* ... each with its final NUL, ... */
#define LS_STRINGS_BYTES_MAX 640u     /* ... and all together without: they fit into one packet */
#define LS_FILE_PARAMS_MAX 4u         /* of them that are files */
#define LS_FILE_BYTES_MAX (64u << 20) /* a file parameter's content */
#define LS_PASSES_MAX 32u             /* passes of a step */
#define LS_WORKERS_MAX 64u            /* threads of a step */
#define LS_FIELDS_MAX 1024u           /* fields of a state schema */
#define LS_NAME_BYTES_MAX 64u /* a name or path with its final NUL: simulation, pass, field */
#define LS_PLAYER_NAME_BYTES_MAX 32u    /* with its final NUL */
#define LS_TEXT_BYTES_MAX 512u          /* an error text with its final NUL */
#define LS_STATE_BYTES_MAX (256u << 20) /* flat state of a simulation */

#define LS_TICK_RATE_MIN_HZ 1u
#define LS_TICK_RATE_MAX_HZ 1000u

#define LS_SOUNDS_MAX 64u           /* of one tick */
#define LS_SOUND_FRAMES_MAX 192000u /* of one tick: a second of the highest rate */
#define LS_SOUND_RATE_MIN_HZ 4000u
#define LS_SOUND_RATE_MAX_HZ 192000u

/* Payload of one packet. With what ENet (28, or it cuts the packet) and a seal (20) may add, a
 * datagram of UDP has 1,200 bytes: it fits through every path of IPv6 (1,280), and through one of
 * IPv4 that takes 1,228. */
#define LS_PACKET_BYTES_MAX 1152u

/* Limits of what one connection makes its transport hold: bytes sent reliably and not acknowledged,
 * bytes received and not yet taken, and reliable packets received ahead of a missing one. */
#define LS_BACKLOG_BYTES_MAX (1u << 20)
#define LS_WAITING_BYTES_MAX (512u << 10)
#define LS_RELIABLE_AHEAD_MAX 4096u

/* Ticks of inputs, closed ticks and hash chains that each side holds; a power of two. A client
 * that is further behind than this cannot be brought up to date from memory. */
#define LS_WINDOW_TICKS 1024u

/* A match that nobody ends ends at this tick: after 49 days at 1,000 Hz, 828 at 60 Hz. A tick has a
 * number of 32 bits, and what is added to one anywhere must not wrap. */
#define LS_MATCH_TICKS_MAX UINT32_C(0xfff00000)

/* Closed ticks that a client which comes late keeps until the state that they follow is there: an
 * hour of four busy pads, or some minutes of the largest inputs. */
#define LS_TICK_BACKLOG_BYTES_MAX (64u << 20)

/* Ticks ahead of the next tick to close for which an input is stored. */
#define LS_LEAD_TICKS_MAX 256u

/* Input delay: ticks by which inputs are made earlier than the network needs, at most. */
#define LS_INPUT_DELAY_TICKS_MAX 64u

/* Ticks that a client with prediction guesses ahead of the closed ones; it holds as many states. */
#define LS_PREDICT_TICKS_MAX 32u

#endif
