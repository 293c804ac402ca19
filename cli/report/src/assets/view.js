// Draws one timeline on a canvas, for the stretch of time that all timelines of the page share.

const LANE = 22;
const BAR = 17;

class Panel {
  constructor(root, step, shared) {
    this.step = step;
    this.shared = shared;
    this.scroller = root.querySelector(".lanes");
    this.canvas = root.querySelector("canvas");
    this.filler = root.querySelector(".filler");
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.labels = [];
    this.arrange();
  }

  // Which lanes there are: the streams and threads, and the engines where they are asked for.
  arrange() {
    const { step, shared } = this;
    let lanes = step.lanes;
    if (shared.show.engines) {
      this.engines ??= step.engineLanes(shared.words.engines);
      lanes = [...step.lanes, ...this.engines];
      lanes = lanes
        .map((lane, at) => ({ lane, at }))
        .sort((a, b) => a.lane.rank - b.lane.rank || (a.lane.kind === "engine" ? 0 : 1) - (b.lane.kind === "engine" ? 0 : 1) || a.at - b.at)
        .map((entry) => entry.lane);
    }
    this.shown = lanes;
    this.place = new Map(lanes.map((lane, at) => [lane.at < 0 ? lane : lane.at, at]));
    this.resize();
  }

  resize() {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const width = this.scroller.clientWidth;
    const total = this.shown.length * LANE + 4;
    const most = Math.max(120, Math.floor(window.innerHeight * (this.shared.panels > 1 ? 0.36 : 0.6)));
    const height = Math.min(total, most);
    this.scroller.style.height = `${height}px`;
    this.filler.style.height = `${total - height}px`;
    Object.assign(this, { ratio, width, height });
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    this.image = null;
  }

  get gutter() {
    return this.shared.gutter(this.width);
  }

  x(time) {
    const { from, to } = this.shared.view;
    return this.gutter + ((time - from) / (to - from)) * (this.width - this.gutter);
  }

  time(x) {
    const { from, to } = this.shared.view;
    return from + ((x - this.gutter) / (this.width - this.gutter)) * (to - from);
  }

  // The upper edge of a lane, by its place among those shown.
  y(place) {
    return place * LANE + 3 - this.scroller.scrollTop;
  }

  draw() {
    const { context: c, ratio, width, height, gutter } = this;
    const colours = this.shared.colours();
    this.labels = [];
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = colours.back;
    c.fillRect(0, 0, width, height);
    const top = this.scroller.scrollTop;
    const first = Math.max(0, Math.floor(top / LANE) - 1);
    const last = Math.min(this.shown.length, Math.ceil((top + height) / LANE) + 1);
    this.grid(c, colours);
    for (let place = first; place < last; place++) this.lane(c, colours, this.shown[place], place);
    c.save();
    c.beginPath();
    c.rect(gutter, 0, width - gutter, height);
    c.clip();
    if (this.shared.show.links) this.links(c, colours);
    if (this.shared.show.path) this.path(c, colours);
    this.chosen(c, colours);
    c.restore();
    this.names(c, colours, first, last);
  }

  grid(c, colours) {
    c.fillStyle = colours.grid;
    for (const tick of this.shared.ticks(this.width)) c.fillRect(Math.round(this.x(tick)), 0, 1, this.height);
  }

