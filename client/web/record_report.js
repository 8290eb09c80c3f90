// The report of a desync, as `lockstep-desync --json` writes it, as a part of the page. The file may
// be anybody's: all of it becomes text of elements that are made here, and nothing else.
const FILE_BYTES_MAX = 2 ** 23;
const ROWS_MAX = 200; // of a table
const DEPTH_MAX = 4;
const TEXT_MAX = 500;
const ELEMENTS_MAX = 50000; // of the page: more than a browser shows at once
const LONG_WORDS = new Map([["sim", "simulation"], ["why", "what happened"], ["next", "what to do next"]]);

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isNothing = (value) => value === "" || value === null ||
  (typeof value === "object" && Object.keys(value).length === 0);
const nameOf = (key) => LONG_WORDS.get(key) ?? key.replaceAll("_", " ");

let room = 0; // elements that may still be made

function make(page, name, text, children = []) {
  if (room-- <= 0) throw new Error("This report has more values than a page shows: open it as a text.");
  const made = page.createElement(name);
  if (text !== undefined) made.textContent = String(text).slice(0, TEXT_MAX);
  made.append(...children);
  return made;
}

// A row for each object of a list, and a column for each member that one of them has.
function tableOf(page, list, depth) {
  const rows = list.slice(0, ROWS_MAX).map((one) => isObject(one) ? one : { value: one });
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const head = make(page, "tr", undefined, keys.map((key) => make(page, "th", nameOf(key))));
  const body = rows.map((row) => make(page, "tr", undefined, keys.map((key) =>
    make(page, "td", undefined, Object.hasOwn(row, key) ? [valueOf(page, row[key], depth)] : []))));
  const more = list.length > ROWS_MAX ? [make(page, "p", `${list.length - ROWS_MAX} more`)] : [];
  return make(page, "div", undefined, [make(page, "table", undefined, [head, ...body]), ...more]);
}

function valueOf(page, value, depth) {
  if (typeof value !== "object" || value === null) return make(page, "span", value ?? "");
  if (depth === DEPTH_MAX) return make(page, "span", JSON.stringify(value));
  return Array.isArray(value) ? tableOf(page, value, depth + 1) : membersOf(page, value, depth + 1);
}

function membersOf(page, object, depth) {
  const members = Object.entries(object).filter(([, value]) => !isNothing(value)).slice(0, ROWS_MAX);
  return make(page, "dl", undefined, members.flatMap(([key, value]) =>
    [make(page, "dt", nameOf(key)), make(page, "dd", undefined, [valueOf(page, value, depth)])]));
}

// Whether a file begins as one of these, behind what editors and consoles put before it.
export async function isReport(file) {
  return (await textOf(file.slice(0, 64))).trimStart().startsWith("{");
}

// A console of Windows writes a file in UTF-16.
async function textOf(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  return new TextDecoder(bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : "utf-8").decode(bytes);
}

// Its element; throws for what is none.
export async function readReport(file, page) {
  if (file.size > FILE_BYTES_MAX) throw new Error("This file is too large for a report of a desync.");
  let report;
  try {
    report = JSON.parse(await textOf(file));
  } catch {
    throw new Error("This report is damaged: it cannot be read as JSON.");
  }
  if (!isObject(report) || report.program !== "lockstep-desync") {
    throw new Error("This is no report of lockstep-desync.");
  }
  const { program, ...told } = report;
  room = ELEMENTS_MAX;
  return membersOf(page, told, 0);
}
