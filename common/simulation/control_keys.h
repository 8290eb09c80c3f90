/* Control keys: the names of a keyboard's keys and a pad's buttons in ls_controls. Numbers and
 * names alone, the same on every machine and for ever: what a game stores of them means the same
 * later. Read by simulations and by whoever makes their controls. */
#ifndef LOCKSTEP_COMMON_SIMULATION_CONTROL_KEYS_H
#define LOCKSTEP_COMMON_SIMULATION_CONTROL_KEYS_H

#include "lockstep/common/base/language.h"

LS_C_BEGIN

/* Keys by their place on the keyboard, whatever is printed on them, under the names of a US one:
 * usages of page 7 of the USB HID usage tables. Usages without a name here come as well. */
#define LS_KEYS 256u

/* ROW(NAME, usage, how a person reads it) */
#define LS_KEY_MAP(ROW)                                                                            \
    ROW(A, 4, "a")                                                                                 \
    ROW(B, 5, "b")                                                                                 \
    ROW(C, 6, "c")                                                                                 \
    ROW(D, 7, "d")                                                                                 \
    ROW(E, 8, "e")                                                                                 \
    ROW(F, 9, "f")                                                                                 \
    ROW(G, 10, "g")                                                                                \
    ROW(H, 11, "h")                                                                                \
    ROW(I, 12, "i")                                                                                \
    ROW(J, 13, "j")                                                                                \
    ROW(K, 14, "k")                                                                                \
    ROW(L, 15, "l")                                                                                \
    ROW(M, 16, "m")                                                                                \
    ROW(N, 17, "n")                                                                                \
    ROW(O, 18, "o")                                                                                \
    ROW(P, 19, "p")                                                                                \
    ROW(Q, 20, "q")                                                                                \
    ROW(R, 21, "r")                                                                                \
    ROW(S, 22, "s")                                                                                \
    ROW(T, 23, "t")                                                                                \
    ROW(U, 24, "u")                                                                                \
    ROW(V, 25, "v")                                                                                \
    ROW(W, 26, "w")                                                                                \
    ROW(X, 27, "x")                                                                                \
    ROW(Y, 28, "y")                                                                                \
    ROW(Z, 29, "z")                                                                                \
    ROW(1, 30, "1")                                                                                \
    ROW(2, 31, "2")                                                                                \
    ROW(3, 32, "3")                                                                                \
    ROW(4, 33, "4")                                                                                \
    ROW(5, 34, "5")                                                                                \
    ROW(6, 35, "6")                                                                                \
    ROW(7, 36, "7")                                                                                \
    ROW(8, 37, "8")                                                                                \
    ROW(9, 38, "9")                                                                                \
    ROW(0, 39, "0")                                                                                \
    ROW(ENTER, 40, "enter")                                                                        \
    ROW(ESCAPE, 41, "escape")                                                                      \
    ROW(BACKSPACE, 42, "backspace")                                                                \
    ROW(TAB, 43, "tab")                                                                            \
    ROW(SPACE, 44, "space")                                                                        \
    ROW(MINUS, 45, "minus")                                                                        \
    ROW(EQUALS, 46, "equals")                                                                      \
    ROW(LEFT_BRACKET, 47, "left bracket")                                                          \
    ROW(RIGHT_BRACKET, 48, "right bracket")                                                        \
    ROW(BACKSLASH, 49, "backslash")                                                                \
    ROW(SEMICOLON, 51, "semicolon")                                                                \
    ROW(APOSTROPHE, 52, "apostrophe")                                                              \
    ROW(GRAVE, 53, "grave")                                                                        \
    ROW(COMMA, 54, "comma")                                                                        \
    ROW(PERIOD, 55, "period")                                                                      \
    ROW(SLASH, 56, "slash")                                                                        \
    ROW(CAPS_LOCK, 57, "caps lock")                                                                \
    ROW(F1, 58, "f1")                                                                              \
    ROW(F2, 59, "f2")                                                                              \
    ROW(F3, 60, "f3")                                                                              \
    ROW(F4, 61, "f4")                                                                              \
    ROW(F5, 62, "f5")                                                                              \
    ROW(F6, 63, "f6")                                                                              \
    ROW(F7, 64, "f7")                                                                              \
    ROW(F8, 65, "f8")                                                                              \
    ROW(F9, 66, "f9")                                                                              \
    ROW(F10, 67, "f10")                                                                            \
    ROW(F11, 68, "f11")                                                                            \
    ROW(F12, 69, "f12")                                                                            \
    ROW(PRINT_SCREEN, 70, "print screen")                                                          \
    ROW(SCROLL_LOCK, 71, "scroll lock")                                                            \
    ROW(PAUSE, 72, "pause")                                                                        \
    ROW(INSERT, 73, "insert")                                                                      \
    ROW(HOME, 74, "home")                                                                          \
    ROW(PAGE_UP, 75, "page up")                                                                    \
    ROW(DELETE, 76, "delete")                                                                      \
    ROW(END, 77, "end")                                                                            \
    ROW(PAGE_DOWN, 78, "page down")                                                                \
    ROW(RIGHT, 79, "right")                                                                        \
    ROW(LEFT, 80, "left")                                                                          \
    ROW(DOWN, 81, "down")                                                                          \
    ROW(UP, 82, "up")                                                                              \
    ROW(NUM_LOCK, 83, "num lock")                                                                  \
    ROW(KEYPAD_DIVIDE, 84, "keypad divide")                                                        \
    ROW(KEYPAD_MULTIPLY, 85, "keypad multiply")                                                    \
    ROW(KEYPAD_MINUS, 86, "keypad minus")                                                          \
    ROW(KEYPAD_PLUS, 87, "keypad plus")                                                            \
    ROW(KEYPAD_ENTER, 88, "keypad enter")                                                          \
    ROW(KEYPAD_1, 89, "keypad 1")                                                                  \
    ROW(KEYPAD_2, 90, "keypad 2")                                                                  \
    ROW(KEYPAD_3, 91, "keypad 3")                                                                  \
    ROW(KEYPAD_4, 92, "keypad 4")                                                                  \
    ROW(KEYPAD_5, 93, "keypad 5")                                                                  \
    ROW(KEYPAD_6, 94, "keypad 6")                                                                  \
    ROW(KEYPAD_7, 95, "keypad 7")                                                                  \
    ROW(KEYPAD_8, 96, "keypad 8")                                                                  \
    ROW(KEYPAD_9, 97, "keypad 9")                                                                  \
    ROW(KEYPAD_0, 98, "keypad 0")                                                                  \
    ROW(KEYPAD_PERIOD, 99, "keypad period")                                                        \
    ROW(LEFT_CONTROL, 224, "left control")                                                         \
    ROW(LEFT_SHIFT, 225, "left shift")                                                             \
    ROW(LEFT_ALT, 226, "left alt")                                                                 \
    ROW(LEFT_SUPER, 227, "left super")                                                             \
    ROW(RIGHT_CONTROL, 228, "right control")                                                       \
    ROW(RIGHT_SHIFT, 229, "right shift")                                                           \
    ROW(RIGHT_ALT, 230, "right alt")                                                               \
    ROW(RIGHT_SUPER, 231, "right super")

