// A broadcast: a match that others play, fetched in segments, late, from any cache between; see
// docs/broadcast.md. What comes is looked at as lockstep-replay looks at it; the module looks at the
// segments.
const AGAIN_MS = 1000;
const REQUEST_MS = 20000;
const FAILURES_MAX = 60;
const REPLY_BYTES_MAX = 2 ** 26; // LS_HTTP_REPLY_BYTES_MAX

let url; // of the match
let next = 0; // segment to fetch
let isOver = false;

async function get(path) {
  const reply = await fetch(path, { redirect: "error", signal: AbortSignal.timeout(REQUEST_MS) });
  if (reply.status === 404) throw new Error("There is no such broadcast, or nothing of it can be seen yet.");
  if (reply.status !== 200) throw new Error(`The broadcast cannot be read: status ${reply.status}.`);
  const parts = [];
  let size = 0;
  const reader = reply.body.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > REPLY_BYTES_MAX) throw new Error("The broadcast sends more than belongs to it.");
    parts.push(part.value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isCount = (value) => Number.isInteger(value) && value >= 0 && value <= 0xffffffff;
const isId = (value) => typeof value === "string" && /^[0-9a-f]{16}$/.test(value);

// The index of a match, or of the first one of a list; undefined: the list is empty.
export function readIndex(text) {
  let read;
  try {
    read = JSON.parse(text);
  } catch {
    read = undefined;
  }
  if (isObject(read) && "matches" in read) {
    if (Array.isArray(read.matches) && read.matches.length === 0) return undefined;
    read = read.matches?.[0];
  }
  if (!isObject(read) || !isId(read.match) || !isCount(read.segments) || !isCount(read.key) ||
      typeof read.is_over !== "boolean" || read.key >= read.segments) {
    throw new Error("This is no broadcast.");
  }
  return read;
}

async function getIndex(path) {
  const index = readIndex(new TextDecoder().decode(await get(path)));
  if (!index) throw new Error("No match can be seen yet.");
  return index;
}

// Hands all that can be seen by now to `add`, and says whether the match is over.
async function fetchOn(add, isFirst) {
  const index = await getIndex(url);
  if (isFirst) next = index.key;
  for (let begins = isFirst; next < index.segments; next++, begins = false) {
    add(await get(`${url}/${next}`), begins);
  }
  isOver = index.is_over;
}

// `match` is the id of one, or "newest" of those that the server shows. `add` takes the bytes of a
// segment, and whether it is the first one.
export async function begin(match, add) {
  const id = match === "newest" ? (await getIndex("/broadcast")).match : match;
  if (!isId(id)) throw new Error("This is no match's id.");
  url = `/broadcast/${id}`;
  await fetchOn(add, true);
}

let failures = 0; // one after the other

async function goOn(add, readOn) {
  const before = next;
  try {
    await fetchOn(add, false);
    failures = 0;
  } catch (error) {
    if (failures++ === 0) console.warn(`${error.message ?? error} Trying again.`);
    if (failures >= FAILURES_MAX) throw error;
  }
  if (next !== before || isOver) readOn(isOver);
}

// Fetches on until the match is over, and calls `readOn` for more of it, with whether that is all.
// Rejects when `readOn` throws, or too many requests fail.
export async function follow(add, readOn, againMs = AGAIN_MS) {
  readOn(isOver);
  while (!isOver) {
    await new Promise((resolve) => setTimeout(resolve, againMs));
    await goOn(add, readOn);
  }
}
