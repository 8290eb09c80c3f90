// The data channel to the server, the better pipe (docs/web.md). Workers have no RTCPeerConnection,
// so it belongs to the page, and its datagrams pass a port to the worker and back, without copies.

const WAITING_BYTES_MAX = 65536; // that wait to leave: what is behind them is stale

function newPeer(Peer) {
  try {
    return new Peer();
  } catch {
    return undefined; // a browser without, or with none for pages
  }
}

async function negotiate(peer) {
  await peer.setLocalDescription(await peer.createOffer());
  const answer = await fetch("/play/rtc", {
    method: "POST", body: peer.localDescription.sdp, headers: { "Content-Type": "application/sdp" },
  });
  if (answer.status !== 200) throw new Error("the server has no data channels");
  await peer.setRemoteDescription({ type: "answer", sdp: await answer.text() });
}

// Offers a channel to the server, and returns what closes it. `onOpen` is called once it is open,
// with the port: each ArrayBuffer is a datagram, and null, from either side, the channel's end.
// Where no channel opens it is not called.
export function openChannel(onOpen, Peer = globalThis.RTCPeerConnection) {
  const peer = newPeer(Peer);
  if (!peer) return () => {};
  const { port1: port, port2: workers } = new MessageChannel();
  const channel = peer.createDataChannel("lockstep", {
    ordered: false, maxRetransmits: 0, protocol: "lockstep",
  });
  const close = () => {
    channel.onopen = null;
    port.postMessage(null);
    port.close();
    peer.close();
  };
  channel.binaryType = "arraybuffer";
  channel.onopen = () => onOpen(workers);
  channel.onclose = close;
  channel.onmessage = ({ data }) => {
    if (data instanceof ArrayBuffer) port.postMessage(data, [data]);
  };
  port.onmessage = ({ data }) => {
    if (data === null) {
      close();
    } else if (channel.readyState === "open" && channel.bufferedAmount < WAITING_BYTES_MAX) {
      channel.send(data);
    }
  };
  peer.onconnectionstatechange = () => {
    if (peer.connectionState === "failed") close();
  };
  negotiate(peer).catch(close);
  return close;
}
