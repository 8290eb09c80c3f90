// A crowd of pages without a browser: the page's module, many times in one process, each with a WebSocket
// of its own to the door of a server. Nothing is painted. An address has a limit of players, so they come
// from several of the loopback.
// usage: node crowd.mjs PLAY.WASM URL COUNT    watches the match of the invite in URL: "watching" once all
//                                              are let in, and at the end what they have, as JSON
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { request } from "node:http";

const PER_ADDRESS = 50;
const STATE_SEATED = "2", STATE_OVER = "7"; // ls_session_state
const WATCHES = 1; // LS_WEB_WATCHES
const DESK_BYTES = 4096; // LS_WEB_DESK_BYTES
const LOOK_MS = 200;
const BINARY = 0x82, PING = 0x89, PONG = 0x8a; // first bytes of a whole frame

// A WebSocket from an address of this machine, as far as a door needs one: whole frames of datagrams.
class Pipe {
  constructor(url, address) {
    const key = randomBytes(16).toString("base64");
    const headers = {
      Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key,
      "Sec-WebSocket-Protocol": "lockstep", Origin: url.origin,
    };
    this.opened = new Promise((resolve, reject) => {
      const asked = request(new URL("/play/socket", url), { headers, localAddress: address });
      asked.on("upgrade", (_, socket, head) => {
        this.socket = socket.setNoDelay(true);
        this.waiting = head;
        socket.on("data", (part) => this.#read(part)).on("error", () => {});
        resolve();
      });
      asked.on("response", ({ statusCode }) => reject(new Error(`the door answers ${statusCode}`)));
      asked.on("error", reject).end();
    });
  }

  #read(part) {
    this.waiting = this.waiting.length ? Buffer.concat([this.waiting, part]) : part;
    for (;;) {
      const have = this.waiting;
      const isLong = have[1] === 126;
      const at = isLong ? 4 : 2;
      if (have.length < at) return;
      const end = at + (isLong ? have.readUInt16BE(2) : have[1]);
      if (have.length < end) return;
      this.waiting = have.subarray(end);
      if (have[0] === PING) this.#write(PONG, have.subarray(at, end));
      if (have[0] === BINARY) this.receive(have.subarray(at, end));
    }
  }

  #write(first, bytes) {
    const size = bytes.length;
    const head = size < 126 ? [first, 0x80 | size] : [first, 0x80 | 126, size >> 8, size & 255];
    this.socket.write(Buffer.concat([Buffer.from([...head, 0, 0, 0, 0]), bytes])); // a mask of zeros
  }

  send(bytes) {
    if (this.socket?.writable) this.#write(BINARY, Buffer.from(bytes));
  }
}

class Spectator {
  report = {};
  said = [];

  constructor(module, url, number) {
    const { exports: calls } = new WebAssembly.Instance(module, { env: this.#page(),
      wasi_snapshot_preview1: this.#wasi() });
    this.calls = calls;
    calls._initialize();
    this.#putOnDesk(`${url.hash.slice(1)}\0spectator-${number}`);
    const status = calls.ls_web_open(WATCHES);
    if (status !== 0) throw new Error(`status ${status}`);
    this.pipe = new Pipe(url, `127.0.0.${2 + Math.floor(number / PER_ADDRESS)}`);
    this.pipe.receive = (bytes) => {
      this.#at(calls.ls_web_desk(), bytes.length).set(bytes);
      calls.ls_web_receive(bytes.length);
    };
    this.#turn();
    this.#look();
  }

  #at(at, size) {
    return new Uint8Array(this.calls.memory.buffer, at, size);
  }

  #putOnDesk(text) {
    const desk = this.#at(this.calls.ls_web_desk(), DESK_BYTES);
    desk.fill(0);
    new TextEncoder().encodeInto(text, desk);
  }

  #page() {
    return {
      ls_page_send: (at, size) => this.pipe?.send(this.#at(at, size)),
      ls_page_line: (_, at, size) => this.said.push(new TextDecoder().decode(this.#at(at, size))),
      ls_page_load: () => 0, ls_page_store: () => {}, ls_page_letters: () => {}, ls_page_sound: () => {},
    };
  }

  #wasi() {
    return {
      clock_time_get: (clock, _, at) => {
        const ns = clock === 0 ? BigInt(Date.now()) * 1000000n : process.hrtime.bigint();
        new DataView(this.calls.memory.buffer).setBigUint64(at, ns, true);
        return 0;
      },
      random_get: (at, size) => {
        crypto.getRandomValues(this.#at(at, size));
        return 0;
      },
      fd_write: () => 0, fd_close: () => 0, fd_seek: () => 0,
    };
  }

  #turn() {
    const ms = this.calls.ls_web_turn();
    if (this.report.state !== STATE_OVER) setTimeout(() => this.#turn(), ms);
  }

  #look() {
    const size = this.calls.ls_web_report();
    const text = new TextDecoder().decode(this.#at(this.calls.ls_web_desk(), Math.max(size - 1, 0)));
    this.report = Object.fromEntries(text.split("\n").map((line) => line.split(/ (.*)/)));
    if (this.report.state === STATE_OVER) this.pipe.socket?.destroy();
    else setTimeout(() => this.#look(), LOOK_MS);
  }
}

const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
const [file, link, count] = process.argv.slice(2);
const module = await WebAssembly.compile(await readFile(file));
const crowd = [];
for (let number = 0; number < Number(count); number++) {
  crowd.push(new Spectator(module, new URL(link), number));
  await crowd.at(-1).pipe.opened;
}
while (!crowd.every(({ report }) => report.state >= STATE_SEATED)) await sleep(LOOK_MS);
console.log("watching");
while (!crowd.every(({ report }) => report.state === STATE_OVER)) await sleep(LOOK_MS);
console.log(JSON.stringify({
  hashes: [...new Set(crowd.map(({ report }) => report.hash))],
  ends: [...new Set(crowd.map(({ report }) => report.status))],
}));
