// What the browser's client does in Chromium.
// usage: node chromium.mjs steps FOLDER PLAYERS TICKS    the lines of steps.mjs, of a page
//        node chromium.mjs match URL [PICTURE [phone]]   plays as a bot to the end: the last report, as
//                                                        JSON, and the milliseconds from click to playing;
//                                                        a phone's data channel becomes silent
//        node chromium.mjs list URL [PICTURE [phone]]    waits for a game on the page of a directory, follows its
//                                                        link and plays: the row's words and the last report, as JSON
//        node chromium.mjs code URL CODE [PICTURE]       types a code into the page of a relay and plays as a bot to
//                                                        the end: the last report, as JSON
//        node chromium.mjs watch URL                     watches by a link to the end: the last report, as JSON
//        node chromium.mjs hidden URL                    plays as a bot, hidden for HIDDEN_TICKS of the match, to the
//                                                        end: the last report, as JSON
//        node chromium.mjs again URL                     plays as a bot to the end, whatever becomes of the server: the
//                                                        last report and the tick that was lost, as JSON
//        node chromium.mjs refused URL                   presses Play: the words that are shown then, as JSON
//        node chromium.mjs record URL FILE [PICTURE]     opens a recorded match: its report once it is checked, as
//                                                        JSON, or the words about it
//        node chromium.mjs broadcast URL [PICTURE]       watches a broadcast to its end: its report then, as JSON,
//                                                        with whether it was live
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Browser, PROGRAMS } from "./browser.mjs";

const HIDDEN_TICKS = 300;
const DESK = { width: 1280, height: 720 };
const PHONE = { width: 390, height: 844, pixels: 2, isPhone: true };
// The page's data channel, once it has one: nothing that comes by it is heard any more.
const KEEP_CHANNEL = `{
  const create = RTCPeerConnection.prototype.createDataChannel;
  RTCPeerConnection.prototype.createDataChannel = function (...words) {
    window.channel = create.apply(this, words);
    return window.channel;
  };
}`;
const MUTE_CHANNEL = "window.channel.onmessage = null";
const REPORT = "JSON.parse(document.body.dataset.report ?? '{}')";

