// What keys, pads and sticks of a browser become (client/web/controls.js).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as controls from "../../client/web/controls.js";

const names = readFileSync(new URL("../../common/simulation/control_keys.h", import.meta.url), "utf8");
const rows = Object.fromEntries([...names.split("LS_PAD_MAP")[0].matchAll(/ROW\((\w+), (\d+), "/g)]
  .map(([, name, number]) => [name, Number(number)]));

test("keys have the usages that games know them by", () => {
  const alike = {
    KeyA: "A", KeyZ: "Z", Digit1: "1", Digit9: "9", Digit0: "0", Enter: "ENTER", Space: "SPACE",
    F1: "F1", F12: "F12", ArrowUp: "UP", ArrowLeft: "LEFT", Numpad1: "KEYPAD_1",
    Numpad0: "KEYPAD_0", ControlLeft: "LEFT_CONTROL", ShiftLeft: "LEFT_SHIFT",
    MetaRight: "RIGHT_SUPER", BracketLeft: "LEFT_BRACKET", PageDown: "PAGE_DOWN",
  };
  for (const [code, name] of Object.entries(alike)) {
    assert.equal(controls.keyUsage(code), rows[name], code);
  }
});

test("codes that no keyboard of a game has are no keys", () => {
  for (const code of ["", "F13", "KeyÄ", "toString", "constructor", "BrowserBack"]) {
    assert.equal(controls.keyUsage(code), 0, code);
  }
});

test("a browser keeps its own keys, and a game gets Ctrl alone", () => {
  assert.ok(controls.isBrowsers({ code: "KeyR", ctrlKey: true }));
  assert.ok(controls.isBrowsers({ code: "F5" }));
  assert.ok(!controls.isBrowsers({ code: "ControlLeft", ctrlKey: true }));
  assert.ok(!controls.isBrowsers({ code: "KeyR" }));
});

function padWith(pressed, axes = [0, 0, 0, 0]) {
  const buttons = Array.from({ length: 17 }, (_, i) => ({
    pressed: pressed.includes(i), value: pressed.includes(i) ? 1 : 0,
  }));
  return { buttons, axes };
}

test("a pad gives an event for what has changed, and none for the rest", () => {
  const first = controls.padEvents(null, padWith([0, 12], [0.5, 1, 0.05, 0]));
  assert.deepEqual(first.events, [
    [controls.PAD, 1 << 0, 1, 0, 0], [controls.PAD, 1 << 11, 1, 0, 0],
    [controls.STICK, 0, 0, 0.5, -1],
  ]);
  const second = controls.padEvents(first.now, padWith([12, 7], [0.5, 1, 0, 0]));
  assert.deepEqual(second.events, [[controls.PAD, 1, 0, 0, 0], [controls.TRIGGERS, 0, 0, 0, 1]]);
  assert.deepEqual(controls.padEvents(second.now, padWith([12, 7], [0.5, 1, 0, 0])).events, []);
});

test("a finger beyond the rim of the stick holds it at the rim, up is positive", () => {
  assert.deepEqual(controls.stickAt(0, -64, 64), [0, 1]);
  const [x, y] = controls.stickAt(300, 400, 64);
  assert.ok(Math.abs(Math.hypot(x, y) - 1) < 1e-9 && x > 0 && y < 0);
});

test("an invite survives the address bar", () => {
  const invite = "lockstep://192.0.2.1:7300/#key.check";
  assert.equal(controls.inviteOf(`#${invite}`), invite);
  assert.equal(controls.inviteOf(`#${encodeURIComponent(invite)}`), invite);
  assert.equal(controls.inviteOf("#50%off"), "50%off");
  assert.equal(controls.inviteOf(""), "");
});
