// Unpack what the page carries: base 64, deflated; columns of numbers; blocks of texts.

/** Return what a function gives, or something else where it fails, as a browser may refuse to keep anything. */
export const attempt = (act, otherwise = null) => {
  try {
    return act();
  } catch {
    return otherwise;
  }
};

export const packed = (name) => document.getElementById(name)?.content.textContent ?? "";

export const bytesOf = (base64) => {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
};

export const canInflate = () => typeof DecompressionStream === "function";

export const inflate = async (base64) => {
  const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
};

export const inflateText = async (base64) => new TextDecoder().decode(await inflate(base64));

/** Give the columns of the numbers: a metric's values and labels by version, slices, and facts by version. */
export const modelOf = (head, buffer) => {
  const n = head.names.length;
  const versions = head.versions.length;
  let place = 0;
  const take = (Kind) => {
    const size = n * Kind.BYTES_PER_ELEMENT;
    // A copy begins where numbers of any size can be read.
    const column = new Kind(buffer.slice(place, place + size));
    place += size;
    return column;
  };
  const all = (Kind) => Array.from({ length: versions }, () => take(Kind));
  const metrics = head.metrics.map((metric) => ({ ...metric, columns: all(metric.unit_scale ? Uint16Array : Float32Array) }));
  for (const metric of metrics) metric.passes = metric.labels ? all(Uint8Array) : null;
  const sets = head.sets.map((set) => ({ ...set, codes: take(Uint16Array) }));
  return { ...head, n, metrics, sets, flags: all(Uint16Array) };
};

/** Return a score, NaN where there is none. */
export const valueOf = (metric, version, item) => {
  const code = metric.columns[version][item];
  return metric.unit_scale ? (code === 65535 ? NaN : code / 65534) : code;
};

/** Return how much better a version is than the baseline; NaN where one of them has no score. */
export const gainOf = (metric, version, item) => {
  const change = valueOf(metric, version, item) - valueOf(metric, 0, item);
  return metric.lower ? -change : change;
};

const PASS = 2, FAIL = 1;
export const labelOf = (metric, version, item) =>
  metric.passes === null ? null : ({ [PASS]: "pass", [FAIL]: "fail" })[metric.passes[version][item]] ?? null;

/** The texts of items: blocks are unpacked when they are asked for, and kept. */
export const textsOf = (words, previews, size = 64) => {
  const blocks = words === "" ? [] : words.split(" ");
  const known = new Map();
  let short = null;
  const parse = (text) => text.trimEnd().split("\n").map((line) => JSON.parse(line));
  const block = (at) => {
    if (at >= blocks.length || blocks[at] === "-") return null;
    if (!known.has(at)) {
      const loading = inflateText(blocks[at]).then(parse).then((rows) => (known.set(at, rows), rows));
      known.set(at, loading);
    }
    return known.get(at);
  };
  return {
    count: blocks.length,
    /** How many of so many items have their texts here. */
    held: (n) => blocks.reduce((sum, one, at) => sum + (one === "-" ? 0 : Math.min(size, n - at * size)), 0),
    has: (item) => {
      const at = Math.floor(item / size);
      return at < blocks.length && blocks[at] !== "-";
    },
    /** What is unpacked already, or null. */
    now: (item) => {
      const rows = known.get(Math.floor(item / size));
      return Array.isArray(rows) ? rows[item % size] ?? null : null;
    },
    get: async (item) => {
      const rows = await block(Math.floor(item / size));
      return rows?.[item % size] ?? null;
    },
    block: async (at) => (await block(at)) ?? [],
    preview: async (item) => {
      if (previews === "") return null;
      short ??= inflateText(previews).then(parse);
      return (await short)[item] ?? null;
    },
  };
};
