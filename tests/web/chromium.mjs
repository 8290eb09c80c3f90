// What the browser's client does in Chromium.
// usage: node chromium.mjs steps FOLDER PLAYERS TICKS    the lines of steps.mjs, of a page
//        node chromium.mjs match URL [PICTURE [phone|private]]   plays as a bot to the end: the last report, as
//                                                        JSON, and the milliseconds from click to playing;
//                                                        a phone's data channel becomes silent; a private
//                                                        browser keeps nothing for pages
//        node chromium.mjs list URL [PICTURE [phone]]    waits for a game on the page of a directory, follows its
//                                                        link and plays: the row's words and the last report, as JSON
//        node chromium.mjs code URL CODE [PICTURE]       types a code into the page of a relay and plays as a bot to
//                                                        the end: the last report, as JSON
//        node chromium.mjs watch URL                     watches by a link to the end: the last report, as JSON
//        node chromium.mjs hidden URL                    plays as a bot, hidden for HIDDEN_TICKS of the match, to the
//                                                        end: the last report, as JSON
//        node chromium.mjs again URL [PIPE]              "playing" once it plays as a bot, by this pipe, and to the end,
//                                                        whatever becomes of the server or the network: the
//                                                        last report, the tick that was lost and the words about that,
//                                                        as JSON
//        node chromium.mjs gone URL                      plays as a bot to the end, and then presses Play twice: "over",
//                                                        and a line for the words that are shown; once there is a line
//                                                        on the standard input it presses Play again, to the end: the
//                                                        last report, as JSON
//        node chromium.mjs far URL PORT                  plays as a bot to the end by a data channel, whose way leads
//                                                        by this port: "by the channel" once it does, and the last
//                                                        report, as JSON
//        node chromium.mjs touch URL FOLDER              plays on a phone by touch to the end: "waiting" once it has a
//                                                        seat, and the last report, the touches and what no finger
//                                                        can tap, as JSON; pictures in the folder
//        node chromium.mjs refused URL                   presses Play: the words that are shown then, as JSON
//        node chromium.mjs record URL FILE [PICTURE [phone]]  opens a recorded match: its report once it is checked,
//                                                        as JSON, or the words about it
//        node chromium.mjs broadcast URL [PICTURE]       watches a broadcast to its end: its report then, as JSON,
//                                                        with whether it was live
import { readFile } from "node:fs/promises";
import { once } from "node:events";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Browser, PROGRAMS } from "./browser.mjs";

const HIDDEN_TICKS = 300;
const FINGER = 40; // points that it needs
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
// The answer of the server names one candidate, which stands for another port from then on.
const leadChannelBy = (port) => `{
  const set = RTCPeerConnection.prototype.setRemoteDescription;
  RTCPeerConnection.prototype.setRemoteDescription = function ({ type, sdp }) {
    return set.call(this, { type, sdp: sdp.replace(/^(a=candidate:\\S+ \\S+ \\S+ \\S+ \\S+) \\d+/m, "$1 ${Number(port)}") });
  };
}`;
// As where a person has forbidden all pages to keep anything.
const PRIVATE = { ...DESK, before: `for (const name of ["localStorage", "sessionStorage"]) {
  Object.defineProperty(window, name, { get() { throw new DOMException("forbidden", "SecurityError"); } });
}` };
const SCREENS = { phone: PHONE, private: PRIVATE };
const REPORT = "JSON.parse(document.body.dataset.report ?? '{}')";

const IS_ASKED = `!document.getElementById("card").hidden && !document.getElementById("join").hidden`;
const WORDS = `document.getElementById("words").textContent`;

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
  const page = await browser.open(url.replace("#", "?bot#"), SCREENS[kind] ?? DESK);
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

async function again(browser, url, pipe) {
  const page = await playAsBot(browser, url);
  if (pipe) await page.until(`${REPORT}.pipe === ${JSON.stringify(pipe)}`);
  console.log("playing");
  const lost = await page.until(`${REPORT}.state !== "4" && ${REPORT}.state !== undefined && ${REPORT}`, 600);
  const words = await page.until("!document.getElementById('verdict').hidden && document.getElementById('verdict').textContent");
  const report = await page.until(`${REPORT}.state === "7" && ${REPORT}`, 600);
  console.log(JSON.stringify({ ...report, lost: Number(lost.tick), words }));
}

async function gone(browser, url) {
  const page = await playAsBot(browser, url);
  const pressPlay = () => page.evaluate("document.getElementById('play').click()");
  await page.until(`${REPORT}.state === "7" && ${IS_ASKED}`, 600);
  console.log("over");
  await once(process.stdin, "data");
  for (let i = 0; i < 2; i++) {
    await pressPlay();
    await page.until(`${IS_ASKED} && ${WORDS} !== "The match is over."`);
    console.log(await page.evaluate(WORDS));
  }
  await once(process.stdin, "data");
  process.stdin.destroy();
  await page.evaluate("delete document.body.dataset.report");
  await pressPlay();
  console.log(JSON.stringify(await page.until(`${REPORT}.state === "7" && ${REPORT}`, 600)));
}

async function far(browser, url, port) {
  const page = await browser.open(url.replace("#", "?bot#"), DESK);
  await page.until("document.activeElement?.id === 'play'");
  await page.evaluate(leadChannelBy(port));
  await page.evaluate("document.getElementById('play').click()");
  await page.until(`${REPORT}.pipe === "channel"`);
  console.log("by the channel");
  const report = await page.until(`${REPORT}.state === "7" && ${REPORT}`, 600);
  console.log(JSON.stringify(report));
}

