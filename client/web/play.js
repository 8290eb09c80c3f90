// The page around the client: what a person does goes to the worker, and what it says is shown.
import * as controls from "/play/controls.js";
import { relayPort } from "/play/door.js";
import { openChannel } from "/play/rtc.js";

const WATCHES = 1, BELIEVES = 2, IS_BOT = 4, AT_RELAY = 8; // bits of ls_web_open
const RELAY_PORT = 7310; // LS_RELAY_DEFAULT_PORT
const STATE_CONNECTING = "0", STATE_SEATED = "2", STATE_LOST = "5", STATE_OVER = "7"; // ls_session_state
const CUE_HZ = 48000; // LS_WEB_CUE_HZ
const PIXELS_MAX = 2400000; // of a picture: beyond that it is shown larger
const AGAIN_MS = 1000; // before the next match of a room
const PRESS_MS = 450; // a finger that stays so long is the right button

const of = (id) => document.getElementById(id);
const hasTouch = matchMedia("(pointer: coarse)").matches;
const isRelay = relayPort !== 0; // the page's host is no server: it takes the code of one
let invite = controls.inviteOf(location.hash);
const asked = new URLSearchParams(location.search);
let worker, isFresh = false, report = {}, line = "", wasOpen = false, isRecord = false;
let isWatching = asked.has("watch");
let closeChannel = () => {};

// ---- what is lacking ----

function lacking() {
  if (!("WebAssembly" in window)) return "WebAssembly, which plays the match";
  if (!("OffscreenCanvas" in window) || !HTMLCanvasElement.prototype.transferControlToOffscreen) {
    return "OffscreenCanvas, on which the match is painted";
  }
  if (!("WebSocket" in window)) return "WebSocket, by which it reaches the server";
  return "";
}

function say(words, offersPlay) {
  of("words").textContent = words;
  of("card").classList.remove("wide");
  of("join").hidden = !offersPlay;
  of("card").hidden = false;
}

// ---- the client ----

// One that cannot be loaded says nothing in its error: the server that it comes from is gone.
function start(file = "/play/worker.js") {
  worker = new Worker(file, { type: "module" });
  isFresh = true;
  worker.onmessage = ({ data }) => answers[data.type](data);
  worker.onerror = ({ message }) => {
    isFresh = false;
    say(message ? `The client of this page has stopped: ${message}. Load the page again.` :
      "The server of this page does not answer, so no match can be opened: try again later.", true);
  };
}

function size() {
  const { clientWidth, clientHeight } = of("picture");
  const most = Math.sqrt(PIXELS_MAX / Math.max(clientWidth * clientHeight, 1));
  const scale = Math.min(window.devicePixelRatio || 1, most);
  return {
    width: Math.max(Math.round(clientWidth * scale), 1),
    height: Math.max(Math.round(clientHeight * scale), 1), scale,
  };
}

// A browser that keeps nothing for pages throws at the name of its store.
function keep(store, key, text) {
  try {
    window[store].setItem(key, text);
  } catch {} // the match is played all the same
}

function kept(store, key) {
  try {
    return window[store].getItem(key) ?? "";
  } catch {
    return "";
  }
}

function readSeat() {
  const text = kept("sessionStorage", "seat");
  return Uint8Array.from(text.match(/../g) ?? [], (byte) => parseInt(byte, 16));
}

// A canvas that was handed to a worker stays there: each match has its own.
function freshCanvas() {
  const old = of("picture");
  const canvas = old.cloneNode(false);
  old.replaceWith(canvas);
  listen(canvas);
  canvas.focus();
  return canvas.transferControlToOffscreen();
}

// What a client is told: an invite, a code with its relay, or the host alone.
function place(host) {
  return isRelay && !invite.includes(":") ? `${invite}@${host}` : invite || host;
}

function open() {
  const name = of("name").value.trim() || (isWatching ? "spectator" : "player");
  keep("localStorage", "name", of("name").value.trim());
  showControls(false);
  const canvas = freshCanvas();
  [report, line, wasOpen] = [{}, "", false];
  worker.postMessage({
    type: "open", canvas, name, ...size(), invite: place(location.host), seat: readSeat(),
    flags: (isWatching ? WATCHES : 0) | (invite || isRelay ? 0 : BELIEVES) |
      (asked.has("bot") ? IS_BOT : 0) | (isRelay ? AT_RELAY : 0),
    socketUrl: `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/play/socket`,
  }, [canvas]);
  hideKeys();
}

// A match takes the place of the card, and so does a record, which has no stick.
function showControls(ofRecord) {
  isFresh = false;
  isRecord = ofRecord;
  of("card").hidden = true;
  of("verdict").hidden = true;
  of("touch").hidden = !hasTouch || isRecord;
  document.body.classList.toggle("touched", hasTouch && !isRecord);
}

// On a phone the names of keys are of no use.
function hideKeys() {
  if (!hasTouch) return;
  send(controls.KEY, controls.KEY_F1, 1);
  send(controls.KEY, controls.KEY_F1, 0);
}

// Another match of the same room, or another try, is played by a client of its own.
function again() {
  worker.terminate();
  closeChannel();
  start();
  open();
}