typedef enum ls_key {
    LS_KEY_NONE = 0,
#define LS_KEY_ENUM(name, usage, text) LS_KEY_##name = (usage),
    LS_KEY_MAP(LS_KEY_ENUM)
#undef LS_KEY_ENUM
} ls_key;

/* Buttons of a pad by their place, as the standard layout of SDL's game controllers numbers them:
 * SOUTH is the lowest of the four on the right (A of an Xbox pad, cross of a PlayStation's), UP to
 * RIGHT are the cross on the left. Buttons beyond these may come as well, up to bit 31. */

/* ROW(NAME, bit, how a person reads it) */
#define LS_PAD_MAP(ROW)                                                                            \
    ROW(SOUTH, 0, "south")                                                                         \
    ROW(EAST, 1, "east")                                                                           \
    ROW(WEST, 2, "west")                                                                           \
    ROW(NORTH, 3, "north")                                                                         \
    ROW(BACK, 4, "back")                                                                           \
    ROW(GUIDE, 5, "guide")                                                                         \
    ROW(START, 6, "start")                                                                         \
    ROW(LEFT_STICK, 7, "left stick")                                                               \
    ROW(RIGHT_STICK, 8, "right stick")                                                             \
    ROW(LEFT_SHOULDER, 9, "left shoulder")                                                         \
    ROW(RIGHT_SHOULDER, 10, "right shoulder")                                                      \
    ROW(UP, 11, "up")                                                                              \
    ROW(DOWN, 12, "down")                                                                          \
    ROW(LEFT, 13, "left")                                                                          \
    ROW(RIGHT, 14, "right")

/* Masks: bits of ls_controls.pad_held and pad_pressed. */
typedef enum ls_pad {
    LS_PAD_NONE = 0,
#define LS_PAD_ENUM(name, bit, text) LS_PAD_##name = 1 << (bit),
    LS_PAD_MAP(LS_PAD_ENUM)
#undef LS_PAD_ENUM
} ls_pad;

LS_C_END

#endif
