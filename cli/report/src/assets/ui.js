// Puts the timelines of the page together: one stretch of time, mouse, keyboard, search, facts.

const words = JSON.parse(document.getElementById("words").textContent);
const element = (id) => document.getElementById(id);

// Colours that people who see red and green alike can tell apart (Okabe and Ito), with the colour of
// text on them.
const PALETTE = {
  cube: ["#0072b2", "#ffffff"],
  vector: ["#56b4e9", "#000000"],
  mix: ["#332288", "#ffffff"],
  kernel: ["#4477aa", "#ffffff"],
  collective: ["#d55e00", "#ffffff"],
  copy: ["#009e73", "#000000"],
  wait: ["#c8c8c8", "#333333"],
  host: ["#cc79a7", "#000000"],
  other: ["#f0e442", "#000000"],
};

const shared = {
  words,
  panels: 0,
  view: { from: 0, to: 1 },
  whole: { from: 0, to: 1 },
  chosen: null,
  found: { query: "", list: [], at: -1, rows: null },
  show: { path: true, links: true, engines: false },
  gutter: (width) => (width < 560 ? 84 : 150),
  // The last part of a path, with the name where it says more.
  short(step, row) {
    const path = step.text(step.op[row]);
    return path.slice(path.lastIndexOf("/") + 1) || path;
  },
  colours() {
    if (this.palette) return this.palette;
    const style = getComputedStyle(document.documentElement);
    const named = (name) => style.getPropertyValue(`--${name}`).trim();
    const palette = { on: {}, raw: {} };
    for (const name of ["back", "text", "faint", "grid", "path", "link", "chosen", "changed", "mark", "hatch"]) palette[name] = named(name);
    for (const [name, [fill, on]] of Object.entries(PALETTE)) [palette[name], palette.on[name]] = [fill, on];
    const raw = (hex) => {
      const value = parseInt(hex.slice(1), 16);
      return ((255 << 24) | ((value & 255) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
    };
    palette.raw.back = raw(palette.back);
    palette.raw.classes = CLASSES.map((name) => raw(palette[name]));
    return (this.palette = palette);
  },
  ticks(width) {
    const { from, to } = this.view;
    const wanted = (to - from) / Math.max(2, (width - this.gutter(width)) / 110);
    const power = 10 ** Math.floor(Math.log10(wanted));
    const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= wanted) || power * 10;
    const ticks = [];
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push(at);
    return ticks;
  },
};

let panels = [];
let queued = false;
let frames = 0;

function time(ns, digits = 3) {
  const size = Math.abs(ns);
  const [unit, per] = size >= 1e9 ? ["s", 1e9] : size >= 1e6 ? ["ms", 1e6] : size >= 1e3 ? ["µs", 1e3] : ["ns", 1];
  return `${Number((ns / per).toFixed(per === 1 ? 0 : digits)).toString().replace("-", "−")} ${unit}`;
}

function redraw() {
  if (queued) return;
  queued = true;
  requestAnimationFrame(() => {
    queued = false;
    frames += 1;
    axis();
    for (const panel of panels) panel.draw();
  });
}

function axis() {
  const canvas = element("axis");
  const width = panels[0].width;
  const ratio = panels[0].ratio;
  canvas.style.width = `${width}px`;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.round(22 * ratio);
  const c = canvas.getContext("2d", { alpha: false });
  const colours = shared.colours();
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.fillStyle = colours.back;
  c.fillRect(0, 0, width, 22);
  c.font = "11px system-ui, sans-serif";
  c.textBaseline = "middle";
  const ticks = shared.ticks(width);
  const digits = Math.max(0, Math.ceil(-Math.log10((ticks[1] ?? 1) - (ticks[0] ?? 0)) + 6));
  shared.axisLabels = [];
  let free = shared.gutter(width) - 40;
  for (const tick of ticks) {
    const x = panels[0].x(tick);
    const text = time(tick, Math.min(6, digits));
    const wide = c.measureText(text).width;
    c.fillStyle = colours.grid;
    c.fillRect(Math.round(x), 16, 1, 6);
    if (x - wide / 2 < free || x + wide / 2 > width) continue;
    c.fillStyle = colours.faint;
    c.fillText(text, x - wide / 2, 8);
    shared.axisLabels.push({ x: x - wide / 2, y: 0, width: wide, height: 16, text });
    free = x + wide / 2 + 8;
  }
}

// Shows from `from` to `to`, kept within the whole and no shorter than 10 ns.
function look(from, to) {
  const { whole, view } = shared;
  const span = Math.min(Math.max(to - from, 10), whole.to - whole.from);
  const middle = (from + to) / 2;
  view.from = Math.min(Math.max(middle - span / 2, whole.from), whole.to - span);
  view.to = view.from + span;
  redraw();
}

function zoom(factor, around = (shared.view.from + shared.view.to) / 2) {
  const { from, to } = shared.view;
  const span = Math.min(Math.max((to - from) * factor, 10), shared.whole.to - shared.whole.from);
  const share = (around - from) / (to - from);
  look(around - share * span, around + (1 - share) * span);
}

function pan(share) {
  const { from, to } = shared.view;
  look(from + share * (to - from), to + share * (to - from));
}

function fit() {
  look(shared.whole.from, shared.whole.to);
}

function choose(panel, row, bring = false) {
  shared.chosen = row < 0 ? null : { panel, row };
  if (row >= 0 && bring) {
    const [start, end] = [panel.step.start[row], panel.step.end[row]];
    const { from, to } = shared.view;
    const least = Math.max(end - start, 1) * 8;
    if (to - from > Math.max(least * 50, 10)) look((start + end - least) / 2, (start + end + least) / 2);
    else if (start < from || end > to) look(start - (to - from) / 2, start + (to - from) / 2);
    panel.reveal(row);
  }
  facts();
  redraw();
}

function facts() {
  const list = element("facts");
  list.replaceChildren();
  const { chosen } = shared;
  element("facts-hint").hidden = !!chosen;
  if (!chosen) return;
  const { panel, row } = chosen;
  const { step } = panel;
  const lane = step.lanes[step.laneOf[row]];
  const add = (name, value) => {
    if (value === "" || value === null) return;
    const [term, text] = [document.createElement("dt"), document.createElement("dd")];
    term.textContent = words[name] ?? name;
    const isolated = document.createElement("bdi");
    isolated.textContent = value;
    text.append(isolated);
    list.append(term, text);
  };
  const kind = step.text(step.kind[row]);
  const length = step.end[row] - step.start[row];
  add("op", step.text(step.op[row]));
  add("name", step.text(step.name[row]));
  add("kind", words.kinds[kind] ?? kind);
  add("place", `${words.rank} ${lane.rank} · ${lane.kind === "thread" ? words.thread : words.stream} ${lane.name}`);
  add("start", time(step.start[row]));
  add("duration", time(length));
  add("provenance", step.text(step.provenance[row]));
  if (lane.kind !== "thread") {
    if (step.issued[row] < step.start[row]) add("issued", `${time(step.issued[row])} (${time(step.start[row] - step.issued[row])} ${words.earlier})`);
    if (step.ready[row] < step.start[row]) add("cores_wait", time(step.start[row] - step.ready[row]));
  }
  if (step.delay[row] > 0) add("delay", time(step.delay[row]));
  add("critical", step.critical[row] > 0 ? time(step.critical[row]) : words.no);
  add("cores", step.text(step.cores[row]));
  add("moves", step.text(step.moves[row]));
  add("tags", step.text(step.tags[row]));
  linked(step, row, add);
  compared(panel, row, add);
  const said = `${step.text(step.op[row]).slice(0, 200)}, ${words.kinds[kind] ?? kind}, ${time(step.start[row])}, ${time(length)}`;
  element("said").textContent = said;
}

// What the op waited for, and what waits for it.
function linked(step, row, add) {
  const { links } = step;
  const MOST = 6;
  for (const [name, at, other] of [["after_op", links.to, links.from], ["before_op", links.from, links.to]]) {
    const found = [];
    for (let i = 0; i < at.length && found.length <= MOST; i++) {
      if (at[i] === row) found.push(`${step.text(step.op[other[i]])} (${words.links[links.kind[i]]})`);
    }
    if (found.length > MOST) found[MOST] = "…";
    add(name, found.join(", "));
  }
}

function compared(panel, row, add) {
  const { step } = panel;
  const flags = step.flags[row];
  if (panels.length < 2) return;
  const other = panels.find((one) => one !== panel);
  const twin = step.other[row];
  if (twin < 0) {
    if (flags) add("compared", panel === panels[1] ? words.is_new : words.is_gone);
    return;
  }
  const isAfter = panel === panels[1];
  const lane = other.step.lanes[other.step.laneOf[twin]];
  const length = other.step.end[twin] - other.step.start[twin];
  add(isAfter ? "was" : "becomes", `${words.stream} ${lane.name} · ${words.start} ${time(other.step.start[twin])} · ${words.duration} ${time(length)}`);
}

function search(query) {
  const { found } = shared;
  found.query = query;
  found.at = -1;
  found.rows = null;
  found.list = [];
  if (query) {
    found.rows = new Map();
    for (const panel of panels) {
      const rows = panel.step.find(query);
      found.rows.set(panel, new Set(rows));
      for (const row of rows) found.list.push({ panel, row });
    }
  }
  count();
  redraw();
}

function count() {
  const { found } = shared;
  let text = "";
  if (found.query) text = found.list.length ? `${found.at + 1} / ${found.list.length}` : words.nothing;
  element("count").textContent = text;
}

function next(step) {
  const { found } = shared;
  if (!found.list.length) return;
  found.at = (found.at + step + found.list.length) % found.list.length;
  const hit = found.list[found.at];
  count();
  choose(hit.panel, hit.row, true);
}

// Goes to the next op of the lane, or to the nearest one of another lane.
function move(dx, dy) {
  const panel = shared.chosen?.panel ?? shared.focus ?? panels[0];
  const { step } = panel;
  if (!shared.chosen) {
    const lane = panel.shown.find((one) => one.at >= 0 && one.count > 0);
    if (lane) choose(panel, step.row(lane, Math.min(step.after(lane, shared.view.from), lane.count - 1)), false);
    return;
  }
  const { row } = shared.chosen;
  const lane = step.lanes[step.laneOf[row]];
  if (dx) {
    const to = row + dx;
    if (to >= lane.first && to < lane.first + lane.count) choose(panel, to, true);
    return;
  }
  const middle = (step.start[row] + step.end[row]) / 2;
  for (let place = panel.place.get(lane.at) + dy; place >= 0 && place < panel.shown.length; place += dy) {
    const other = panel.shown[place];
    if (other.at < 0 || !other.count) continue;
    choose(panel, step.row(other, Math.min(step.after(other, middle), other.count - 1)), true);
    return;
  }
  // Past the last lane: the other timeline.
  const at = panels.indexOf(panel) + dy;
  if (panels[at]) {
    const lanes = panels[at].shown.filter((one) => one.at >= 0 && one.count);
    const other = dy > 0 ? lanes[0] : lanes[lanes.length - 1];
    const target = panels[at].step;
    if (other) choose(panels[at], target.row(other, Math.min(target.after(other, middle), other.count - 1)), true);
  }
}

const KEYS = {
  "+": () => zoom(1 / 1.5),
  "=": () => zoom(1 / 1.5),
  w: () => zoom(1 / 1.5),
  "-": () => zoom(1.5),
  s: () => zoom(1.5),
  a: () => pan(-0.2),
  d: () => pan(0.2),
  "0": fit,
  Home: fit,
  ArrowLeft: () => move(-1, 0),
  ArrowRight: () => move(1, 0),
  ArrowUp: () => move(0, -1),
  ArrowDown: () => move(0, 1),
  PageUp: () => pan(-0.8),
  PageDown: () => pan(0.8),
  Escape: () => choose(null, -1),
  n: () => next(1),
  p: () => next(-1),
  Enter: () => {
    if (!shared.chosen) return move(0, 0);
    const { panel, row } = shared.chosen;
    const length = Math.max(panel.step.end[row] - panel.step.start[row], 1);
    look(panel.step.start[row] - length, panel.step.end[row] + length);
  },
  "/": () => element("search").focus(),
};

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const action = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

function listen(panel) {
  const { canvas } = panel;
  let drag = null;
  canvas.addEventListener("focus", () => (shared.focus = panel));
  canvas.addEventListener("keydown", key);
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    drag = { x: event.clientX, moved: false, view: { ...shared.view } };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const moved = event.clientX - drag.x;
    if (Math.abs(moved) > 3) drag.moved = true;
    if (!drag.moved) return;
    const span = drag.view.to - drag.view.from;
    const by = (-moved / (panel.width - panel.gutter)) * span;
    look(drag.view.from + by, drag.view.to + by);
  });
  const release = (event) => {
    if (drag && !drag.moved && event.type === "pointerup") {
      const box = canvas.getBoundingClientRect();
      choose(panel, panel.at(event.clientX - box.left, event.clientY - box.top));
    }
    drag = null;
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("dblclick", KEYS.Enter);
  canvas.addEventListener(
    "wheel",
    (event) => {
      const box = canvas.getBoundingClientRect();
      const unit = event.deltaMode === 1 ? 16 : 1;
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        zoom(1.0015 ** (event.deltaY * unit), panel.time(event.clientX - box.left));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        pan((((event.deltaX || event.deltaY) * unit) / (panel.width - panel.gutter)) * 1.0);
      }
    },
    { passive: false },
  );
  panel.scroller.addEventListener("scroll", redraw);
}

