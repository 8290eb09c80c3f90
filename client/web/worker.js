// The client itself: the module, the pipe to the server and the picture. It works in a thread of
// its own, so that a page that is hidden or busy goes on playing.

const CUE_FRAMES = 9600; // LS_WEB_CUE_FRAMES
const REPORT_MS = 200;
const PIPE_AGAIN_MS = 500;
const SILENT_REPORTS_MAX = 6; // a server says something each half second
const PIPE_BYTES_MAX = 65536; // that wait to leave: what is behind them is stale
const GLYPHS = 473; // LS_CANVAS_GLYPHS
const FONT_QUARTERS = [3, 4, 7, 16]; // of the text's size, as client/window has them
const TEXT_PIXELS = 17; // of 13 points
const WORLD_PIXELS_MAX = 72;
const STATE_OVER = 7;

let calls; // what the module exports
let seat = new Uint8Array(0);
let socket;
let socketUrl;
let channel; // the port of the page's data channel (rtc.js), while that is the pipe
let pipe = "none"; // by which the newest datagram came
let channelCount = 0, silentReports = 0; // of it: datagrams that came, reports since the last one
let canvas, context;
let isOver = false;
let hasWaves = new Set();

const post = (message, moved = []) => self.postMessage(message, moved);
const bytesAt = (at, size) => new Uint8Array(calls.memory.buffer, at, size);
const textAt = (at, size) => new TextDecoder().decode(bytesAt(at, size));

function putOnDesk(text) {
  const at = calls.ls_web_desk();
  bytesAt(at, 4096).fill(0);
  new TextEncoder().encodeInto(text, bytesAt(at, 4095));
}

// ---- what the module imports ----

const page = {
  ls_page_line: (level, at, size) => post({ type: "line", level, text: textAt(at, size) }),
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
  ls_page_sound(id, left, right) {
    let wave;
    if (!hasWaves.has(id)) {
      const at = calls.ls_web_cue(id);
      wave = at === 0 ? undefined : new Int16Array(calls.memory.buffer, at, 2 * CUE_FRAMES).slice();
      hasWaves.add(id);
    }
    post({ type: "sound", id, left, right, wave });
  },
};

const wasi = {
  clock_time_get(clock, precision, at) {
    const ms = clock === 0 ? Date.now() : performance.now();
    new DataView(calls.memory.buffer).setBigUint64(at, BigInt(Math.round(ms * 1e6)), true);
    return 0;
  },
  random_get(at, size) {
    crypto.getRandomValues(bytesAt(at, size));
    return 0;
  },
  // What the module says before it gives up.
  fd_write(file, vectors, count, written) {
    const view = new DataView(calls.memory.buffer);
    let text = "", size = 0;
    for (let i = 0; i < count; i++) {
      const bytes = view.getUint32(vectors + 8 * i + 4, true);
      text += textAt(view.getUint32(vectors + 8 * i, true), bytes);
      size += bytes;
    }
    view.setUint32(written, size, true);
    post({ type: "line", level: 0, text: text.trimEnd() });
    return 0;
  },
  fd_close: () => 0,
  fd_seek: () => 0,
};

// ---- the pipe: see docs/web.md ----

let pipeTimer;

function receive(data, by) {
  if (!(data instanceof ArrayBuffer) || data.byteLength > 4096) return;
  pipe = by;
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
    silentReports = 0;
    channelCount++;
    receive(data, "channel");
  };
  moveHere();
}

function leaveChannel() {
  channel?.postMessage(null);
  channel?.close();
  channel = undefined;
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
  const lines = textAt(calls.ls_web_desk(), size - 1).split("\n");
  const found = Object.fromEntries(lines.map((line) => {
    const end = line.indexOf(" ");
    return [line.slice(0, end), line.slice(end + 1)];
  }));
  isOver = Number(found.state) === STATE_OVER;
  post({ type: "report", report: { ...found, pipe, channelCount } });
  if (isOver) {
    clearTimeout(turnTimer);
    leaveChannel();
    socket.close();
  } else {
    if (channel && ++silentReports > SILENT_REPORTS_MAX) leaveChannel();
    setTimeout(report, REPORT_MS);
  }
}

