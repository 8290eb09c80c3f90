// What a page makes of the report of a desync (client/web/record_report.js), and of files that only
// look like one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isReport, readReport } from "../../client/web/record_report.js";

// As much of a page as is asked of it: an element, whose text is text.
const page = {
  made: [],
  createElement(name) {
    const element = { name, textContent: "", children: [], append: (...more) => element.children.push(...more) };
    page.made.push(name);
    return element;
  },
};

const textOf = ({ textContent, children }) => [textContent, ...children.map(textOf)].filter(Boolean).join("|");
const fileOf = (value) => new Blob([typeof value === "string" ? value : JSON.stringify(value)]);
const read = (value) => readReport(fileOf(value), page);

test("a report is told member by member, its lists as tables", async () => {
  const report = { program: "lockstep-desync", sim: "arena", tick: 60, missing: "", class: "one-off",
    differences: [{ name: "ships[1].x", server: "1", client: "2" }, { name: "ships[2].x", server: "3" }] };
  assert.ok(await isReport(fileOf(report)));
  assert.equal(textOf(await read(report)), "simulation|arena|tick|60|class|one-off|differences|" +
    "name|server|client|ships[1].x|1|2|ships[2].x|3");
});

test("nothing in a report is more than text", async () => {
  page.made.length = 0;
  const words = "<img src=x onerror=alert(1)>";
  const made = await read({ program: "lockstep-desync", player: words, [words]: [{ [words]: words }] });
  assert.equal(textOf(made).split("<img").length, 5);
  assert.deepEqual(new Set(page.made), new Set(["dl", "dt", "dd", "span", "div", "table", "tr", "th", "td"]));
});

test("a report takes no more of the page than it may", async () => {
  let deep = 7;
  for (let i = 0; i < 1000; i++) deep = [deep];
  page.made.length = 0;
  await read({ program: "lockstep-desync", deep, list: Array(10000).fill({ a: "x".repeat(100) }) });
  assert.ok(page.made.length < 2000, `${page.made.length} elements`);
  const long = await read({ program: "lockstep-desync", why: "x".repeat(100000) });
  assert.ok(textOf(long).length < 1000);
});

test("names that every object has are names as all others", async () => {
  const text = `{"program": "lockstep-desync", "constructor": 1, "__proto__": 2, "list": [{"toString": 3}]}`;
  assert.equal(textOf(await read(text)), "constructor|1|  proto  |2|list|toString|3");
});

test("a table is no larger than a page shows", async () => {
  const list = Array.from({ length: 200 }, (_, row) =>
    Object.fromEntries(Array.from({ length: 20 }, (_, column) => [`${row}.${column}`, 1])));
  await assert.rejects(read({ program: "lockstep-desync", list }), /more values/);
});

test("a report may have gone through an editor or a console", async () => {
  const text = JSON.stringify({ program: "lockstep-desync", tick: 60 });
  const utf16 = new Blob([new Uint8Array([...`\ufeff${text}`].flatMap((letter) =>
    [letter.charCodeAt(0) & 255, letter.charCodeAt(0) >> 8]))]);
  for (const file of [fileOf(`\ufeff${text}`), fileOf(`\n  ${text}`), utf16]) {
    assert.ok(await isReport(file));
    assert.equal(textOf(await readReport(file, page)), "tick|60");
  }
});

test("what is no report is said to be none", async () => {
  assert.equal(await isReport(fileOf("LSJR")), false);
  await assert.rejects(read("{"), /damaged/);
  await assert.rejects(read({ program: "lockstep-server" }), /no report/);
  await assert.rejects(read("{}"), /no report/);
  await assert.rejects(readReport({ size: 2 ** 24 }, page), /too large/);
});
