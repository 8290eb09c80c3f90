// What a page makes of a broadcast (client/web/broadcast.js): indexes that native readers know, and
// servers that do what they may not.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { beforeEach, test } from "node:test";

const samples = readFileSync(new URL("../samples/broadcast_indexes.txt", import.meta.url), "utf8")
  .trimEnd().split("\n").map((line) => /^(\w+) (.*)$/.exec(line).slice(1));
const ID = "0123456789abcdef";
const index = (segments, key, isOver) =>
  JSON.stringify({ match: ID, segments, key, is_over: isOver });

let asked; // paths, in order
let broadcast;
let count = 0;

// Each path has its replies, of which the last one stays.
function serve(replies) {
  asked = [];
  globalThis.fetch = async (path, { redirect, signal }) => {
    assert.equal(redirect, "error");
    assert.ok(signal instanceof AbortSignal);
    asked.push(path);
    const of = replies[path] ?? [];
    const reply = of.length > 1 ? of.shift() : of[0];
    if (reply instanceof Error) throw reply;
    if (reply === undefined) return new Response("", { status: 404 });
    return reply instanceof Response ? reply.clone() : new Response(reply);
  };
}

// What is handed on, segment by segment; `refuses` are those that the module does not take.
function keeper(refuses = []) {
  const kept = [];
  kept.add = (bytes, isFirst) => {
    const text = new TextDecoder().decode(bytes);
    if (refuses.includes(text)) throw new Error("This is no segment of a broadcast.");
    kept.push(isFirst ? `first ${text}` : text);
  };
  return kept;
}

beforeEach(async () => {
  console.warn = () => {};
  broadcast = await import(`../../client/web/broadcast.js?${count++}`); // with nothing fetched
});

test("indexes are read as each line of the samples says", () => {
  assert.ok(samples.length > 20);
  for (const [expected, text] of samples) {
    if (expected === "bad") assert.throws(() => broadcast.readIndex(text), /no broadcast/, text);
    else if (expected === "none") assert.equal(broadcast.readIndex(text), undefined, text);
    else assert.match(broadcast.readIndex(text).match, /^[0-9a-f]{16}$/, text);
  }
});

test("the newest match begins at its newest key and is followed to its end", async () => {
  serve({
    "/broadcast": [`{"matches":[${index(3, 1, false)}]}`],
    [`/broadcast/${ID}`]: [index(3, 1, false), index(4, 3, false), index(4, 3, true)],
    [`/broadcast/${ID}/1`]: ["one"], [`/broadcast/${ID}/2`]: ["two"], [`/broadcast/${ID}/3`]: ["three"],
  });
  const kept = keeper(), ends = [];
  await broadcast.begin("newest", kept.add);
  assert.deepEqual([...kept], ["first one", "two"]);
  await broadcast.follow(kept.add, (isOver) => ends.push(isOver), 0);
  assert.deepEqual([...kept], ["first one", "two", "three"]);
  assert.deepEqual(ends, [false, false, true]);
});

test("what is no broadcast is said to be none", async () => {
  const of = `/broadcast/${ID}`;
  const cases = [
    [{}, ID, /no such broadcast/],
    [{ "/broadcast": ['{"matches":[]}'] }, "newest", /No match can be seen/],
    [{ [of]: ["<html>"] }, ID, /no broadcast/],
    [{ [of]: [new Response("", { status: 203 })] }, ID, /status 203/],
    [{ [of]: [new Response("", { status: 206 })] }, ID, /status 206/],
    [{ [of]: [index(1, 0, false)] }, ID, /no such broadcast/],
    [{ [of]: [index(1, 0, false)], [`${of}/0`]: ["junk"] }, ID, /no segment/],
    [{}, "../../secret", /no match's id/],
    [{}, ID.toUpperCase(), /no match's id/],
  ];
  for (const [replies, match, words] of cases) {
    serve(replies);
    await assert.rejects(broadcast.begin(match, keeper(["junk"]).add), words);
  }
});

test("a reply is not read beyond what a segment may have", async () => {
  const part = new Uint8Array(2 ** 22);
  let sent = 0;
  const endless = new ReadableStream({
    pull(controller) {
      sent += part.length;
      controller.enqueue(part);
    },
  }, { highWaterMark: 0 });
  globalThis.fetch = async () => new Response(endless);
  await assert.rejects(broadcast.begin(ID, keeper().add), /more than belongs to it/);
  assert.ok(sent <= 2 ** 26 + 2 ** 23, `${sent} bytes`);
});

test("failures in between are borne, and too many of them end it", async () => {
  const of = `/broadcast/${ID}`;
  serve({
    [of]: [index(1, 0, false), new Error("no network"), "<html>", index(2, 1, true)],
    [`${of}/0`]: ["zero"], [`${of}/1`]: ["one"],
  });
  const kept = keeper();
  await broadcast.begin(ID, kept.add);
  await broadcast.follow(kept.add, () => {}, 0);
  assert.deepEqual([...kept], ["first zero", "one"]);

  serve({ [of]: [index(2, 0, false), index(2, 0, false), new Error("no network")], [`${of}/0`]: ["zero"],
    [`${of}/1`]: ["one"] });
  await broadcast.begin(ID, keeper().add);
  await assert.rejects(broadcast.follow(keeper().add, () => {}, 0), /no network/);
  assert.equal(asked.filter((path) => path === of).length, 62);
});

test("a journal that cannot be read on ends it", async () => {
  const of = `/broadcast/${ID}`;
  serve({ [of]: [index(1, 0, false), index(2, 1, false)], [`${of}/0`]: ["zero"], [`${of}/1`]: ["one"] });
  const kept = keeper();
  await broadcast.begin(ID, kept.add);
  const readOn = () => {
    if (kept.length > 1) throw new Error("The journal is damaged.");
  };
  await assert.rejects(broadcast.follow(kept.add, readOn, 0), /damaged/);
});
