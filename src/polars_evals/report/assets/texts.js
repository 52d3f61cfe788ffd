"use strict";
// Texts as people read them: Markdown made readable without losing a character, and word-level differences.
const texts = (() => {
  const segmenter = typeof Intl.Segmenter === "function" ? new Intl.Segmenter(undefined, { granularity: "word" }) : null;
  const words = (text) => (segmenter ? [...segmenter.segment(text)].map((one) => one.segment) : text.split(/(\s+|[^\p{L}\p{M}\p{N}]+)/u).filter(Boolean));

  const element = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || value === false) continue;
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return made;
  };

  const INLINE = /(`[^`\n]+`)|(\*\*[^*\n]+\*\*|__[^_\n]+__)/g;
  const inline = (line) => {
    const parts = [];
    let end = 0;
    for (const found of line.matchAll(INLINE)) {
      parts.push(line.slice(end, found.index), element(found[1] ? "code" : "strong", {}, found[0]));
      end = found.index + found[0].length;
    }
    return [...parts, line.slice(end)];
  };

  // The text stays as it is, sign for sign: headings, bold words, code and tables only look like what they mean.
  const readable = (text) => {
    let fence = null;
    return text.split(/(?<=\n)/).flatMap((line) => {
      const mark = /^\s*(```|~~~)/.exec(line);
      if (fence !== null || mark) {
        if (mark && fence === null) fence = mark[1];
        else if (mark && mark[1] === fence) fence = null;
        return element("span", { class: "md-code" }, line);
      }
      if (/^#{1,6}\s/.test(line)) return element("span", { class: "md-head" }, line);
      if (/^\s*\|.*\|\s*$/.test(line)) return element("span", { class: "md-code" }, line);
      return inline(line);
    });
  };

  // The longest common run of words, by dynamic programming over what is not equal at both ends.
  const MOST = 6e6;
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
      let i = 0;
      let j = 0;
      const last = (same) => {
        if (!middle.length || middle.at(-1).same !== same) middle.push({ same, a: [], b: [] });
        return middle.at(-1);
      };
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
  // A word or two between longer differences are part of them: what was rewritten reads as rewritten.
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
  const diff = (text, other) =>
    absorb(runs(words(other), words(text))).flatMap(({ same, a, b }) =>
      same ? [["same", b.join("")]] : [["missing", a.join("")], ["added", b.join("")]].filter(([, piece]) => piece));

  const marked = (text, other) => {
    const pieces = diff(text, other);
    const shared = pieces.reduce((sum, [kind, piece]) => sum + (kind === "same" ? piece.trim().length : 0), 0);
    if (shared < 0.15 * Math.min(text.length, other.length) && Math.min(text.length, other.length) > 80) {
      return [element("i", { class: "left-out" }, "Hardly a word in common, so the text stands as it is.\n"), ...readable(text)];
    }
    return pieces.map(([kind, piece]) => (kind === "same" ? piece : element(kind === "added" ? "ins" : "del", {}, piece.replaceAll("\n", "↵\n"))));
  };

  return { diff, element, marked, readable };
})();