function legend() {
  const used = new Set();
  for (const { step } of panels) for (let i = 0; i < step.size; i++) if (step.end[i] > step.start[i]) used.add(step.class[i]);
  const list = element("legend");
  for (const at of [...used].sort((a, b) => a - b)) {
    const [item, swatch] = [document.createElement("li"), document.createElement("span")];
    swatch.className = `swatch ${CLASSES[at]}`;
    swatch.style.backgroundColor = PALETTE[CLASSES[at]][0];
    item.append(swatch, words.classes[CLASSES[at]]);
    list.append(item);
  }
}

function controls() {
  const press = (id, action) => element(id).addEventListener("click", action);
  press("zoom-in", () => zoom(1 / 2));
  press("zoom-out", () => zoom(2));
  press("earlier", () => pan(-0.5));
  press("later", () => pan(0.5));
  press("fit", fit);
  press("previous", () => next(-1));
  press("next", () => next(1));
  press("theme", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    shared.palette = null;
    redraw();
  });
  for (const name of ["path", "links", "engines"]) {
    const box = element(`show-${name}`);
    shared.show[name] = box.checked;
    box.addEventListener("change", () => {
      shared.show[name] = box.checked;
      if (name === "engines") for (const panel of panels) panel.arrange();
      redraw();
    });
  }
  const field = element("search");
  let timer = 0;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => search(field.value), 150);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      clearTimeout(timer);
      if (field.value !== shared.found.query) search(field.value);
      next(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      field.value = "";
      search("");
    }
  });
  const repaint = () => {
    shared.palette = null;
    for (const panel of panels) panel.resize();
    redraw();
  };
  addEventListener("resize", repaint);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
}

