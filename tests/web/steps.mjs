// The steps of every built-in simulation as the browser's module has them, in the lines of
// web_steps. Runs in node and in a page alike.
// usage: node steps.mjs steps.wasm PLAYERS TICKS

// Of the system nothing but a clock is there, and nothing else may be asked for.
const lacking = new Proxy({}, {
  get: (_, name) => () => { throw new Error(`the module calls ${String(name)}`); },
});

export async function runSteps(bytes, players, ticks) {
  const { instance } = await WebAssembly.instantiate(bytes, {
    env: lacking, wasi_snapshot_preview1: lacking,
  });
  const { memory, _initialize, ls_web_steps, ls_web_steps_name } = instance.exports;
  const lines = [];
  _initialize();
  for (let i = 0, at; (at = ls_web_steps_name(i)) !== 0; i++) {
    const text = new Uint8Array(memory.buffer, at);
    const name = String.fromCharCode(...text.subarray(0, text.indexOf(0)));
    const start = performance.now();
    const chain = BigInt.asUintN(64, ls_web_steps(i, players, ticks));
    const stepNs = (performance.now() - start) * 1e6 / ticks;
    lines.push(`${name} ${chain.toString(16).padStart(16, "0")} ${Math.round(stepNs)}`);
  }
  return lines;
}

if (typeof process !== "undefined") {
  const { readFile } = await import("node:fs/promises");
  const [file, players, ticks] = process.argv.slice(2);
  console.log((await runSteps(await readFile(file), Number(players), Number(ticks))).join("\n"));
}