// ---- the picture ----

const nextFrame = self.requestAnimationFrame?.bind(self) ?? ((call) => setTimeout(call, 16));

function frame() {
  const at = calls.ls_web_frame();
  if (at !== 0) {
    const bytes = new Uint8ClampedArray(calls.memory.buffer, at, 4 * canvas.width * canvas.height);
    context.putImageData(new ImageData(bytes, canvas.width, canvas.height), 0, 0);
  }
  if (!isOver) nextFrame(frame);
}

// Letters as coverage, drawn by the browser, a row of them at a time.
function drawFont(which, pixels) {
  const rowOf = 43;
  const probe = new OffscreenCanvas(1, 1).getContext("2d");
  probe.font = `${pixels}px "DejaVu Sans Mono", Menlo, Consolas, monospace`;
  const width = Math.max(Math.round(probe.measureText("M").width), 1);
  const height = Math.ceil(pixels * 1.2);
  const row = new OffscreenCanvas(width * rowOf, height)
    .getContext("2d", { willReadFrequently: true });
  row.font = probe.font;
  row.textBaseline = "alphabetic";
  row.fillStyle = "#fff";
  const coverage = new Uint8Array(GLYPHS * width * height);
  for (let first = 0; first < GLYPHS; first += rowOf) {
    const count = Math.min(rowOf, GLYPHS - first);
    row.clearRect(0, 0, width * rowOf, height);
    for (let i = 0; i < count; i++) {
      const letter = String.fromCodePoint(calls.ls_canvas_glyph_code(first + i));
      row.fillText(letter, i * width, Math.round(pixels * 0.95), width);
    }
    const { data } = row.getImageData(0, 0, width * rowOf, height);
    for (let i = 0; i < count * width * height; i++) {
      const glyph = Math.floor(i / (width * height));
      const y = Math.floor(i / width) % height;
      const x = glyph * width + i % width;
      coverage[first * width * height + i] = data[4 * (y * width * rowOf + x) + 3];
    }
  }
  const at = calls.ls_web_font(which, width, height);
  if (at !== 0) bytesAt(at, coverage.length).set(coverage);
}

let fontScale = 0;

function resize({ width, height, scale }) {
  if (!calls.ls_web_resize(width, height)) return;
  canvas.width = width;
  canvas.height = height;
  if (scale !== fontScale) {
    fontScale = scale;
    FONT_QUARTERS.forEach((quarters, which) => {
      drawFont(which, Math.min(Math.round(TEXT_PIXELS * scale * quarters / 4), WORLD_PIXELS_MAX));
    });
  }
}

// ---- what the page says ----

const loaded = WebAssembly.instantiateStreaming(fetch("/play/play.wasm"), {
  env: page, wasi_snapshot_preview1: wasi,
});

const orders = {
  async open(message) {
    ({ canvas, socketUrl } = message);
    seat = message.seat;
    context = canvas.getContext("2d", { alpha: false });
    calls = (await loaded).instance.exports;
    calls._initialize();
    putOnDesk(`${message.invite}\0${message.name}`);
    const status = calls.ls_web_open(message.flags);
    if (status !== 0) {
      const text = textAt(calls.ls_web_desk(), 4096);
      post({ type: "refused", text: text.slice(0, text.indexOf("\0")) });
      return;
    }
    openPipe();
    resize(message);
    turn();
    frame();
    report();
  },
  channel: ({ port }) => enterChannel(port),
  size: resize,
  event({ kind, code, isDown, x, y, text }) {
    if (text !== undefined) putOnDesk(text);
    calls.ls_web_event(kind, code, isDown, x, y);
  },
  say({ text }) {
    putOnDesk(text);
    calls.ls_web_say();
  },
  leave() {
    calls.ls_web_leave();
  },
};

// One order after the other: the first one waits for the module.
let before = Promise.resolve();
self.onmessage = ({ data }) => {
  before = before.then(() => orders[data.type](data)).catch((error) => {
    post({ type: "refused", text: String(error.message ?? error) });
  });
};