  lane(c, colours, lane, place) {
    const { step, width, gutter } = this;
    const { from, to } = this.shared.view;
    const y = this.y(place);
    const first = step.after(lane, from);
    let low = first;
    let high = lane.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (step.start[step.row(lane, middle)] < to) low = middle + 1;
      else high = middle;
    }
    const space = width - gutter;
    if (low - first > space / 2) this.dense(c, colours, lane, y);
    else this.bars(c, colours, lane, first, low, y);
  }

  // Each row as a bar of its own.
  bars(c, colours, lane, first, end, y) {
    const { step, width, gutter } = this;
    const { found } = this.shared;
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    const hits = found.rows && found.rows.get(this);
    for (let i = first; i < end; i++) {
      const row = step.row(lane, i);
      const [from, to] = [this.x(step.start[row]), this.x(step.end[row])];
      const [left, right] = [Math.max(from, gutter), Math.min(to, width)];
      if (left > right) continue;
      const name = CLASSES[step.class[row]];
      c.globalAlpha = hits && !hits.has(row) ? 0.2 : 1;
      if (step.start[row] === step.end[row]) {
        if (from >= gutter) {
          c.fillStyle = colours.mark;
          c.fillRect(Math.round(from), y, 1, BAR);
        }
        continue;
      }
      const wide = Math.max(1, right - left - (right - left > 4 ? 1 : 0));
      c.fillStyle = colours[name];
      c.fillRect(left, y, wide, BAR);
      if (name === "wait") this.hatch(c, colours, left, y, wide);
      if (step.flags[row] && wide > 2) this.changed(c, colours, step.flags[row], left, y, wide);
      if (wide > 34) this.label(c, colours, row, name, left, y, wide);
    }
    c.globalAlpha = 1;
  }

  hatch(c, colours, x, y, wide) {
    if (wide < 6) return;
    c.save();
    c.beginPath();
    c.rect(x, y, wide, BAR);
    c.clip();
    c.strokeStyle = colours.hatch;
    c.lineWidth = 1;
    c.beginPath();
    for (let at = x - BAR; at < x + wide; at += 6) {
      c.moveTo(at, y + BAR);
      c.lineTo(at + BAR, y);
    }
    c.stroke();
    c.restore();
  }

  // The mark of an op that the change moved, altered, added or removed.
  changed(c, colours, flags, x, y, wide) {
    c.strokeStyle = colours.changed;
    c.lineWidth = 2;
    c.setLineDash(flags & 1 ? [] : [4, 2]);
    c.strokeRect(x + 1, y + 1, Math.max(wide - 2, 1), BAR - 2);
    c.setLineDash([]);
  }

  label(c, colours, row, name, x, y, wide) {
    const text = this.shared.short(this.step, row);
    const room = wide - 8;
    const shown = this.fit(c, text, room);
    if (!shown) return;
    c.fillStyle = colours.on[name];
    c.fillText(shown, x + 4, y + BAR / 2 + 0.5);
    this.labels.push({ x: x + 4, y, width: Math.min(room, c.measureText(shown).width), height: BAR, text: shown });
  }

  // Text cut to a width; nothing where not even three characters fit.
  fit(c, text, room) {
    if (text.length > 200) text = text.slice(0, 200);
    if (c.measureText(text).width <= room) return text;
    let [low, high] = [0, text.length];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (c.measureText(`${text.slice(0, middle)}…`).width <= room) low = middle;
      else high = middle - 1;
    }
    return low >= 3 ? `${text.slice(0, low)}…` : "";
  }

  // Far away: in each column of pixels, how much of its time each class takes.
  dense(c, colours, lane, y) {
    const { step, width, gutter, ratio } = this;
    const [columns, rows] = [Math.round((width - gutter) * ratio), Math.round(BAR * ratio)];
    if (columns < 1) return;
    if (!this.image || this.image.width !== columns) this.image = c.createImageData(columns, rows);
    const pixels = new Uint32Array(this.image.data.buffer);
    pixels.fill(colours.raw.back);
    const { from, to } = this.shared.view;
    const classes = CLASSES.length;
    let [before, after] = [new Float64Array(classes), new Float64Array(classes)];
    const column = (to - from) / columns;
    let at = step.busy(lane, from, before);
    for (let x = 0; x < columns; x++) {
      at = step.busy(lane, from + (x + 1) * column, after, at);
      let height = rows;
      let part = 0;
      for (const k of lane.used) {
        if (height <= 0) break;
        const share = (after[k] - before[k]) / column;
        if (share <= 0) continue;
        part += share;
        const until = Math.max(0, Math.round(rows * (1 - Math.min(1, part))));
        for (let line = height - 1; line >= until; line--) pixels[line * columns + x] = colours.raw.classes[k];
        height = Math.min(height, until);
      }
      [before, after] = [after, before];
    }
    // It ignores the transform of the context.
    c.putImageData(this.image, Math.round(gutter * ratio), Math.round(y * ratio));
  }

  centre(lane) {
    return this.y(this.place.get(lane)) + BAR / 2;
  }

  // Stretches that lie within one pixel are drawn as one: far away, the first of each.
  path(c, colours) {
    const { path } = this.step;
    const { from, to } = this.shared.view;
    const after = (time, low) => {
      let high = low;
      for (let step = 1; high < path.length && path[high].end <= time; step *= 2) {
        low = high + 1;
        high += step;
      }
      high = Math.min(high, path.length);
      while (low < high) {
        const middle = (low + high) >> 1;
        if (path[middle].end > time) high = middle;
        else low = middle + 1;
      }
      return low;
    };
    const pixel = this.time(1) - this.time(0);
    c.strokeStyle = c.fillStyle = colours.path;
    c.lineWidth = 1.5;
    let last = -1;
    for (let i = after(from, 0); i < path.length && path[i].start < to; ) {
      const stretch = path[i];
      const y = this.y(this.place.get(stretch.lane)) + BAR - 1;
      const [left, right] = [this.x(stretch.start), this.x(stretch.end)];
      c.fillRect(left, y, Math.max(right - left, 1), 3);
      if (last >= 0 && last !== y) {
        c.beginPath();
        c.moveTo(left, last + 1);
        c.lineTo(left, y + 1);
        c.stroke();
      }
      last = y;
      i = after(Math.max(stretch.end, stretch.start + pixel), i + 1);
    }
  }

  // Arrows of the links that are in view, as long as they can be told apart; those of the chosen op
  // always.
  links(c, colours) {
    const { step } = this;
    const { from, to } = this.shared.view;
    const { links } = step;
    const visible = [];
    const chosen = this.shared.chosen && this.shared.chosen.panel === this ? this.shared.chosen.row : -1;
    const MOST = 400;
    if (links.to.length < 200000) {
      for (let i = 0; i < links.to.length && visible.length <= MOST; i++) {
        const [a, b] = [step.start[links.from[i]], step.end[links.to[i]]];
        if (b >= from && a <= to && this.inSight(links.from[i], links.to[i])) visible.push(i);
      }
    }
    c.lineWidth = 1.2;
    if (visible.length <= MOST) for (const i of visible) this.arrow(c, colours.link, i);
    if (chosen >= 0) {
      c.lineWidth = 2;
      for (let i = 0; i < links.to.length; i++) {
        if (links.from[i] === chosen || links.to[i] === chosen) this.arrow(c, colours.chosen, i);
      }
    }
  }

  inSight(a, b) {
    const [first, second] = [this.centre(this.step.laneOf[a]), this.centre(this.step.laneOf[b])];
    return Math.max(first, second) > 0 && Math.min(first, second) < this.height;
  }

  arrow(c, colour, i) {
    const { step } = this;
    const { links } = step;
    const [from, to] = [links.from[i], links.to[i]];
    const isCollective = links.kind[i] === 4;
    const x1 = this.x(isCollective ? step.start[from] : step.end[from]);
    const x2 = this.x(isCollective ? step.start[from] : step.end[to]);
    const [y1, y2] = [this.centre(step.laneOf[from]), this.centre(step.laneOf[to])];
    c.strokeStyle = c.fillStyle = colour;
    c.beginPath();
    c.moveTo(x1, y1);
    const bend = Math.min(30, Math.max(8, Math.abs(x2 - x1) / 2));
    c.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
    c.stroke();
    c.beginPath();
    c.moveTo(x2 + 1, y2);
    c.lineTo(x2 - 5, y2 - 3.5);
    c.lineTo(x2 - 5, y2 + 3.5);
    c.fill();
  }

  chosen(c, colours) {
    const { chosen } = this.shared;
    if (!chosen) return;
    const row = chosen.panel === this ? chosen.row : chosen.panel.step.other[chosen.row];
    if (row < 0 || row >= this.step.size) return;
    const place = this.place.get(this.step.laneOf[row]);
    const [left, right] = [this.x(this.step.start[row]), this.x(this.step.end[row])];
    c.strokeStyle = colours.chosen;
    c.lineWidth = 2;
    c.setLineDash(chosen.panel === this ? [] : [3, 3]);
    c.strokeRect(left - 1, this.y(place) - 1, Math.max(right - left, 2) + 2, BAR + 2);
    c.setLineDash([]);
  }

  names(c, colours, first, last) {
    const { gutter } = this;
    c.fillStyle = colours.back;
    c.fillRect(0, 0, gutter - 1, this.height);
    c.fillStyle = colours.grid;
    c.fillRect(gutter - 1, 0, 1, this.height);
    c.textBaseline = "middle";
    let rank = null;
    const ranks = new Set(this.shown.map((lane) => lane.rank)).size;
    for (let place = first; place < last; place++) {
      const lane = this.shown[place];
      const y = this.y(place) + BAR / 2 + 0.5;
      let x = 6;
      if (ranks > 1) {
        x = 34;
        if (lane.rank !== rank) {
          c.font = "600 11px system-ui, sans-serif";
          c.fillStyle = colours.text;
          c.fillText(this.fit(c, `${lane.rank}`, 26) || `${lane.rank}`, 6, y);
          rank = lane.rank;
        }
      }
      c.font = lane.kind === "engine" ? "italic 11px system-ui, sans-serif" : "11px system-ui, sans-serif";
      c.fillStyle = lane.kind === "stream" ? colours.text : colours.faint;
      const text = lane.kind === "thread" ? `${this.shared.words.host} ${lane.name}` : lane.name;
      c.fillText(this.fit(c, text, gutter - x - 6), x, y);
    }
  }

  // The row at a point of the canvas; -1 where there is none.
  at(x, y) {
    const place = Math.floor((y + this.scroller.scrollTop - 3) / LANE);
    const lane = this.shown[place];
    if (!lane || x < this.gutter) return -1;
    const slack = (this.time(x + 2) - this.time(x)) || 0;
    const time = this.time(x);
    const first = Math.max(0, this.step.after(lane, time - slack) - 1);
    let best = -1;
    let distance = Infinity;
    for (let i = first; i < lane.count; i++) {
      const row = this.step.row(lane, i);
      if (this.step.start[row] > time + slack) break;
      const away = Math.max(this.step.start[row] - time, time - this.step.end[row], 0);
      if (away <= slack && away < distance) [best, distance] = [row, away];
    }
    return best;
  }

  // Scrolls so that the lane of a row can be seen.
  reveal(row) {
    const top = this.place.get(this.step.laneOf[row]) * LANE;
    const { scroller } = this;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top + LANE > scroller.scrollTop + this.height) scroller.scrollTop = top + LANE + 4 - this.height;
  }
}
