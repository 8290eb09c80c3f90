// A broadcast: a match that others play, fetched in segments, late, from any cache between; see
// docs/broadcast.md. Each segment is a journal; of all but the first the records alone are kept.
const AGAIN_MS = 1000;
const FILE_HEAD_BYTES = 16;
const RECORD_HEAD_BYTES = 24;
const MARK = 0x524a534c; // LSJR

let url; // of the match
let next = 0; // segment to fetch

async function get(path) {
  const reply = await fetch(path);
  if (reply.status === 404) throw new Error("There is no such broadcast, or nothing of it can be seen yet.");
  if (!reply.ok) throw new Error(`The broadcast cannot be read: status ${reply.status}.`);
  return reply;
}

// Behind the file's head and the record of its HEADER.
function recordsOf(bytes) {
  const view = new DataView(bytes.buffer);
  if (bytes.length < FILE_HEAD_BYTES + RECORD_HEAD_BYTES || view.getUint32(FILE_HEAD_BYTES, true) !== MARK) {
    throw new Error("This is no segment of a broadcast.");
  }
  return bytes.subarray(FILE_HEAD_BYTES + RECORD_HEAD_BYTES + view.getUint32(FILE_HEAD_BYTES + 8, true));
}

// Hands all that can be seen by now to `add`; says whether the match is over.
async function fetchOn(add, isFirst) {
  const index = await (await get(url)).json();
  if (isFirst) next = index.key;
  for (let begins = isFirst; next < index.segments; next++, begins = false) {
    const bytes = new Uint8Array(await (await get(`${url}/${next}`)).arrayBuffer());
    add(begins ? bytes : recordsOf(bytes));
  }
  return index.is_over;
}

let isOver = false;

// `match` is the id of one, or "newest" of those that the server shows.
export async function begin(match, add) {
  let id = match;
  if (id === "newest") {
    const { matches } = await (await get("/broadcast")).json();
    if (matches.length === 0) throw new Error("No match can be seen yet.");
    id = matches[0].match;
  }
  if (!/^[0-9a-f]{16}$/.test(id)) throw new Error("This is no match's id.");
  url = `/broadcast/${id}`;
  isOver = await fetchOn(add, true);
}

export function follow(add, readOn) {
  readOn(isOver);
  const again = async () => {
    const before = next;
    try {
      isOver = await fetchOn(add, false);
    } catch (error) {
      console.warn(String(error.message ?? error));
    }
    if (next !== before || isOver) readOn(isOver);
    if (!isOver) setTimeout(again, AGAIN_MS);
  };
  if (!isOver) setTimeout(again, AGAIN_MS);
}