function begin(watches) {
  isWatching = watches;
  takeCode();
  wakeSound();
  if (isFresh) open();
  else again();
}

// The code that was typed is the page's from now on, also when it is loaded again.
function takeCode() {
  if (of("code").hidden) return;
  invite = of("code").value.trim();
  history.replaceState(null, "", `#${encodeURIComponent(invite)}`);
  showCommand();
}

function showCommand() {
  const { hostname } = location;
  const host = relayPort === RELAY_PORT ? hostname : `${hostname}:${relayPort}`;
  of("native").hidden = !invite;
  of("command").textContent = `lockstep-client '${place(host)}'`;
}

// A recorded match is shown by a client of its own as well, which no server knows of; so is a
// broadcast.
function openRecord(record) {
  worker.terminate();
  closeChannel();
  wakeSound();
  start("/play/record.js");
  showControls(true);
  const canvas = freshCanvas();
  worker.postMessage({ type: "open", canvas, ...record, ...size() }, [canvas]);
  hideKeys();
}

async function openFile(file) {
  if (!file) return;
  const { isReport, readReport } = await import("/play/record_report.js");
  if (!await isReport(file)) {
    openRecord({ file });
    return;
  }
  const shown = await readReport(file, document).catch(({ message }) => message);
  say("", true);
  of("words").append(shown);
  of("card").classList.toggle("wide", typeof shown !== "string");
}

const answers = {
  line({ level, text }) {
    if (text.includes("; trying ")) line = text; // for as long as there is no link
    [console.error, console.warn, console.info][level]?.(text);
  },
  seat({ seat }) {
    const text = Array.from(seat, (byte) => byte.toString(16).padStart(2, "0")).join("");
    keep("sessionStorage", "seat", text);
  },
  // The socket is open; the match begins by it, and goes on by a channel.
  pipe() {
    wasOpen = true;
    closeChannel();
    closeChannel = openChannel((port) => worker.postMessage({ type: "channel", port }, [port]));
  },
  refused: ({ text }) => say(text, true),
  told: ({ text }) => say(text, true),
  record(message) {
    ({ report } = message);
    document.body.dataset.report = JSON.stringify(report);
    of("verdict").hidden = false;
    of("verdict").textContent = message.verdict;
  },
  sound: playSound,
  report(message) {
    report = message.report;
    document.body.dataset.report = JSON.stringify(report);
    of("ready").hidden = report.state !== STATE_SEATED;
    of("verdict").hidden = ![STATE_CONNECTING, STATE_LOST].includes(report.state) || !line;
    of("verdict").textContent = line;
    if (report.state === STATE_OVER) over();
  },
};

function over() {
  if (report.status === "OK" && report.next === "1") {
    setTimeout(again, AGAIN_MS);
  } else if (report.lacks) {
    say(`The server plays ${report.lacks}, which this page lacks: it was built without that game. ` +
      "Play it with lockstep-client and the game's plug-in.", false);
  } else if (report.status === "OK") {
    say("The match is over.", true);
  } else if (wasOpen && report.status === "TIMED_OUT" && !report.simulation && !isRelay) {
    say("This server does not answer to the invite of this link, which is another server's or an " +
      "old one: ask for a new link.", true);
  } else {
    const words = report.why || report.status;
    say(wasOpen ? words : `The server does not answer: ${words}`, true);
  }
}

// ---- sound ----

let audio;
const waves = new Map();

function playSound({ id, left, right, wave }) {
  if (wave) waves.set(id, wave);
  const pairs = waves.get(id);
  if (!audio || audio.state !== "running" || !pairs) return;
  const buffer = audio.createBuffer(2, pairs.length / 2, CUE_HZ);
  [left, right].forEach((gain, side) => {
    const samples = buffer.getChannelData(side);
    for (let i = 0; i < samples.length; i++) samples[i] = pairs[2 * i + side] / 32768 * gain;
  });
  const source = audio.createBufferSource();
  source.buffer = buffer;
  source.connect(audio.destination);
  source.start();
}

// A browser lets a page make sounds once somebody has touched it.
function wakeSound() {
  audio ??= "AudioContext" in window ? new AudioContext() : null;
  audio?.resume();
}

// ---- what a person does ----

function send(kind, code = 0, isDown = 0, x = 0, y = 0, text = undefined) {
  worker?.postMessage({ type: "event", kind, code, isDown, x, y, text });
}

function at(event) {
  const { scale } = size();
  return [event.clientX * scale, event.clientY * scale];
}

function onKey(event, isDown) {
  const isInPage = event.target instanceof HTMLInputElement || !of("card").hidden;
  const usage = controls.keyUsage(event.code);
  if (isInPage || controls.isBrowsers(event)) return;
  event.preventDefault();
  if (usage > 0 && !event.repeat) send(controls.KEY, usage, isDown ? 1 : 0);
  if (event.repeat && isDown && report.typing === "1") send(controls.KEY, usage, 1);
  if (isDown && event.key.length === 1) send(controls.TEXT, 0, 0, 0, 0, event.key);
}

