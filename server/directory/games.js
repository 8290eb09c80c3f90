// The page of the directory: the games of GET /v1/games, the nearest first, and the way into each.

const RELAY_PORT = "7310"; // LS_RELAY_DEFAULT_PORT
const AGAIN_MS = 3000; // a server's entry is renewed each 10 s, or 2 s after a change

const of = (id) => document.getElementById(id);
let games = [], ownMs = 0, relay = location.hostname;
const rows = new Map(); // by code: what is shown of a game stays where it is while nothing changes

function make(tag, name, text = "") {
  const made = document.createElement(tag);
  made.className = name;
  made.textContent = text;
  return made;
}

// The address of the page of a game; undefined where it is no link of the web. `watches`: to watch.
function pageOf(game, watches) {
  if (!game.page || !URL.canParse(game.page)) return undefined;
  const url = new URL(game.page);
  if (watches) url.search = "watch";
  return ["http:", "https:"].includes(url.protocol) ? url.href : undefined;
}

function link(name, text, href) {
  const made = make("a", name, text);
  made.href = href;
  made.rel = "noreferrer";
  return made;
}

function waysInto(game) {
  const ways = make("span", "ways");
  const play = pageOf(game, false);
  if (game.needs_token) {
    ways.append("With a token: ");
  } else if (play) {
    if (game.free > 0) ways.append(link("play", "Play", play));
    ways.append(link("watch", "Watch", pageOf(game, true)));
    return ways;
  }
  ways.append(make("code", "command", `lockstep-client ${game.code}@${relay}`));
  return ways;
}

function seatsOf({ players, seats, free, spectators }) {
  const watching = spectators > 0 ? `, ${spectators} watching` : "";
  return `${players} of ${seats} players${free > 0 ? "" : " (full)"}${watching}`;
}

function makeRow(game) {
  const made = make("li", "game");
  made.append(
    make("strong", "name", game.name),
    make("span", "simulation", game.simulation),
    make("span", "seats", seatsOf(game)),
    make("span", "region", game.region),
    make("span", "ping"),
    waysInto(game));
  return made;
}

function row(game) {
  const { way_ms, ping_ms, ...rest } = game;
  const key = JSON.stringify(rest);
  if (rows.get(game.code)?.key !== key) rows.set(game.code, { key, row: makeRow(game) });
  const { row: found } = rows.get(game.code);
  found.querySelector(".ping").textContent = `${way_ms} ms`;
  return found;
}

// Only what differs is moved: a link that is being clicked stays.
function put(list, wanted) {
  wanted.forEach((one, i) => {
    if (list.children[i] !== one) list.insertBefore(one, list.children[i] ?? null);
  });
  while (list.children.length > wanted.length) list.lastChild.remove();
}

function show() {
  const words = of("filter").value.toLowerCase().split(/\s+/);
  const shown = games.filter(({ name, simulation, region }) => {
    const text = `${name} ${simulation} ${region}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  put(of("games"), shown.map(row));
  of("words").textContent =
    games.length === 0 ? "No game is listed here now." :
    shown.length === games.length ? `${games.length} listed.` :
    `${shown.length} of ${games.length} listed.`;
}

// The page's own way to the relay, as long as the newest list took to begin.
function measureWay() {
  const [last] = performance.getEntriesByName(`${location.origin}/v1/games`).slice(-1);
  performance.clearResourceTimings();
  if (last) ownMs = Math.max(last.responseStart - last.requestStart, 0);
}

async function load() {
  const reply = await fetch("/v1/games");
  if (!reply.ok) throw new Error((await reply.text()).trim());
  const list = (await reply.json()).games;
  const port = reply.headers.get("Relay-Port") ?? RELAY_PORT;
  relay = location.hostname + (port === RELAY_PORT ? "" : `:${port}`);
  measureWay();
  for (const code of rows.keys()) {
    if (!list.some((game) => game.code === code)) rows.delete(code);
  }
  games = list.map((game) => ({ ...game, way_ms: Math.round(game.ping_ms + ownMs) }));
  games.sort((a, b) => a.way_ms - b.way_ms || (a.code < b.code ? -1 : 1));
  show();
}

async function keepUp() {
  if (!document.hidden) {
    await load().catch(({ message }) => {
      of("words").textContent = `The list does not load: ${message}. Trying again.`;
    });
  }
  setTimeout(keepUp, AGAIN_MS);
}

of("filter").addEventListener("input", show);
document.addEventListener("visibilitychange", () => document.hidden || load().catch(() => {}));
keepUp();
