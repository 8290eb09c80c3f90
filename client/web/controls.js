// What keys, pads and sticks of a browser are called in ls_view_event (client/view/input_mapper.h).

export const KEY = 0, TEXT = 1, BUTTON = 2, MOTION = 3, WHEEL = 4, PAD = 5, STICK = 6;
export const RIGHT_STICK = 7, TRIGGERS = 8, PAD_AWAY = 9, AWAY = 10;
export const KEY_R = 21, KEY_F1 = 58;

// Usages of a keyboard (common/simulation/control_keys.h), by the codes of a browser, which name
// places as well.
const named = {
  Enter: 40, Escape: 41, Backspace: 42, Tab: 43, Space: 44, Minus: 45, Equal: 46, BracketLeft: 47,
  BracketRight: 48, Backslash: 49, Semicolon: 51, Quote: 52, Backquote: 53, Comma: 54, Period: 55,
  Slash: 56, CapsLock: 57, PrintScreen: 70, ScrollLock: 71, Pause: 72, Insert: 73, Home: 74,
  PageUp: 75, Delete: 76, End: 77, PageDown: 78, ArrowRight: 79, ArrowLeft: 80, ArrowDown: 81,
  ArrowUp: 82, NumLock: 83, NumpadDivide: 84, NumpadMultiply: 85, NumpadSubtract: 86,
  NumpadAdd: 87, NumpadEnter: 88, Numpad0: 98, NumpadDecimal: 99, ControlLeft: 224,
  ShiftLeft: 225, AltLeft: 226, MetaLeft: 227, ControlRight: 228, ShiftRight: 229, AltRight: 230,
  MetaRight: 231, Digit0: 39,
};
const ranges = [
  [/^Key([A-Z])$/, (letter) => letter.charCodeAt(0) - 65 + 4],
  [/^Digit([1-9])$/, (digit) => Number(digit) + 29],
  [/^F([1-9]|1[0-2])$/, (number) => Number(number) + 57],
  [/^Numpad([1-9])$/, (digit) => Number(digit) + 88],
];

// 0: no key that a game could know.
export function keyUsage(code) {
  for (const [pattern, usage] of ranges) {
    const found = pattern.exec(code);
    if (found) return usage(found[1]);
  }
  return Object.hasOwn(named, code) ? named[code] : 0;
}

// What the browser keeps for itself: a new load, the full screen, its tools, and all with Ctrl or
// Meta.
export function isBrowsers({ code, ctrlKey, metaKey }) {
  const isModifier = /^(Control|Meta)/.test(code);
  return ["F5", "F11", "F12"].includes(code) || ((ctrlKey || metaKey) && !isModifier);
}

// The buttons of a standard pad by their index: bits of LS_PAD_MAP; 6 and 7 are triggers.
const padBits = [0, 1, 2, 3, 9, 10, -1, -1, 4, 6, 7, 8, 11, 12, 13, 14, 5];
const DEAD = 0.15;

function stick(x, y) {
  return Math.hypot(x, y) < DEAD ? [0, 0] : [x, -y];
}

// The events that lead from what a pad was to what it is; `was` may be null.
export function padEvents(was, pad) {
  const bits = padBits.reduce((sum, bit, i) =>
    bit >= 0 && pad.buttons[i]?.pressed ? sum | 1 << bit : sum, 0);
  const now = {
    bits, left: stick(pad.axes[0] ?? 0, pad.axes[1] ?? 0),
    right: stick(pad.axes[2] ?? 0, pad.axes[3] ?? 0),
    triggers: [pad.buttons[6]?.value ?? 0, pad.buttons[7]?.value ?? 0],
  };
  const events = [];
  for (let bit = 1; bit <= 1 << 14; bit <<= 1) {
    if (((was?.bits ?? 0) ^ bits) & bit) events.push([PAD, bit, bits & bit ? 1 : 0, 0, 0]);
  }
  for (const [name, kind] of [["left", STICK], ["right", RIGHT_STICK], ["triggers", TRIGGERS]]) {
    const before = was?.[name] ?? [0, 0];
    if (before[0] !== now[name][0] || before[1] !== now[name][1]) {
      events.push([kind, 0, 0, ...now[name]]);
    }
  }
  return { now, events };
}

// Where a finger has moved the knob of a stick of this radius: up to 1 on both axes, y up.
export function stickAt(dx, dy, radius) {
  const far = Math.max(Math.hypot(dx, dy) / radius, 1);
  return [dx / radius / far, -dy / radius / far];
}

// The invite in an address, whether the browser has put marks in place of its letters or not.
export function inviteOf(hash) {
  const text = hash.replace(/^#/, "");
  try {
    return decodeURIComponent(text).trim();
  } catch {
    return text.trim();
  }
}