// A finger that stays is the right button, else it is the left one.
function listen(canvas) {
  let press, button = 0, from = [0, 0];
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    canvas.focus();
    button = Math.min(event.button, 2);
    from = at(event);
    send(controls.MOTION, 0, 0, ...from);
    send(controls.BUTTON, button, 1, ...from);
    if (event.pointerType === "touch") {
      press = setTimeout(() => {
        send(controls.BUTTON, 0, 0, ...from);
        button = 2;
        send(controls.BUTTON, 2, 1, ...from);
      }, PRESS_MS);
    }
  });
  canvas.addEventListener("pointermove", (event) => {
    const to = at(event);
    if (Math.hypot(to[0] - from[0], to[1] - from[1]) > 12) clearTimeout(press);
    send(controls.MOTION, 0, 0, ...to);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(end, (event) => {
      clearTimeout(press);
      send(controls.BUTTON, button, 0, ...at(event));
    });
  }
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    send(controls.WHEEL, event.deltaY < 0 ? 1 : 0, 0, ...at(event));
  }, { passive: false });
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
}

// ---- a phone's stick and buttons ----

function listenToStick() {
  const base = of("stick"), knob = of("knob");
  let finger = null;
  const move = (event) => {
    if (event.pointerId !== finger) return;
    const box = base.getBoundingClientRect();
    const [x, y] = controls.stickAt(event.clientX - box.left - box.width / 2,
      event.clientY - box.top - box.height / 2, box.width / 2);
    knob.style.transform = `translate(${x * 40}px, ${-y * 40}px)`;
    send(controls.STICK, 0, 0, x, y);
  };
  const end = (event) => {
    if (event.pointerId !== finger) return;
    finger = null;
    knob.style.transform = "";
    send(controls.STICK, 0, 0, 0, 0);
  };
  base.addEventListener("pointerdown", (event) => {
    finger = event.pointerId;
    base.setPointerCapture(finger);
    move(event);
  });
  base.addEventListener("pointermove", move);
  base.addEventListener("pointerup", end);
  base.addEventListener("pointercancel", end);
}

function listenToButtons() {
  for (const button of of("buttons").children) {
    const key = Number(button.dataset.key);
    button.addEventListener("pointerdown", () => send(controls.KEY, key, 1));
    for (const end of ["pointerup", "pointercancel", "pointerleave"]) {
      button.addEventListener(end, () => send(controls.KEY, key, 0));
    }
  }
  of("ready").addEventListener("click", () => {
    send(controls.KEY, controls.KEY_R, 1);
    send(controls.KEY, controls.KEY_R, 0);
  });
  of("chat").addEventListener("click", () => {
    of("line").hidden = !of("line").hidden;
    of("said").focus();
  });
  of("line").addEventListener("submit", (event) => {
    event.preventDefault();
    if (of("said").value) worker.postMessage({ type: "say", text: of("said").value });
    of("said").value = "";
    of("line").hidden = true;
  });
}

let pad = null;

function lookAtPad() {
  const [found] = (navigator.getGamepads?.() ?? []).filter((one) => one?.mapping === "standard");
  if (found) {
    const { now, events } = controls.padEvents(pad, found);
    events.forEach((event) => send(...event));
    pad = now;
  } else if (pad) {
    send(controls.PAD_AWAY);
    pad = null;
  }
  requestAnimationFrame(lookAtPad);
}

// ---- the page ----

function prepare() {
  const lacks = lacking();
  if (lacks) {
    say(`This browser lacks ${lacks}. A newer one has it; lockstep-client plays without one.`, false);
    return;
  }
  of("name").value = kept("localStorage", "name");
  of("code").hidden = !isRelay || invite.includes(":");
  of("code").required = !of("code").hidden;
  of("code").value = of("code").hidden ? "" : invite;
  showCommand();
  of("join").addEventListener("submit", (event) => {
    event.preventDefault();
    begin(false);
  });
  of("watch").addEventListener("click", () => of("join").reportValidity() && begin(true));
  of("file").addEventListener("change", () => openFile(of("file").files[0]));
  window.addEventListener("dragover", (event) => event.preventDefault());
  window.addEventListener("drop", (event) => {
    event.preventDefault();
    if (isRecord || !of("card").hidden) openFile(event.dataTransfer.files[0]);
  });
  window.addEventListener("keydown", (event) => onKey(event, true));
  window.addEventListener("keyup", (event) => onKey(event, false));
  window.addEventListener("blur", () => send(controls.AWAY));
  window.addEventListener("resize", () => worker.postMessage({ type: "size", ...size() }));
  window.addEventListener("pointerdown", wakeSound);
  window.addEventListener("hashchange", () => location.reload());
  listenToStick();
  listenToButtons();
  start();
  requestAnimationFrame(lookAtPad);
  if (asked.has("broadcast")) openRecord({ broadcast: asked.get("broadcast") || "newest" });
  else if (readSeat().length > 0 || isWatching) open(); // loaded again in mid-match, or a link to watch
  else if (isRelay && !invite) of("code").focus();
  else of("play").focus();
}

prepare();
