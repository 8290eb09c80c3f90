// What each worker of the page needs beside its module (play.wasm, record.wasm): the module's memory,
// the picture with its letters, sounds, and the orders of the page.

const CUE_FRAMES = 9600; // LS_WEB_CUE_FRAMES
const GLYPHS = 473; // LS_CANVAS_GLYPHS
const FONT_QUARTERS = [3, 4, 7, 16]; // of the text's size, as client/window has them
const TEXT_PIXELS = 17; // of 13 points
const WORLD_PIXELS_MAX = 72;
const LINE_HEIGHT = 1.2, BASELINE = 0.95; // of a letter's size, the line from the top
const DESK_BYTES = 4096; // LS_WEB_DESK_BYTES

export let calls; // what the module exports
let canvas, context;
const hasWaves = new Set();

export const post = (message, moved = []) => self.postMessage(message, moved);
export const bytesAt = (at, size) => new Uint8Array(calls.memory.buffer, at, size);
const textAt = (at, size) => new TextDecoder().decode(bytesAt(at, size));

export function textOnDesk() {
  const text = textAt(calls.ls_web_desk(), DESK_BYTES);
  return text.slice(0, text.indexOf("\0"));
}

export function putOnDesk(text) {
  const at = calls.ls_web_desk();
  bytesAt(at, DESK_BYTES).fill(0);
  new TextEncoder().encodeInto(text, bytesAt(at, DESK_BYTES - 1));
}

// Lines of a name and what it is.
export function readReport(size) {
  const lines = textAt(calls.ls_web_desk(), size - 1).split("\n");
  return Object.fromEntries(lines.map((line) => {
    const end = line.indexOf(" ");
    return [line.slice(0, end), line.slice(end + 1)];
  }));
}

// ---- what a module imports ----

const page = {
  ls_page_line: (level, at, size) => post({ type: "line", level, text: textAt(at, size) }),
  ls_page_sound(id, left, right) {
    let wave;
    if (!hasWaves.has(id)) {
      const at = calls.ls_web_cue(id);
      wave = at === 0 ? undefined : new Int16Array(calls.memory.buffer, at, 2 * CUE_FRAMES).slice();
      hasWaves.add(id);
    }
    post({ type: "sound", id, left, right, wave });
  },
  ls_page_letters(at, size, width, height, coverage) {
    const pixels = height / LINE_HEIGHT;
    const line = pen(width, height, pixels);
    line.textAlign = "center";
    line.fillText(textAt(at, size), width / 2, Math.round(pixels * BASELINE), width);
    const { data } = line.getImageData(0, 0, width, height);
    const bytes = bytesAt(coverage, width * height);
    bytes.forEach((_, i) => { bytes[i] = data[4 * i + 3]; });
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

// The module's file; `more` is what it imports besides.
export function load(file, more = {}) {
  return WebAssembly.instantiateStreaming(fetch(file), {
    env: { ...page, ...more }, wasi_snapshot_preview1: wasi,
  });
}

export async function enter(loaded) {
  const { instance } = await loaded.catch(({ message }) => {
    throw new Error(`The page's module cannot be loaded (${message}): try again later.`);
  });
  calls = instance.exports;
  calls._initialize();
}

// ---- the picture ----

const nextFrame = self.requestAnimationFrame?.bind(self) ?? ((call) => setTimeout(call, 16));

// Shows the pixels that `compose` finds in each frame, for as long as `goesOn`.
export function show(newCanvas, message, compose, goesOn) {
  canvas = newCanvas;
  context = canvas.getContext("2d", { alpha: false });
  resize(message);
  const frame = () => {
    const at = compose();
    if (at !== 0) {
      const bytes = new Uint8ClampedArray(calls.memory.buffer, at, 4 * canvas.width * canvas.height);
      context.putImageData(new ImageData(bytes, canvas.width, canvas.height), 0, 0);
    }
    if (goesOn()) nextFrame(frame);
  };
  frame();
}

// What letters of this size are drawn with.
function pen(width, height, pixels) {
  const made = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  made.font = `${pixels}px "DejaVu Sans Mono", Menlo, Consolas, monospace`;
  made.fillStyle = "#fff";
  return made;
}

// Letters as coverage, drawn by the browser, a row of them at a time.
function drawFont(which, pixels) {
  const rowOf = 43;
  const width = Math.max(Math.round(pen(1, 1, pixels).measureText("M").width), 1);
  const height = Math.ceil(pixels * LINE_HEIGHT);
  const row = pen(width * rowOf, height, pixels);
  const coverage = new Uint8Array(GLYPHS * width * height);
  for (let first = 0; first < GLYPHS; first += rowOf) {
    const count = Math.min(rowOf, GLYPHS - first);
    row.clearRect(0, 0, width * rowOf, height);
    for (let i = 0; i < count; i++) {
      const letter = String.fromCodePoint(calls.ls_canvas_glyph_code(first + i));
      row.fillText(letter, i * width, Math.round(pixels * BASELINE), width);
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

export function resize({ width, height, scale }) {
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

export function event({ kind, code, isDown, x, y, text }) {
  if (text !== undefined) putOnDesk(text);
  calls.ls_web_event(kind, code, isDown, x, y);
}

// One order after the other: the first one, which opens a match, waits for the module. Others mean
// nothing without a picture: a window changes its size, or is left, at any time.
export function obey(orders) {
  let before = Promise.resolve();
  const carryOut = (order) =>
    order.type === "open" || canvas ? orders[order.type]?.(order) : undefined;
  self.onmessage = ({ data }) => {
    before = before.then(() => carryOut(data)).catch((error) => {
      post({ type: "refused", text: String(error.message ?? error) });
    });
  };
}
