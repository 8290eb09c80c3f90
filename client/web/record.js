// A recorded match: plays and checks the file that a person has opened, in a thread of its own.
import {
  bytesAt, calls, enter, event, load, obey, post, readReport, resize, show, textOnDesk,
} from "/play/screen.js";

const REPORT_MS = 200;

const loaded = load("/play/record.wasm");

// A part of the check after the other, and what the page asks in between.
function check() {
  if (calls.replay_web_check() !== 0) setTimeout(check, 0);
}

function verdict({ checking, checked, first, last, hashes, status, differs, why }) {
  if (checking === "1") {
    const share = (checked - first) / Math.max(last - first, 1);
    return `Checking: ${Math.floor(100 * share)} %`;
  }
  if (differs) return `State ${differs} is not the one that was recorded.`;
  return status === "OK" ? `As recorded: ${hashes} state hashes compared.` : why || status;
}

function report() {
  const found = readReport(calls.replay_web_report());
  post({ type: "record", report: found, verdict: verdict(found) });
  setTimeout(report, REPORT_MS);
}

obey({
  async open(message) {
    const bytes = new Uint8Array(await message.file.arrayBuffer());
    await enter(loaded);
    const at = calls.replay_web_room(bytes.length);
    if (at === 0) throw new Error("There is no room for a file of that size.");
    bytesAt(at, bytes.length).set(bytes);
    const status = calls.replay_web_open();
    const text = textOnDesk();
    if (status !== 0 || text) {
      post({ type: status === 0 ? "told" : "refused", text });
      return;
    }
    show(message.canvas, message, () => calls.replay_web_frame(), () => true);
    check();
    report();
  },
  size: resize,
  event,
});