async function start() {
  const roots = [...document.querySelectorAll(".panel")];
  if (!roots.length) return;
  shared.panels = roots.length;
  let rows = 0;
  const steps = [];
  for (const root of roots) {
    const step = new Step(await unpack(element(root.dataset.source)));
    rows += step.size;
    steps.push(step);
  }
  // Sorting a million rows by engine takes a moment: not before it is asked for.
  element("show-engines").checked = rows <= 100000;
  shared.show.engines = rows <= 100000;
  shared.view = null;
  let [from, to] = [Infinity, -Infinity];
  for (const step of steps) {
    for (const lane of step.lanes) {
      if (!lane.count) continue;
      from = Math.min(from, step.start[lane.first]);
      to = Math.max(to, step.end[lane.first + lane.count - 1]);
    }
  }
  if (!(to > from)) [from, to] = [0, 1000];
  const margin = (to - from) * 0.01;
  shared.whole = { from: from - margin, to: to + margin };
  shared.view = { ...shared.whole };
  panels = roots.map((root, at) => new Panel(root, steps[at], shared));
  panels.forEach(listen);
  controls();
  legend();
  redraw();
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      performance.mark("timeline-drawn");
      document.documentElement.dataset.ready = "yes";
    }),
  );
}

// For tests and scripts: what is shown.
window.ascsim = {
  view: () => ({ ...shared.view }),
  whole: () => ({ ...shared.whole }),
  frames: () => frames,
  rows: () => panels.map((panel) => panel.step.size),
  chosen: () => shared.chosen && { panel: panels.indexOf(shared.chosen.panel), op: shared.chosen.panel.step.text(shared.chosen.panel.step.op[shared.chosen.row]) },
  found: () => shared.found.list.length,
  labels: () => [shared.axisLabels, ...panels.map((panel) => panel.labels)],
  // Where a row is on the page; for clicks.
  where(at, op) {
    const panel = panels[at];
    for (let row = 0; row < panel.step.size; row++) {
      if (panel.step.text(panel.step.op[row]) !== op || panel.step.end[row] === panel.step.start[row]) continue;
      const box = panel.canvas.getBoundingClientRect();
      const x = panel.x((panel.step.start[row] + panel.step.end[row]) / 2);
      return { x: box.left + x, y: box.top + panel.y(panel.place.get(panel.step.laneOf[row])) + 8 };
    }
    return null;
  },
  draw() {
    const start = performance.now();
    for (const panel of panels) panel.draw();
    return performance.now() - start;
  },
};

start().catch((error) => {
  element("broken").hidden = false;
  throw error;
});
