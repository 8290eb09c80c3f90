#define _GNU_SOURCE
#include "lockstep/common/system/udp_parts.h"

#include <linux/filter.h>
#include <stddef.h>
#include <string.h>

_Static_assert(sizeof(ls_udp_message) == sizeof(struct mmsghdr) &&
                   offsetof(ls_udp_message, msg_len) == offsetof(struct mmsghdr, msg_len),
               "one is the other");

int ls_udp_part_receive(int socket, ls_udp_message *messages, uint32_t count)
{
    return recvmmsg(socket, (struct mmsghdr *)messages, count, MSG_TRUNC, NULL);
}

int ls_udp_part_send(int socket, ls_udp_message *messages, uint32_t count)
{
    return sendmmsg(socket, (struct mmsghdr *)messages, count, MSG_NOSIGNAL);
}

/* PROBE sends nothing in pieces, and takes no number for them: to take one is 170 of the 2,700 ns
 * that sending takes. WANT, the default, cuts what is longer than the path is known to carry; where
 * an operator has chosen another one for the whole machine it stays. */
void ls_udp_part_set_small(int socket, bool is_small)
{
    int mode = IP_PMTUDISC_DONT;
    socklen_t size = sizeof mode;
    if (getsockopt(socket, IPPROTO_IP, IP_MTU_DISCOVER, &mode, &size) == 0 &&
        (mode == IP_PMTUDISC_WANT || mode == IP_PMTUDISC_PROBE)) {
        mode = is_small ? IP_PMTUDISC_PROBE : IP_PMTUDISC_WANT;
        (void)setsockopt(socket, IPPROTO_IP, IP_MTU_DISCOVER, &mode, sizeof mode);
    }
}

/* Places in the program below. */
enum {
    BARE = 9,
    COMMON = 11,
    UNNUMBERED = 16,
    ROUTE = 21,
    DEFAULT = 29,
    FOUND = 30,
    OWN = 31,
    PROGRAM_STEPS = 32,
};

/* The distance that a jump from one place to another is written with. */
#define GO(from, to) ((uint8_t)((to) - (from)-1))

/* The program that the system runs for each datagram: it sees the payload of UDP alone, and says
 * which socket gets it, in the order in which they were bound. */
static void write_program(const ls_udp_steering *by, struct sock_filter program[PROGRAM_STEPS])
{
    const struct sock_filter steps[PROGRAM_STEPS] = {
        [0] = BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, 0), /* where the datagram begins that counts */
        [1] = BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        [2] = BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 2, 0, GO(2, DEFAULT)),
        [3] = BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
        [4] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, by->carrier, 0, GO(4, BARE)),
        [5] = BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        [6] = BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, by->carrier_bytes + 2u, 0, GO(6, OWN)),
        [7] = BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, by->carrier_bytes),
        [8] = BPF_STMT(BPF_JMP | BPF_JA, GO(8, COMMON)),
        [BARE] = BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, by->own_first, 0, GO(BARE, COMMON)),
        [10] = BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, by->own_end, 0, GO(10, OWN)),
        [COMMON] = BPF_STMT(BPF_LD | BPF_H | BPF_IND, 0),
        [12] = BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, by->index_bit, 0, GO(12, UNNUMBERED)),
        [13] = BPF_STMT(BPF_ALU | BPF_AND | BPF_K, by->index_mask),
        [14] = BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, by->sockets),
        [15] = BPF_STMT(BPF_RET | BPF_A, 0),
        [UNNUMBERED] = BPF_STMT(BPF_LD | BPF_B | BPF_IND, 0),
        [17] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, by->routed[0], GO(17, ROUTE), 0),
        [18] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, by->routed[1], GO(18, ROUTE), 0),
        [19] = BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, by->own_first, 0, GO(19, DEFAULT)),
        [20] = BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, by->own_end, GO(20, DEFAULT), GO(20, OWN)),
        [ROUTE] = BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        [22] = BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, 1),
        [23] = BPF_STMT(BPF_MISC | BPF_TAX, 0),
        [24] = BPF_STMT(BPF_LD | BPF_B | BPF_IND, 0),  /* the last byte */
        [25] = BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, 1), /* of no route: more than any socket */
        [26] = BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 2u * by->route_flag, GO(26, DEFAULT), 0),
        [27] = BPF_STMT(BPF_ALU | BPF_AND | BPF_K, by->route_flag - 1u),
        [28] = BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, by->sockets, 0, GO(28, FOUND)),
        [DEFAULT] = BPF_STMT(BPF_RET | BPF_K, by->default_socket),
        [FOUND] = BPF_STMT(BPF_RET | BPF_A, 0),
        [OWN] = BPF_STMT(BPF_RET | BPF_K, by->own_socket),
    };
    memcpy(program, steps, sizeof steps);
}

bool ls_udp_descriptor_steer(int first, const ls_udp_steering *steering)
{
    struct sock_filter steps[PROGRAM_STEPS];
    const struct sock_fprog program = {.len = PROGRAM_STEPS, .filter = steps};
    write_program(steering, steps);
    return setsockopt(first, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program) == 0;
}
