// How a page comes to its data channel, and what passes it (client/web/rtc.js).
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { openChannel } from "../../client/web/rtc.js";

class Channel {
  states = []; // as it is asked for them
  amounts = [];
  sent = [];

  get readyState() {
    return this.states.shift() ?? "open";
  }

  get bufferedAmount() {
    return this.amounts.shift() ?? 0;
  }

  send(data) {
    this.sent.push(...new Uint8Array(data));
    this.onsent?.();
  }
}

// A browser's side of a connection, as far as the page sees it.
class Peer {
  static last;
  channel = new Channel();
  isClosed = false;

  constructor() {
    Peer.last = this;
  }

  createDataChannel(label, options) {
    this.options = options;
    return this.channel;
  }

  createOffer = async () => ({ type: "offer", sdp: "an offer" });
  setLocalDescription = async (description) => {
    this.localDescription = description;
  };

  setRemoteDescription = async (description) => {
    this.answer = description;
  };

  close() {
    this.isClosed = true;
    this.onclosed?.();
  }
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

function answerWith(status, text) {
  const asked = [];
  globalThis.fetch = async (...words) => {
    asked.push(words);
    return { status, text: async () => text };
  };
  return asked;
}

async function opened() {
  answerWith(200, "an answer");
  let port;
  const close = openChannel((one) => (port = one), Peer);
  await turn();
  Peer.last.channel.onopen();
  return { close, port, peer: Peer.last, channel: Peer.last.channel };
}

test("the offer goes to the server, and its answer to the browser", async () => {
  const asked = answerWith(200, "an answer");
  const close = openChannel(() => assert.fail("it is not open yet"), Peer);
  await turn();
  assert.deepEqual(asked, [["/play/rtc", { method: "POST", body: "an offer",
    headers: { "Content-Type": "application/sdp" } }]]);
  assert.deepEqual(Peer.last.options, { ordered: false, maxRetransmits: 0, protocol: "lockstep" });
  assert.deepEqual(Peer.last.answer, { type: "answer", sdp: "an answer" });
  close();
  assert.ok(Peer.last.isClosed);
  assert.equal(Peer.last.channel.onopen, null);
});

test("without an answer, or without channels in the browser, there is no error", async () => {
  for (const status of [201, 403, 501]) {
    answerWith(status, "an answer");
    openChannel(() => assert.fail("open"), Peer);
    await turn();
    assert.ok(Peer.last.isClosed, status);
    assert.equal(Peer.last.answer, undefined);
  }
  globalThis.fetch = () => Promise.reject(new Error("no network"));
  openChannel(() => assert.fail("open"), Peer);
  await turn();
  assert.ok(Peer.last.isClosed);
  openChannel(() => assert.fail("open"), undefined)();
  openChannel(() => assert.fail("open"), () => {
    throw new Error("forbidden");
  })();
});

test("datagrams pass both ways, without copies, and stale ones not at all", async () => {
  const { close, port, channel } = await opened();
  const came = Uint8Array.of(1, 2, 3).buffer;
  channel.onmessage({ data: "a text" });
  channel.onmessage({ data: came });
  const [data] = await once(port, "message");
  assert.deepEqual(new Uint8Array(data), Uint8Array.of(1, 2, 3));
  assert.equal(came.byteLength, 0); // it was moved
  channel.states = ["open", "open", "closing"];
  channel.amounts = [0, 65536];
  const hasSent = new Promise((resolve) => {
    channel.onsent = () => channel.sent.length === 2 && resolve();
  });
  for (const byte of [4, 5, 6, 7]) port.postMessage(Uint8Array.of(byte).buffer);
  await hasSent;
  assert.deepEqual(channel.sent, [4, 7]);
  close();
  port.close();
});

test("either side ends it, and the other one is told", async () => {
  for (const end of [({ channel }) => channel.onclose(), ({ peer }) => {
    peer.connectionState = "failed";
    peer.onconnectionstatechange();
  }]) {
    const one = await opened();
    end(one);
    const [data] = await once(one.port, "message");
    assert.equal(data, null);
    assert.ok(one.peer.isClosed);
  }
  const { port, peer } = await opened();
  peer.connectionState = "disconnected"; // it may come back
  peer.onconnectionstatechange();
  assert.ok(!peer.isClosed);
  const isClosed = new Promise((resolve) => (peer.onclosed = resolve));
  port.postMessage(null);
  await isClosed;
});
