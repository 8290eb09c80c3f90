"use strict";
// Shows what the API of the service says, and asks it for what the buttons say. Names and texts come
// from players: they reach the page through textContent alone.
(() => {
  const API = "/api/v1/";
  const PERIOD_MS = 2000;
  const EVENTS_KEPT = 256;
  const TREND_MS = 600000;
  const BIN_EDGES_MS = [0.25, 0.5, 1, 2, 4, 8, 16, 33, 66, 133, 500];
  const byId = (id) => document.getElementById(id);

  let chosen = null; // the room whose players are shown
  let lastEvent = 0;
  let stream = null; // aborts the stream of events

  // ---- asking ----

  const token = () => sessionStorage.getItem("lockstep-token") || "";
  const headers = () => ({ Authorization: "Bearer " + token() });

  function showProblem(text) {
    byId("problem").textContent = text;
    byId("problem").hidden = !text;
  }

  async function ask(method, path, body) {
    const options = { method, headers: headers(), cache: "no-store" };
    if (body !== undefined) {
      options.headers["Content-Type"] = "application/json";
      options.body = JSON.stringify(body);
    }
    const reply = await fetch(API + path, options);
    const answer = await reply.json();
    if (!reply.ok) {
      const problem = new Error(answer.error || "HTTP " + reply.status);
      problem.status = reply.status;
      throw problem;
    }
    return answer;
  }

  // What was done where that says more than the tables do: a file, what it lacks.
  function showNotice(answer) {
    const said = answer.name ? ["opened " + answer.name]
      : answer.result && answer.result !== "done" ? [answer.result, answer.lacks] : [];
    const text = said.filter(Boolean).join(": ");
    byId("notice").textContent = text;
    byId("notice").hidden = !text;
  }

  async function act(question, method, path, body) {
    if (question && !confirm(question)) {
      return;
    }
    try {
      showNotice(await ask(method, path, body));
      await refresh();
    } catch (problem) {
      showProblem(problem.message);
    }
  }

  function errorOf(text) {
    try {
      return JSON.parse(text).error;
    } catch {
      return text;
    }
  }

  // ---- building ----

  function element(tag, text, className) {
    const made = document.createElement(tag);
    made.textContent = text;
    if (className) {
      made.className = className;
    }
    return made;
  }

  function button(text, handler, className) {
    const made = element("button", text, className);
    made.type = "button";
    made.addEventListener("click", handler);
    return made;
  }

  // Cells are texts or elements, or lists of them.
  function row(...cells) {
    const made = document.createElement("tr");
    for (const cell of cells) {
      const place = document.createElement("td");
      place.append(...(Array.isArray(cell) ? cell : [cell]).map((part) =>
        part instanceof Node ? part : document.createTextNode(String(part))));
      made.append(place);
    }
    return made;
  }

  // A button that has the focus keeps it when its table is drawn again.
  function fill(table, rows) {
    const body = byId(table).tBodies[0];
    const headings = [...byId(table).tHead.rows[0].cells].map((cell) => cell.textContent);
    for (const made of rows) {
      [...made.cells].forEach((cell, index) => { cell.dataset.label = headings[index]; });
    }
    const buttons = () => [...body.querySelectorAll("button")];
    const focused = buttons().indexOf(document.activeElement);
    body.replaceChildren(...rows);
    if (focused >= 0) {
      buttons()[focused]?.focus();
    }
  }

  const ms = (value) => value.toFixed(value < 10 ? 1 : 0) + " ms";
  const count = (value, isBad) => element("span", value, isBad && value > 0 ? "bad" : "");

  // ---- rooms ----

  function roomRow(room) {
    const path = "rooms/" + encodeURIComponent(room.name);
    const isPaused = room.state === "paused";
    const made = row(
      button(room.name, () => choose(room.name), "name"),
      room.state,
      room.simulation,
      room.worker,
      room.players + " of " + room.seats,
      room.spectators,
      room.tick,
      ms(room.lateness_mean_ms),
      ms(room.confirm_mean_ms),
      count(room.desyncs, true),
      [
        button(isPaused ? "Go on" : "Pause", () =>
          act(null, "POST", path + (isPaused ? "/unpause" : "/pause"))),
        " ",
        button("End", () => act("End the room " + room.name + "?", "DELETE", path)),
      ],
    );
    made.className = room.name === chosen ? "chosen" : "";
    return made;
  }

  async function choose(name) {
    chosen = name === chosen ? null : name;
    await refresh();
  }

  function playerRow(room, player) {
    const path = "rooms/" + encodeURIComponent(room.name) + "/players/" + player.slot;
    const question = "Send " + player.name + " away?";
    const state = player.is_desynced ? "desynced" : player.is_here ? "here" : "away";
    return row(
      player.slot,
      player.name,
      player.address,
      element("span", state, player.is_desynced ? "bad" : ""),
      ms(player.rtt_ms),
      ms(player.slack_ms),
      player.inputs_late,
      player.inputs_substituted,
      player.lag,
      player.is_here ? [
        button("Kick", () => act(question, "POST", path + "/kick", {})),
        " ",
        button("Ban", () => ban(player.name, path + "/ban")),
      ] : "",
    );
  }

  // By its address; other bans are for lockstep-admin.
  function ban(name, path) {
    const hours = Number(prompt("Ban " + name + ", by its address, for how many hours?", "24"));
    if (hours > 0) {
      act(null, "POST", path, { seconds: Math.ceil(hours * 3600) });
    }
  }

  function say(whom, path) {
    const text = prompt("Message to " + whom + ":", "");
    if (text) {
      act(null, "POST", path, { text });
    }
  }

  function drawHistogram(id, histogram) {
    const parts = [];
    histogram.bins.forEach((value, bin) => {
      const edge = BIN_EDGES_MS[bin];
      const meter = document.createElement("meter");
      meter.max = Math.max(histogram.count, 1);
      meter.value = value;
      parts.push(element("span", edge ? "\u2264 " + edge : "> " + BIN_EDGES_MS.at(-1)));
      parts.push(meter, element("span", value));
    });
    byId(id).replaceChildren(...parts);
  }

  function showRoom(room) {
    byId("room").hidden = !room;
    if (!room) {
      return;
    }
    const desyncs = Object.entries(room.counters.desyncs).filter(([, number]) => number > 0);
    byId("room-name").textContent = "Room " + room.name;
    byId("room-facts").textContent = [
      room.invite,
      room.link,
      room.tick_rate_hz + " Hz",
      room.journal_backlog_ticks + " ticks wait for the journal",
      desyncs.length === 0 ? "no desyncs"
        : "desyncs: " + desyncs.map(([kind, number]) => kind + " " + number).join(", "),
    ].filter(Boolean).join(" \u00b7 ");
    fill("players", room.players.map((player) => playerRow(room, player)));
    drawHistogram("lateness", room.counters.tick_lateness);
    drawHistogram("confirm", room.counters.confirm_latency);
  }

  async function showPicture(room) {
    const shown = byId("picture");
    const path = "rooms/" + encodeURIComponent(room.name) + "/picture";
    const reply = await fetch(API + path, { headers: headers(), cache: "no-store" });
    const text = await reply.text();
    shown.hidden = !reply.ok;
    byId("picture-problem").textContent = reply.ok ? "" : "No picture: " + errorOf(text);
    if (reply.ok) {
      shown.src = "data:image/svg+xml," + encodeURIComponent(text);
    }
  }

  async function askRoom() {
    try {
      return chosen && (await ask("GET", "rooms/" + encodeURIComponent(chosen)));
    } catch (problem) {
      if (problem.status !== 404) {
        throw problem;
      }
      chosen = null; // it is over
      return null;
    }
  }

  // ---- trends ----

  // Of the time that the page is open, out of the sums in the metrics.
  const samples = [];
  const rate = (now, before, name) => // 0: the service was started again
    Math.max(0, now[name] - before[name]) * 1000 / (now.time - before.time);
  const trends = [
    ["Players", (now) => now.players, (value) => value],
    ["Rooms", (now) => now.rooms, (value) => value],
    ["Tick lateness", (now, before) => before && now.ticks > before.ticks
      ? (now.lateness - before.lateness) * 1000 / (now.ticks - before.ticks) : null, ms],
    ["Traffic", (now, before) => before ? rate(now, before, "bytes") / 1024 : null,
      (value) => value.toFixed(1) + " KiB/s"],
  ].map(([name, valueOf, text]) => ({ name, valueOf, text }));

  async function sample(service) {
    const reply = await fetch("/metrics", { cache: "no-store" });
    const lines = (await reply.text()).split("\n");
    const sum = (name) => lines.filter((line) => line.startsWith(name + " ") ||
      line.startsWith(name + "{")).reduce((all, line) => all + Number(line.split(" ").at(-1)), 0);
    samples.push({
      time: Date.now(),
      players: service.players,
      rooms: service.rooms,
      lateness: sum("lockstep_tick_lateness_seconds_sum"),
      ticks: sum("lockstep_tick_lateness_seconds_count"),
      bytes: sum("lockstep_player_bytes_total"),
    });
    while (samples[0].time < Date.now() - TREND_MS) {
      samples.shift();
    }
  }

  function drawing(tag, attributes) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
    return made;
  }

  // From the left, ten minutes ago, to the right, now; its top is the most of that time.
  function trendFigure({ name, valueOf, text }) {
    const begin = Date.now() - TREND_MS;
    const points = samples.map((now, index) => [now.time, valueOf(now, samples[index - 1])])
      .filter(([, value]) => value !== null);
    const most = Math.max(...points.map(([, value]) => value), 0);
    const figure = document.createElement("figure");
    const line = drawing("svg", { viewBox: "0 0 300 42", preserveAspectRatio: "none", role: "img" });
    const shown = points.length > 0 ? text(points.at(-1)[1]) + ", most " + text(most) : "";
    line.setAttribute("aria-label", name + " of the last ten minutes");
    line.append(drawing("polyline", {
      points: points.map(([time, value]) => ((time - begin) / TREND_MS * 300).toFixed(1) + "," +
        (40 - value / (most || 1) * 38).toFixed(1)).join(" "),
    }));
    figure.append(element("figcaption", name + ": " + shown), line);
    return figure;
  }

  function showTrends() {
    byId("trends").hidden = false;
    byId("trend-lines").replaceChildren(...trends.map(trendFigure));
  }

  // ---- the service ----

  function workerRow(worker) {
    return row(
      worker.worker,
      worker.pid || element("span", "starting", "bad"),
      worker.rooms,
      worker.players,
      Math.round(worker.load * 100) + " %",
      Math.round(worker.memory_bytes / 1048576) + " MiB",
      (worker.cpu_ms / 1000).toFixed(0) + " s",
      worker.starts,
    );
  }

  function showService(service) {
    const state = service.draining ? "draining" : service.ready ? "ready" : service.why_not;
    byId("service").textContent = "Version " + service.version + ", " + state + ": " +
      service.rooms + " rooms, " + service.players + " players, " +
      service.spectators + " spectators.";
  }

  async function refresh() {
    byId("for-all").hidden = byId("open-form").hidden = !token();
    if (!token()) { // no alarm: nothing was asked yet
      showProblem("");
      byId("service").textContent = "Enter the token of the service.";
      return;
    }
    try {
      const [service, rooms, workers, room] = await Promise.all([
        ask("GET", "service"), ask("GET", "rooms"), ask("GET", "workers"), askRoom(),
      ]);
      showService(service);
      await sample(service);
      showTrends();
      fill("rooms", rooms.rooms.map(roomRow));
      fill("workers", workers.workers.map(workerRow));
      showRoom(room);
      if (room) {
        await showPicture(room);
      }
      showProblem("");
      if (!stream) {
        followEvents();
      }
    } catch (problem) {
      showProblem(problem.status ? problem.message : "The service does not answer.");
    }
  }

  // ---- events ----

  function addEvent(event) {
    const time = new Date(event.unix_ms).toLocaleTimeString();
    const list = byId("events");
    const slot = event.slot === null ? "" : " (slot " + event.slot + ")";
    const what = event.kind.replaceAll("-", " ") + slot + (event.text ? ": " + event.text : "");
    const made = element("li", [time, event.room, what].filter(Boolean).join("  "));
    made.value = event.number;
    list.prepend(made);
    while (list.children.length > EVENTS_KEPT) {
      list.lastChild.remove();
    }
    lastEvent = event.number;
  }

  // Takes the whole events off the text, and returns what is left.
  function takeEvents(text) {
    const blocks = text.split("\n\n");
    const rest = blocks.pop();
    for (const block of blocks) {
      const data = block.split("\n").find((line) => line.startsWith("data: "));
      if (data) {
        addEvent(JSON.parse(data.slice(6)));
      }
    }
    return rest;
  }

  async function followEvents() {
    const mine = new AbortController();
    stream = mine;
    try {
      const reply = await fetch(API + "events", {
        headers: { ...headers(), ...(lastEvent ? { "Last-Event-ID": String(lastEvent) } : {}) },
        signal: mine.signal,
        cache: "no-store",
      });
      const reader = reply.ok && reply.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      while (reader) {
        const { done, value } = await reader.read();
        if (done) {
          break;
        }
        text = takeEvents(text + value);
      }
    } catch {
      // The next refresh begins a new one.
    }
    if (stream === mine) {
      stream = null;
    }
  }

  // ---- the page ----

  function useToken(text) {
    if (text) {
      sessionStorage.setItem("lockstep-token", text);
    } else {
      sessionStorage.removeItem("lockstep-token");
    }
    stream?.abort();
    stream = null;
    lastEvent = 0;
    byId("events").replaceChildren();
    refresh();
  }

  byId("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    useToken(byId("token").value.trim());
    byId("token").value = "";
  });
  byId("forget").addEventListener("click", () => useToken(""));
  const chosenPath = () => "rooms/" + encodeURIComponent(chosen);
  byId("message").addEventListener("click", () =>
    say("the players of " + chosen, chosenPath() + "/message"));
  byId("save").addEventListener("click", () =>
    act("End " + chosen + " into its journal?", "POST", chosenPath() + "/save", {}));
  // Other settings of a room are for lockstep-admin.
  byId("open-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const players = Number(byId("open-players").value);
    const name = byId("open-name").value.trim();
    act(null, "POST", "rooms", {
      sim: byId("open-sim").value.trim(),
      ...(players > 0 && { players }),
      ...(name && { name }),
      ...(byId("open-private").checked && { private: true }),
    });
  });
  byId("message-all").addEventListener("click", () => say("all players", "message"));
  byId("drain").addEventListener("click", () =>
    act("Open no more rooms, and end the service with the last one?", "POST", "drain"));
  setInterval(() => document.hidden || refresh(), PERIOD_MS);
  refresh();
})();
