// Reads what encode.rs wrote: columns of variable-length numbers, and texts as UTF-8.

const CLASSES = ["cube", "vector", "mix", "kernel", "collective", "copy", "wait", "host", "other"];
const BLOCK = 16;

// Bytes of a data element: base64 of a zlib stream.
async function unpack(element) {
  const packed = atob(element.textContent);
  element.textContent = "";
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  number() {
    let byte = this.bytes[this.at++];
    if (byte < 128) return byte;
    let value = byte & 127;
    let scale = 128;
    do {
      byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte >= 128);
    return value;
  }
  signed() {
    const value = this.number();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }
  take(length) {
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
  column(array, read) {
    for (let i = 0; i < array.length; i++) array[i] = read(i);
    return array;
  }
}

// One timeline. Times are ns from the start of the step.
class Step {
  constructor(bytes) {
    const reader = new Reader(bytes);
    const head = JSON.parse(new TextDecoder().decode(reader.take(reader.number())));
    const rows = head.rows;
    this.size = rows;
    this.decoder = new TextDecoder();
    const offsets = new Float64Array(head.texts + 1);
    for (let i = 0; i < head.texts; i++) offsets[i + 1] = offsets[i] + reader.number();
    this.offsets = offsets;
    this.utf8 = reader.take(offsets[head.texts]);
    const number = () => reader.number();
    const signed = () => reader.signed();
    this.start = new Float64Array(rows);
    this.end = new Float64Array(rows);
    const gaps = reader.column(new Float64Array(rows), signed);
    const lengths = reader.column(new Float64Array(rows), number);
    for (const lane of head.lanes) {
      let time = 0;
      for (let i = lane.first; i < lane.first + lane.count; i++) {
        this.start[i] = time + gaps[i];
        time = this.end[i] = this.start[i] + lengths[i];
      }
    }
    let last = 0;
    this.op = reader.column(new Uint32Array(rows), () => (last += reader.signed()));
    for (const name of ["name", "kind", "tags", "cores", "provenance", "moves"]) {
      this[name] = reader.column(new Uint32Array(rows), number);
    }
    this.issued = reader.column(gaps, (i) => this.start[i] - reader.signed());
    this.ready = reader.column(lengths, (i) => this.start[i] - reader.number());
    this.delay = reader.column(new Float64Array(rows), number);
    this.critical = reader.column(new Float64Array(rows), (i) => {
      const code = reader.number();
      return code < 2 ? code * (this.end[i] - this.start[i]) : code - 2;
    });
    this.engines = reader.column(new Uint8Array(rows), number);
    this.flags = reader.column(new Uint8Array(rows), number);
    last = 0;
    // The same op in the other timeline; -1 where it has none.
    this.other = reader.column(new Int32Array(rows), () => (last += reader.signed()) - 1);
    let to = 0;
    this.links = { from: new Uint32Array(head.links), to: new Uint32Array(head.links), kind: new Uint8Array(head.links) };
    for (let i = 0; i < head.links; i++) {
      this.links.to[i] = to += reader.number();
      this.links.from[i] = to + reader.signed();
      this.links.kind[i] = reader.number();
    }
    let time = 0;
    this.path = [];
    for (let i = 0; i < head.path; i++) {
      const [lane, from] = [reader.number(), time + reader.signed()];
      time = from + reader.number();
      this.path.push({ lane, start: from, end: time, category: reader.number(), op: reader.number() });
    }
    this.classify(head);
    this.lanes = head.lanes.map((lane, at) => this.lane(lane, at));
    this.laneOf = new Uint32Array(rows);
    this.lanes.forEach((lane, at) => this.laneOf.fill(at, lane.first, lane.first + lane.count));
  }

  // The class of each row, which decides its colour.
  classify(head) {
    const kinds = new Map();
    this.class = new Uint8Array(this.size);
    for (let i = 0; i < this.size; i++) {
      let kind = kinds.get(this.kind[i]);
      if (kind === undefined) kinds.set(this.kind[i], (kind = this.text(this.kind[i])));
      this.class[i] = CLASSES.indexOf(this.classOf(kind, this.engines[i]));
    }
    for (const lane of head.lanes) {
      if (lane.kind === "thread") this.class.fill(CLASSES.indexOf("host"), lane.first, lane.first + lane.count);
    }
  }

  classOf(kind, engines) {
    switch (kind) {
      case "kernel":
      case "super_kernel":
      case "group":
        if (engines & 16) return "collective";
        return ["kernel", "cube", "vector", "mix"][engines & 3];
      case "collective":
        return "collective";
      case "copy":
      case "prefetch":
        return "copy";
      case "wait":
      case "notify_wait":
      case "value_wait":
        return "wait";
      default:
        return "other";
    }
  }

  // A lane with the sums that the view from far away needs: time per class before each block.
  lane(lane, at, index = null) {
    const count = index ? index.length : lane.count;
    const classes = CLASSES.length;
    const sums = new Float64Array((Math.ceil(count / BLOCK) + 1) * classes);
    const row = (i) => (index ? index[i] : lane.first + i);
    for (let i = 0; i < count; i++) {
      const base = (Math.floor(i / BLOCK) + 1) * classes;
      if (i % BLOCK === 0) sums.copyWithin(base, base - classes, base);
      sums[base + this.class[row(i)]] += this.end[row(i)] - this.start[row(i)];
    }
    let latest = null;
    if (index) {
      latest = new Float64Array(count);
      for (let i = 0; i < count; i++) latest[i] = Math.max(i ? latest[i - 1] : 0, this.end[index[i]]);
    }
    const last = Math.ceil(count / BLOCK) * classes;
    const used = CLASSES.map((_, k) => k).filter((k) => sums[last + k] > 0);
    return { ...lane, at, count, index, latest, sums, used };
  }

  row(lane, i) {
    return lane.index ? lane.index[i] : lane.first + i;
  }

  // The first row of a lane that ends after `time`. Looks at the rows after `low` first, so that a
  // walk through time is short.
  after(lane, time, low = 0) {
    const ends = lane.latest ?? this.end;
    const first = lane.latest ? 0 : lane.first;
    let high = low;
    for (let step = 1; high < lane.count && ends[first + high] <= time; step *= 2) {
      low = high + 1;
      high += step;
    }
    high = Math.min(high, lane.count);
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[first + middle] > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // Time per class of a lane before `time`, into `into`; returns the row it ends in, from which the
  // next call may go on.
  busy(lane, time, into, from = 0) {
    const { start, end, class: kinds } = this;
    const { sums, used, index, first } = lane;
    const i = this.after(lane, time, from);
    const block = (i / BLOCK) | 0;
    const base = block * CLASSES.length;
    for (const k of used) into[k] = sums[base + k];
    for (let k = block * BLOCK; k < i; k++) {
      const row = index ? index[k] : first + k;
      into[kinds[row]] += end[row] - start[row];
    }
    if (i < lane.count) {
      const row = index ? index[i] : first + i;
      if (start[row] < time) into[kinds[row]] += time - start[row];
    }
    return i;
  }

  text(id) {
    return this.decoder.decode(this.utf8.subarray(this.offsets[id], this.offsets[id + 1]));
  }

  // Rows whose path, name or tags hold `query`, by bytes; ASCII letters of either case are the same.
  find(query) {
    const lower = (byte) => (byte >= 65 && byte <= 90 ? byte + 32 : byte);
    const wanted = new TextEncoder().encode(query).map(lower);
    const texts = this.offsets.length - 1;
    const hits = new Uint8Array(texts);
    const { utf8, offsets } = this;
    for (let id = 0; id < texts; id++) {
      const last = offsets[id + 1] - wanted.length;
      search: for (let at = offsets[id]; at <= last; at++) {
        for (let k = 0; k < wanted.length; k++) {
          if (lower(utf8[at + k]) !== wanted[k]) continue search;
        }
        hits[id] = 1;
        break;
      }
    }
    const rows = [];
    for (let i = 0; i < this.size; i++) {
      if (hits[this.op[i]] || hits[this.name[i]] || hits[this.tags[i]]) rows.push(i);
    }
    return rows.sort((a, b) => this.start[a] - this.start[b] || a - b);
  }

  // Lanes of the engines of each rank, made of the rows of its streams.
  engineLanes(labels) {
    const found = new Map();
    for (const lane of this.lanes) {
      if (lane.kind === "thread") continue;
      for (let i = lane.first; i < lane.first + lane.count; i++) {
        for (let bit = 0; bit < labels.length; bit++) {
          if (!(this.engines[i] & (1 << bit)) || this.end[i] === this.start[i]) continue;
          const key = lane.rank * labels.length + bit;
          if (!found.has(key)) found.set(key, []);
          found.get(key).push(i);
        }
      }
    }
    return [...found.keys()].sort((a, b) => a - b).map((key) => {
      const index = Int32Array.from(found.get(key).sort((a, b) => this.start[a] - this.start[b]));
      const lane = { rank: Math.floor(key / labels.length), name: labels[key % labels.length], kind: "engine", first: 0 };
      return this.lane(lane, -1, index);
    });
  }
}
