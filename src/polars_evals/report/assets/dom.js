// Elements, numbers and texts as they are shown. Texts are always text nodes: nothing in them can act.
import { attempt, gainOf, valueOf } from "./data.js";
import { apart, comparable, diff } from "./diff.js";

export const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
};

/** Show what cannot be seen and yet acts on the text around it, such as a turn of direction. */
export const reveal = (text) =>
  text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (one) => `⟨U+${one.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`).replaceAll("\r", "␍");

const MINUS = "−";
export const amount = (metric, value) => {
  if (Number.isNaN(value)) return "–";
  if (!metric.measure) return value.toFixed(2).replace("-", MINUS);
  const size = Math.abs(value);
  const text = size >= 100 ? Math.round(size).toLocaleString("en") : String(Number(size.toPrecision(3)));
  const sign = value < 0 ? MINUS : "";
  return ["$", "€", "£"].includes(metric.unit) ? `${sign}${metric.unit}${text}` : `${sign}${text}${metric.unit ? ` ${metric.unit}` : ""}`;
};
export const signed = (metric, value) => {
  if (Number.isNaN(value)) return "–";
  const text = amount(metric, Math.abs(value));
  return Math.abs(value) < 5e-4 && !metric.measure ? "0" : `${value < 0 ? MINUS : "+"}${text}`;
};

/** The step of a tint, from −2 (much worse) to 2; none below the smallest change that matters. */
export const stepOf = (metric, gain, before) => {
  const size = Math.abs(gain);
  if (Number.isNaN(gain) || size < Math.max(metric.effect, 1e-9)) return 0;
  const part = metric.unit_scale ? size : size / Math.max(Math.abs(before), 1e-12);
  return Math.sign(gain) * (part < 0.25 ? 1 : 2);
};

export const stepAt = (metric, version, item) => stepOf(metric, gainOf(metric, version, item), valueOf(metric, 0, item));

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

/** The text stays as it is, sign for sign: headings, bold words and code only look like what they mean. */
export const markdown = (text) => {
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

/** The ways in which a text can be read; the first is the one to begin with. */
export const WAYS = ["differences", "text", "markdown", "code", "json", "source"];

export const readable = (text, way, other) => {
  const shown = reveal(text);
  if (way === "json") {
    const json = attempt(() => JSON.stringify(JSON.parse(text), null, 2));
    return json === null ? ["(no valid JSON)\n", shown] : [reveal(json)];
  }
  if (way === "source") return [JSON.stringify(text)];
  if (way === "markdown") return markdown(shown);
  if (way !== "differences" || other === null || other === undefined) return [shown];
  const pieces = diff(shown, reveal(other));
  if (!comparable(pieces, text, other)) return [element("i", { class: "quiet" }, "Hardly a word in common; shown without marks.\n"), shown];
  return pieces.map(([kind, piece]) => (kind === "same" ? piece : element(kind === "added" ? "ins" : "del", {}, piece)));
};

/** Two lines of an answer with the words marked that the other does not have. */
export const preview = (own, other, limit = 170) => {
  if (own === null || own === undefined) return [element("span", { class: "quiet" }, "no answer")];
  if (own.trim() === "") return [element("span", { class: "quiet" }, "empty")];
  if (other === null || other === undefined) return [reveal(own.replace(/\s+/g, " ").slice(0, limit))];
  const [mine, theirs] = apart(reveal(own), reveal(other), limit);
  return diff(mine, theirs).filter(([kind]) => kind !== "missing").map(([kind, piece]) => (kind === "same" ? piece : element("mark", {}, piece)));
};