async function steps(browser, folder, players, ticks) {
  const here = dirname(fileURLToPath(import.meta.url));
  const files = { "/steps.mjs": [join(here, "steps.mjs"), "text/javascript"],
    "/steps.wasm": [join(folder, "steps.wasm"), "application/wasm"] };
  const server = createServer(async (request, response) => {
    const [file, type] = files[request.url] ?? [];
    response.setHeader("Content-Type", type ?? "text/html");
    response.end(file ? await readFile(file) : "<!doctype html>");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const page = await browser.open(`http://127.0.0.1:${server.address().port}/`, DESK);
  await page.until("location.href !== 'about:blank' && document.readyState === 'complete'");
  const lines = await page.evaluate(`(async () => {
    const { runSteps } = await import("/steps.mjs");
    const bytes = await (await fetch("/steps.wasm")).arrayBuffer();
    return runSteps(bytes, ${Number(players)}, ${Number(ticks)});
  })()`);
  server.close();
  server.closeAllConnections();
  console.log(lines.join("\n"));
}

async function match(browser, url, picture, kind) {
  const page = await browser.open(url.replace("#", "?bot#"), kind === "phone" ? PHONE : DESK);
  await page.until("document.activeElement?.id === 'play'");
  if (kind === "phone") await page.evaluate(KEEP_CHANNEL);
  const playing = page.until(`${REPORT}.state === "4"`);
  const start = performance.now();
  await page.evaluate("document.getElementById('play').click()");
  await playing;
  const ms = Math.round(performance.now() - start);
  if (picture) {
    await page.until(`Number(${REPORT}.tick) >= 120`);
    await page.picture(picture);
  }
  if (kind === "phone") {
    await page.until(`Number(${REPORT}.tick) >= 240`);
    await page.evaluate(MUTE_CHANNEL);
  }
  const report = await page.until(`${REPORT}.state === "7" && ${REPORT}`, 600);
  console.log(JSON.stringify({ ...report, clickToPlayingMs: ms }));
}

async function code(browser, url, text, picture) {
  const page = await browser.open(`${url}?bot`, PHONE);
  await page.until("document.activeElement?.id === 'code'");
  await page.evaluate(`document.getElementById('code').value = ${JSON.stringify(text.toLowerCase())}`);
  if (picture) await page.picture(picture);
  await page.evaluate("document.getElementById('play').click()");
  const report = await page.until(`${REPORT}.state === "7" && ${REPORT}`, 600);
  console.log(JSON.stringify({ ...report, fragment: await page.evaluate("location.hash") }));
}

async function watch(browser, url) {
  const page = await browser.open(url, DESK);
  const report = await page.until(`${REPORT}.state === "7" && ${REPORT}`, 600);
  console.log(JSON.stringify(report));
}

async function playAsBot(browser, url) {
  const page = await browser.open(url.replace("#", "?bot#"), DESK);
  await page.until("document.activeElement?.id === 'play'");
  await page.evaluate("document.getElementById('play').click()");
  await page.until(`Number(${REPORT}.tick) >= 60`);
  return page;
}

async function hidden(browser, url) {
  const page = await playAsBot(browser, url);
  await page.hide(true);
  const first = Number(await page.evaluate(`${REPORT}.tick`));
  await page.until(`document.hidden && Number(${REPORT}.tick) >= ${first + HIDDEN_TICKS}`, 600);
  await page.hide(false);
  const report = await page.until(`${REPORT}.state === "7" && ${REPORT}`, 600);
  console.log(JSON.stringify(report));
}

async function again(browser, url) {
  const page = await playAsBot(browser, url);
  console.log("playing");
  const lost = await page.until(`${REPORT}.state !== "4" && ${REPORT}.state !== undefined && ${REPORT}`, 600);
  const report = await page.until(`${REPORT}.state === "7" && ${REPORT}`, 600);
  console.log(JSON.stringify({ ...report, lost: Number(lost.tick) }));
}

async function refused(browser, url) {
  const page = await browser.open(url, DESK);
  await page.until("document.activeElement?.id === 'play'");
  await page.evaluate("document.getElementById('play').click()");
  const found = await page.until(`document.getElementById("card").hidden === false &&
    document.getElementById("words").textContent !== "Play in this browser." &&
    document.getElementById("words").textContent`, 120);
  console.log(JSON.stringify(found));
}

async function list(browser, url, picture, kind) {
  const page = await browser.open(url, kind === "phone" ? PHONE : DESK);
  const row = await page.until("document.querySelector('.game .play')?.closest('.game').innerText");
  if (picture) await page.picture(picture);
  await page.evaluate("document.querySelector('.game .play').click()");
  await page.until("document.activeElement?.id === 'play'");
  await page.evaluate("document.getElementById('play').click()");
  const report = await page.until(`${REPORT}.state === "7" && ${REPORT}`, 600);
  console.log(JSON.stringify({ ...report, row }));
}

async function record(browser, url, file, picture) {
  const page = await browser.open(url, DESK);
  await page.until("document.activeElement?.id === 'play'");
  await page.choose("#file", file);
  const report = await page.until(`${REPORT}.checking === "0" && ${REPORT} ||
    document.getElementById("card").hidden === false &&
    document.getElementById("words").textContent !== "Play in this browser." &&
    { words: document.getElementById("words").textContent }`, 120);
  if (report.tick !== undefined) { // the seek bar is along the lower edge
    await page.click(DESK.width / 2, DESK.height - 14);
    await page.until(`Number(${REPORT}.tick) >= ${report.last} / 2 - ${report.last} / 10`);
  }
  if (picture) await page.picture(picture);
  console.log(JSON.stringify(report));
}

async function broadcast(browser, url, picture) {
  const page = await browser.open(url, DESK);
  const words = await page.until(`${REPORT}.growing === "1" &&
    document.getElementById("verdict").textContent.match(/^Live.*/)?.[0]`, 60);
  if (picture) await page.picture(picture);
  const report = await page.until(`${REPORT}.growing === "0" && ${REPORT}.checking === "0" && ${REPORT}`, 300);
  console.log(JSON.stringify({ ...report, words }));
}

async function start() {
  for (const program of PROGRAMS) {
    try {
      return await Browser.start(program);
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
    }
  }
  throw new Error("no Chromium is installed");
}

const [command, ...words] = process.argv.slice(2);
const browser = await start();
try {
  const commands = { steps, match, code, watch, list, hidden, again, refused, record, broadcast };
  await commands[command](browser, ...words);
} finally {
  await browser.stop();
}
