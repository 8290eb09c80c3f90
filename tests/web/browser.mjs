// A headless Chromium, driven through its own protocol over two pipes.
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const PROGRAMS = ["chromium-headless-shell", "chromium"];

export class Browser {
  #next = 1;
  #waiting = new Map();
  #process;
  #folder;
  lines = []; // what its pages have written to their consoles

  static async start(program) {
    const browser = new Browser();
    browser.#folder = await mkdtemp(join(tmpdir(), "lockstep-web-"));
    browser.#process = spawn(program, [
      "--headless", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu", "--mute-audio",
      `--user-data-dir=${browser.#folder}`, "--autoplay-policy=no-user-gesture-required",
    ], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    await new Promise((resolve, reject) => {
      browser.#process.once("spawn", resolve).once("error", reject);
    });
    let text = "";
    browser.#process.stdio[4].setEncoding("utf8").on("data", (part) => {
      const whole = (text + part).split("\0");
      text = whole.pop();
      whole.forEach((one) => browser.#receive(JSON.parse(one)));
    });
    return browser;
  }

  #receive(message) {
    const { resolve, reject } = this.#waiting.get(message.id) ?? {};
    this.#waiting.delete(message.id);
    if (message.method === "Runtime.consoleAPICalled") {
      this.lines.push(message.params.args.map((one) => one.value).join(" "));
    } else if (message.method === "Runtime.exceptionThrown") {
      this.lines.push(`exception: ${message.params.exceptionDetails.exception?.description}`);
    } else if (message.error) {
      reject?.(new Error(message.error.message));
    } else {
      resolve?.(message.result);
    }
  }

  call(method, params = {}, sessionId = undefined) {
    const id = this.#next++;
    this.#process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  // A page of this size in points; `pixels` of the screen for each; a phone's has touch. `before` is a
  // script that runs before those of the page.
  async open(url, { width, height, pixels = 1, isPhone = false, before = "" }) {
    const { targetId } = await this.call("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.call("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId);
    await page.call("Emulation.setDeviceMetricsOverride", {
      width, height, deviceScaleFactor: pixels, mobile: isPhone,
    });
    if (isPhone) await page.call("Emulation.setTouchEmulationEnabled", { enabled: true });
    await page.call("Runtime.enable");
    await page.call("Page.enable");
    await page.call("Page.addScriptToEvaluateOnNewDocument", { source: before });
    await page.call("Page.navigate", { url });
    return page;
  }

  async stop() {
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.call("Browser.close").catch(() => {}); // a signal would reach a script that started it
    await ended;
    this.#process.stdio.forEach((stream) => stream?.destroy());
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 9 });
  }
}

export class Page {
  constructor(browser, sessionId) {
    this.browser = browser;
    this.sessionId = sessionId;
  }

  call(method, params) {
    return this.browser.call(method, params, this.sessionId);
  }

  async evaluate(expression) {
    const { result, exceptionDetails } = await this.call("Runtime.evaluate", {
      expression, awaitPromise: true, returnByValue: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? "failed");
    return result.value;
  }

  // Waits until the expression is true, and gives its value.
  async until(expression, seconds = 60) {
    for (const end = Date.now() + seconds * 1000; Date.now() < end;) {
      const value = await this.evaluate(expression).catch(() => false);
      if (value) return value;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`never true: ${expression}\n${this.browser.lines.join("\n")}`);
  }

  async picture(file) {
    const { data } = await this.call("Page.captureScreenshot", { format: "png" });
    await writeFile(file, Buffer.from(data, "base64"));
  }

  async choose(selector, file) {
    const { root } = await this.call("DOM.getDocument");
    const { nodeId } = await this.call("DOM.querySelector", { nodeId: root.nodeId, selector });
    await this.call("DOM.setFileInputFiles", { nodeId, files: [file] });
  }

  // As when its window is put away, or another page comes before it.
  async hide(isHidden) {
    const { windowId } = await this.call("Browser.getWindowForTarget");
    const windowState = isHidden ? "minimized" : "normal";
    await this.call("Browser.setWindowBounds", { windowId, bounds: { windowState } });
    await this.until(`document.hidden === ${isHidden}`);
  }

  async click(x, y) {
    for (const type of ["mousePressed", "mouseReleased"]) {
      await this.call("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 });
    }
  }

  async key(code, key, isDown) {
    await this.call("Input.dispatchKeyEvent", { type: isDown ? "keyDown" : "keyUp", code, key,
      text: isDown && key.length === 1 ? key : undefined });
  }
}
