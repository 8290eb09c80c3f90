// What a worker of the page does with the orders of the page (client/web/screen.js).
import assert from "node:assert/strict";
import { test } from "node:test";

const posted = [];
globalThis.self = { postMessage: (message) => posted.push(message) };
const { event, obey, resize } = await import("../../client/web/screen.js");

const settle = () => new Promise((resolve) => { setTimeout(resolve); });

// A window that is made smaller, or left, while the person still types a name.
test("orders before a match are ignored", async () => {
  let opened = 0;
  obey({ open: () => { opened++; }, size: resize, event });
  self.onmessage({ data: { type: "size", width: 390, height: 844, scale: 2 } });
  self.onmessage({ data: { type: "event", kind: 10, code: 0, isDown: 0, x: 0, y: 0 } });
  self.onmessage({ data: { type: "open" } });
  await settle();
  assert.deepEqual([posted, opened], [[], 1]);
});

test("orders behind a match that was not opened leave its reason", async () => {
  obey({ open: () => { throw new Error("no module"); }, size: resize, event });
  self.onmessage({ data: { type: "open" } });
  self.onmessage({ data: { type: "size", width: 390, height: 844, scale: 2 } });
  await settle();
  assert.deepEqual(posted, [{ type: "refused", text: "no module" }]);
});