// What can be tapped and is shown, but is too small for that, reaches beyond the window or lies on another.
const WRONG = `(() => {
  const all = [...document.querySelectorAll("button, input, #stick, #file")]
    .map((one) => [one.id || one.textContent, one.getBoundingClientRect()])
    .filter(([, { width }]) => width > 0);
  return all.flatMap(([name, a], i) => [
    ...(Math.min(a.width, a.height) < ${FINGER} ? [name + " is small: " + a.width + "x" + a.height] : []),
    ...(a.left < 0 || a.top < 0 || a.right > innerWidth || a.bottom > innerHeight ? [name + " is cut"] : []),
    ...all.slice(i + 1)
      .filter(([, b]) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
      .map(([other]) => name + " lies on " + other),
  ]);
})()`;

// A person with two thumbs, and what is seen on the way.
class Thumbs {
  taps = 0;
  pictures = 0;
  wrong = new Set();

  constructor(page, folder) {
    this.page = page;
    this.folder = folder;
  }

  async look(name) {
    for (const one of await this.page.evaluate(WRONG)) this.wrong.add(`${name}: ${one}`);
    await this.page.picture(join(this.folder, `${++this.pictures}-${name}.png`));
  }

  async put(points) {
    const type = points.length > 0 ? "touchStart" : "touchEnd";
    await this.page.call("Input.dispatchTouchEvent", { type, touchPoints: points });
    this.taps += points.length;
  }

  async place(selector) {
    return this.page.evaluate(`(({ x, y, width, height }) => ({ x: x + width / 2, y: y + height / 2 }))(
      document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect())`);
  }

  async tap(selector) {
    await this.put([{ ...await this.place(selector), id: 0 }]);
    await this.put([]);
  }

  // The stick to one side, with one button held, for so long.
  async steer(angle, ms) {
    const stick = await this.place("#stick");
    const to = { x: stick.x + 60 * Math.cos(angle), y: stick.y + 60 * Math.sin(angle), id: 0 };
    await this.put([{ ...stick, id: 0 }]);
    await this.page.call("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: [to] });
    await this.put([to, { ...await this.place("#buttons button:last-child"), id: 1 }]);
    await new Promise((resolve) => { setTimeout(resolve, ms); });
    await this.put([]);
  }

  async steerUntil(tick) {
    const isThere = `${REPORT}.state === "7" || Number(${REPORT}.tick) >= ${tick}`;
    for (let turns = 0; !await this.page.evaluate(isThere); turns++) await this.steer(turns, 300);
  }
}

async function turn(page, { width, height, pixels }) {
  await page.call("Emulation.setDeviceMetricsOverride", {
    width, height, deviceScaleFactor: pixels, mobile: true,
  });
  await page.until(`innerWidth === ${width}`);
}

async function touch(browser, url, folder) {
  const page = await browser.open(url, PHONE);
  const thumbs = new Thumbs(page, folder);
  await page.until("document.activeElement?.id === 'play'");
  await turn(page, { ...PHONE, width: PHONE.height, height: PHONE.width });
  await thumbs.look("card-turned");
  await turn(page, PHONE);
  await thumbs.look("card");
  await thumbs.tap("#name");
  await page.call("Input.insertText", { text: "Ann on a phone" });
  await thumbs.tap("#play");
  await page.until(`${REPORT}.state === "2"`);
  await thumbs.look("waiting");
  console.log("waiting");
  await thumbs.steerUntil(120);
  await thumbs.look("start");
  await thumbs.tap("#chat");
  await page.until("document.activeElement?.id === 'said'");
  await page.call("Input.insertText", { text: "hello from a phone" });
  await thumbs.look("chat");
  await page.key("Enter", "\r", true);
  await page.key("Enter", "\r", false);
  await thumbs.steerUntil(600);
  await thumbs.look("middle");
  await turn(page, { ...PHONE, width: PHONE.height, height: PHONE.width });
  await thumbs.steerUntil(900);
  await thumbs.look("turned");
  await turn(page, PHONE);
  await thumbs.steerUntil(Infinity);
  const report = await page.until(`!document.getElementById("card").hidden && ${REPORT}`);
  await thumbs.look("end");
  const { taps, pictures, wrong } = thumbs;
  console.log(JSON.stringify({ ...report, taps, pictures, wrong: [...wrong].join(", ") }));
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

async function record(browser, url, file, picture, kind) {
  const screen = kind === "phone" ? PHONE : DESK;
  const page = await browser.open(url, screen);
  await page.until("document.activeElement?.id === 'play'");
  await page.choose("#file", file);
  const report = await page.until(`${REPORT}.checking === "0" && ${REPORT} ||
    document.getElementById("card").hidden === false &&
    document.getElementById("words").textContent !== "Play in this browser." &&
    { words: document.getElementById("words").textContent }`, 120);
  if (report.tick !== undefined) { // the seek bar is along the lower edge
    await page.click(screen.width / 2, screen.height - 14);
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
  const commands = { steps, match, code, watch, list, hidden, again, gone, far, touch, refused, record, broadcast };
  await commands[command](browser, ...words);
} finally {
  await browser.stop();
}
