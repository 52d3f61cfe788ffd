// Word-level differences of two texts.

const segmenter = typeof Intl.Segmenter === "function" ? new Intl.Segmenter(undefined, { granularity: "word" }) : null;
export const words = (text) => (segmenter ? [...segmenter.segment(text)].map((one) => one.segment) : text.split(/(\s+|[^\p{L}\p{M}\p{N}]+)/u).filter(Boolean));

// Cells of the table of common runs; beyond it two texts stand side by side.
const MOST = 4e6;

/** The longest common run of words, by dynamic programming over what is not equal at both ends. */
const runs = (other, own) => {
  let start = 0;
  while (start < other.length && start < own.length && other[start] === own[start]) start++;
  let end = 0;
  while (end < other.length - start && end < own.length - start && other[other.length - 1 - end] === own[own.length - 1 - end]) end++;
  const a = other.slice(start, other.length - end);
  const b = own.slice(start, own.length - end);
  const middle = [];
  if (a.length * b.length > MOST) middle.push({ same: false, a, b });
  else {
    const width = b.length + 1;
    const best = new Uint16Array((a.length + 1) * width);
    for (let i = a.length - 1; i >= 0; i--) {
      for (let j = b.length - 1; j >= 0; j--) {
        best[i * width + j] = a[i] === b[j] ? best[(i + 1) * width + j + 1] + 1 : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
      }
    }
    const last = (same) => {
      if (!middle.length || middle.at(-1).same !== same) middle.push({ same, a: [], b: [] });
      return middle.at(-1);
    };
    let [i, j] = [0, 0];
    while (i < a.length || j < b.length) {
      if (i < a.length && j < b.length && a[i] === b[j]) {
        const run = last(true);
        run.a.push(a[i++]);
        run.b.push(b[j++]);
      } else if (j >= b.length || (i < a.length && best[(i + 1) * width + j] >= best[i * width + j + 1])) last(false).a.push(a[i++]);
      else last(false).b.push(b[j++]);
    }
  }
  const head = own.slice(0, start);
  const tail = own.slice(own.length - end);
  return [...(start ? [{ same: true, a: head, b: head }] : []), ...middle, ...(end ? [{ same: true, a: tail, b: tail }] : [])];
};

const spoken = (list) => list.filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
const size = (run) => Math.max(spoken(run.a), spoken(run.b));

/** A word or two between longer differences are part of them: what was rewritten reads as rewritten. */
const absorb = (all) => {
  const kept = [];
  for (const run of all) {
    kept.push(run);
    while (kept.length >= 3 && !run.same) {
      const [before, equal, after] = kept.slice(-3);
      const least = Math.min(size(before), size(after));
      if (!(spoken(equal.a) < least && spoken(equal.a) <= Math.max(1, least / 2))) break;
      kept.splice(-3, 3, { same: false, a: [...before.a, ...equal.a, ...after.a], b: [...before.b, ...equal.b, ...after.b] });
    }
  }
  return kept;
};

/** Return the text in pieces: what it shares with the other, what it adds, and what it misses. */
export const diff = (text, other) =>
  absorb(runs(words(other), words(text))).flatMap(({ same, a, b }) =>
    same ? [["same", b.join("")]] : [["missing", a.join("")], ["added", b.join("")]].filter(([, piece]) => piece));

/** Say whether two texts share enough for their differences to be readable. */
export const comparable = (pieces, text, other) => {
  const shared = pieces.reduce((sum, [kind, piece]) => sum + (kind === "same" ? piece.trim().length : 0), 0);
  const least = Math.min(text.length, other.length);
  return least <= 80 || shared >= 0.15 * least;
};

const LEAD = 24;
/** Return two lines that begin a little before the first difference, where that comes late. */
export const apart = (own, other, limit) => {
  const line = (text) => text.replace(/\s+/g, " ").trim();
  const [a, b] = [line(own.slice(0, 20_000)), line(other.slice(0, 20_000))];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  const from = a === b || start <= 2 * LEAD ? 0 : start - LEAD;
  const cut = (text) => `${from ? "…" : ""}${text.slice(from, from + limit)}${text.length > from + limit ? "…" : ""}`;
  return [cut(a), cut(b)];
};
