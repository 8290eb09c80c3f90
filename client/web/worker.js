// The client itself: the module, the pipe to the server and the picture. It works in a thread of
// its own, so that a page that is hidden or busy goes on playing.
import {
  bytesAt, calls, enter, event, load, obey, post, putOnDesk, readReport, resize, show, textOnDesk,
} from "/play/screen.js";

const REPORT_MS = 200;
const PIPE_AGAIN_MS = 500;
const SILENT_REPORTS_MAX = 6; // of a channel: a server says something each half second
const SILENT_SOCKET_REPORTS_MAX = 15; // TCP itself would wait longer and longer between two tries
const PIPE_BYTES_MAX = 65536; // that wait to leave: what is behind them is stale
const RELAY_WAIT_MS = 10000; // for a pipe, until a relay is said to be silent
const STATE_SEATED = 2, STATE_OVER = 7; // ls_session_state
const AT_RELAY = 8; // LS_WEB_AT_RELAY

let seat = new Uint8Array(0);
let socket;
let socketUrl;
let channel; // the port of the page's data channel (rtc.js), while that is the pipe
let pipe = "none"; // by which the newest datagram came
let channelCount = 0; // datagrams that came by it
let silentReports = 0; // since something came by the pipe that is sent by
let isOver = false;

// ---- what the module imports ----

const loaded = load("/play/play.wasm", {
  ls_page_send(at, size) {
    if (channel) {
      const { buffer } = bytesAt(at, size).slice();
      channel.postMessage(buffer, [buffer]);
    } else if (socket?.readyState === WebSocket.OPEN && socket.bufferedAmount < PIPE_BYTES_MAX) {
      socket.send(bytesAt(at, size));
    }
  },
  ls_page_load(at, capacity) {
    const size = Math.min(seat.length, capacity);
    bytesAt(at, size).set(seat.subarray(0, size));
    return size;
  },
  ls_page_store(at, size) {
    seat = bytesAt(at, size).slice();
    post({ type: "seat", seat });
  },
});

// ---- the pipe: see docs/web.md ----

let pipeTimer;

function receive(data, by) {
  if (!(data instanceof ArrayBuffer) || data.byteLength > 4096) return;
  pipe = by;
  if (by === (channel ? "channel" : "socket")) silentReports = 0;
  bytesAt(calls.ls_web_desk(), data.byteLength).set(new Uint8Array(data));
  calls.ls_web_receive(data.byteLength);
  setTurn(0);
}

// The server is asked to follow at once, wherever the page was before.
function moveHere() {
  calls.ls_pipe_note_move();
  setTurn(0);
}

function openPipe() {
  clearTimeout(pipeTimer);
  if (isOver || channel) return;
  socket = new WebSocket(socketUrl, "lockstep");
  socket.binaryType = "arraybuffer";
  socket.onopen = () => {
    if (channel) return;
    moveHere();
    post({ type: "pipe" }); // the page offers a channel
  };
  socket.onclose = () => {
    pipeTimer = setTimeout(openPipe, PIPE_AGAIN_MS);
  };
  socket.onmessage = ({ data }) => receive(data, "socket");
}

// The socket is the way back as long as the server leaves it open; then it is opened again.
function enterChannel(port) {
  channel = port;
  silentReports = 0;
  channel.onmessage = ({ data }) => {
    if (port !== channel) return;
    if (data === null) {
      leaveChannel();
      return;
    }
    channelCount++;
    receive(data, "channel");
  };
  moveHere();
}

// The network was away: a new connection is not bound to what the old one waits for.
function renewSocket() {
  silentReports = 0;
  socket.onopen = socket.onclose = socket.onmessage = null;
  socket.close();
  openPipe();
}

function leaveChannel() {
  channel?.postMessage(null);
  channel?.close();
  channel = undefined;
  silentReports = 0;
  if (socket.readyState === WebSocket.OPEN) moveHere();
  else if (socket.readyState !== WebSocket.CONNECTING) openPipe();
}

// ---- time ----

let turnTimer, turnDue = Infinity;

function setTurn(ms) {
  const due = performance.now() + ms;
  if (due >= turnDue || isOver) return;
  clearTimeout(turnTimer);
  turnDue = due;
  turnTimer = setTimeout(turn, ms);
}

function turn() {
  turnDue = Infinity;
  setTurn(Math.max(calls.ls_web_turn(), 1));
}

function report() {
  const size = calls.ls_web_report();
  if (size === 0) return;
  const found = readReport(size);
  isOver = Number(found.state) === STATE_OVER;
  post({ type: "report", report: { ...found, pipe, channelCount } });
  if (isOver) {
    clearTimeout(turnTimer);
    leaveChannel();
    socket.close();
  } else {
    silentReports++;
    if (channel && silentReports > SILENT_REPORTS_MAX) leaveChannel();
    const isBound = !channel && Number(found.state) >= STATE_SEATED;
    if (isBound && silentReports > SILENT_SOCKET_REPORTS_MAX) renewSocket();
    setTimeout(report, REPORT_MS);
  }
}

// ---- what the page says ----

obey({
  async open(message) {
    ({ seat, socketUrl } = message);
    await enter(loaded);
    putOnDesk(`${message.invite}\0${message.name}`);
    if (calls.ls_web_open(message.flags) !== 0) {
      post({ type: "refused", text: textOnDesk() });
      return;
    }
    openPipe();
    if (message.flags & AT_RELAY) setTurn(RELAY_WAIT_MS); // a relay is asked once the pipe is open
    else turn();
    show(message.canvas, message, () => calls.ls_web_frame(), () => !isOver);
    report();
  },
  channel: ({ port }) => enterChannel(port),
  size: resize,
  event,
  say({ text }) {
    putOnDesk(text);
    calls.ls_web_say();
  },
});
