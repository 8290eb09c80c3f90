// A recorded match: plays and checks the file that a person has opened, or a broadcast, in a thread
// of its own.
import * as broadcast from "/play/broadcast.js";
import {
  bytesAt, calls, enter, event, load, obey, post, readReport, resize, show, textOnDesk,
} from "/play/screen.js";

const REPORT_MS = 200;
const FILE = 0, FIRST_SEGMENT = 1, NEXT_SEGMENT = 2; // of replay_web_add

const loaded = load("/play/record.wasm");

// A part of the check after the other, and what the page asks in between.
function check() {
  if (calls.replay_web_check() !== 0) setTimeout(check, 0);
}

function verdict({ checking, checked, first, growing, last, hashes, status, differs, why }) {
  if (checking === "1") {
    const share = (checked - first) / Math.max(last - first, 1);
    return `Checking: ${Math.floor(100 * share)} %`;
  }
  if (growing === "1" && status === "OK") return `Live, late: ${hashes} state hashes are right.`;
  if (differs) return `State ${differs} is not the one that was recorded.`;
  return status === "OK" ? `As recorded: ${hashes} state hashes compared.` : why || status;
}

// Bytes of the file, or of those that it grows by.
function add(bytes, part = FILE) {
  const at = calls.replay_web_room(bytes.length);
  if (at === 0) throw new Error("There is no room for a file of that size.");
  bytesAt(at, bytes.length).set(bytes);
  if (calls.replay_web_add(part) !== 0) throw new Error("This is no segment of a broadcast.");
}

const addSegment = (bytes, isFirst) => add(bytes, isFirst ? FIRST_SEGMENT : NEXT_SEGMENT);

function readOn(isOver) {
  if (calls.replay_web_read_on(isOver ? 1 : 0) !== 0) throw new Error(textOnDesk());
  check();
}

function report() {
  const found = readReport(calls.replay_web_report());
  post({ type: "record", report: found, verdict: verdict(found) });
  setTimeout(report, REPORT_MS);
}

function refuse({ message }) {
  post({ type: "refused", text: message });
}

obey({
  async open(message) {
    await enter(loaded);
    if (message.file?.size === 0) throw new Error("This file is empty.");
    if (message.broadcast) await broadcast.begin(message.broadcast, addSegment);
    else add(new Uint8Array(await message.file.arrayBuffer()));
    const status = calls.replay_web_open();
    const text = textOnDesk();
    if (status !== 0 || text) {
      post({ type: status === 0 ? "told" : "refused", text });
      return;
    }
    show(message.canvas, message, () => calls.replay_web_frame(), () => true);
    if (message.broadcast) broadcast.follow(addSegment, readOn).catch(refuse);
    check();
    report();
  },
  size: resize,
  event,
});
