// The grid: rows are drawn where they are seen, the head sorts, the toolbar filters.
import { valueOf } from "./data.js";
import { amount, element, preview, reveal, signed, stepAt } from "./dom.js";
import { NO_ANSWER, chipsOf } from "./filter.js";

export const ROW = 44;
// Rows beyond the edge, so that scrolling shows no gap.
const SPARE = 6;

export const columnsOf = (model) => {
  const two = model.versions.length === 2;
  const columns = model.sets.map((set, at) => ({ id: `set${at}`, name: set.name, set: at, hidden: true }));
  if (two && model.expected) columns.push({ id: "expected", name: "expected" });
  model.versions.forEach((name, v) => columns.push({ id: `v${v}`, name: model.short[v], full: name, version: v }));
  if (two) columns.push({ id: "change", name: "change", change: true });
  return columns;
};

const scoreCell = (model, metric, version, item, show) => {
  const flags = model.flags[version][item];
  const value = valueOf(metric, version, item);
  if (flags & NO_ANSWER && Number.isNaN(value)) {
    const fact = model.facts.find((_, bit) => flags & (1 << bit));
    return element("td", { class: "score no-answer", title: fact }, "!");
  }
  if (Number.isNaN(value)) return element("td", { class: "score none", title: "no score" }, "–");
  const text = show === "change" && version > 0 ? signed(metric, value - valueOf(metric, 0, item)) : amount(metric, value);
  return element("td", { class: `score t${stepAt(metric, version, item)}` }, text);
};

/** A line of scores for a phone: what was and is of two versions, a strip of tints of more. */
const phoneCell = (model, metric, item) => {
  if (model.versions.length === 2) {
    const [before, after] = [valueOf(metric, 0, item), valueOf(metric, 1, item)];
    return element("td", { class: "phone" }, element("span", { class: `t${stepAt(metric, 1, item)}` }, `${amount(metric, before)} → ${amount(metric, after)}`));
  }
  return element("td", { class: "phone" }, element("span", { class: "strip" }, model.versions.slice(1).map((_, at) =>
    element("i", { class: `t${stepAt(metric, at + 1, item)}` }))));
};

/** What is special about an answer, in words. */
export const factsOf = (model, version, item) => model.facts.filter((_, bit) => model.flags[version][item] & (1 << bit));

export const rowOf = (model, texts, state, columns, item) => {
  const metric = model.metrics[state.metric];
  const two = model.versions.length === 2;
  const known = two ? texts.now(item) : null;
  const cells = columns.map((column) => {
    if (column.set !== undefined) {
      const set = model.sets[column.set];
      return element("td", { class: "slice" }, reveal((set.values[set.codes[item]] ?? "–").replace(`${set.name}=`, "")));
    }
    if (column.id === "expected") return element("td", { class: "words", dir: "auto" }, element("div", {}, known === null ? "…" : preview(known.x)));
    if (column.change) {
      const change = valueOf(metric, 1, item) - valueOf(metric, 0, item);
      const step = stepAt(metric, 1, item);
      const sign = step < 0 ? " ▼" : step > 0 ? " ▲" : "";
      return element("td", { class: `score t${step}` }, element("b", {}, `${signed(metric, change)}${sign}`), element("small", {},
        `${amount(metric, valueOf(metric, 0, item))} → ${amount(metric, valueOf(metric, 1, item))}`));
    }
    if (!two) return scoreCell(model, metric, column.version, item, state.show);
    const flags = model.flags[column.version][item];
    if (flags & 1) return element("td", { class: "words no-answer" }, element("div", {}, "! ", reveal(known?.[`e${column.version}`] ?? "error")));
    const [own, other] = [known?.[`a${column.version}`], known?.[`a${1 - column.version}`]];
    const said = factsOf(model, column.version, item).join(", ");
    return element("td", { class: "words", dir: "auto" }, element("div", {}, known === null ? (texts.has(item) ? "…" : "not in this file") : [said ? element("i", { class: "quiet" }, `${said} · `) : null, preview(own, other)]));
  });
  const where = model.sets.map((set) => set.values[set.codes[item]]).filter((one) => one !== undefined).join(" · ");
  return element("tr", { "data-item": item, tabindex: -1, class: state.item === item ? "open" : null, "aria-selected": state.item === item ? "true" : null },
    element("th", { scope: "row", dir: "auto" }, element("div", { class: "input" }, model.inputs[item] || reveal(model.names[item])),
      element("small", {}, `${reveal(model.names[item])}${where ? ` · ${reveal(where)}` : ""}`)),
    cells, phoneCell(model, metric, item));
};

/** Draw the rows that are seen; two empty rows stand for those above and below. */
export const rowsView = (grid, body, draw) => {
  let items = [];
  let first = -1;
  let last = -1;
  const seenColumns = () => [...(grid.querySelector("thead tr")?.children ?? [])].filter((one) => getComputedStyle(one).display !== "none").length;
  const spacer = (height) => {
    const row = element("tr", { class: "spacer", "aria-hidden": "true" }, element("td", { colspan: Math.max(1, seenColumns()) }));
    row.firstChild.style.height = `${height}px`;
    return row;
  };
  const update = (force = false) => {
    const box = grid.getBoundingClientRect();
    const top = body.getBoundingClientRect().top;
    const from = Math.max(box.top, 0) - top;
    const to = Math.min(box.bottom, window.innerHeight) - top;
    const start = Math.max(0, Math.floor(from / ROW) - SPARE);
    const end = Math.min(items.length, Math.max(start + 2 * SPARE, Math.ceil(to / ROW) + SPARE));
    if (!force && start === first && end === last) return;
    [first, last] = [start, end];
    const rows = items.slice(start, end).map(draw);
    body.replaceChildren(...[start > 0 ? spacer(start * ROW) : null, ...rows, end < items.length ? spacer((items.length - end) * ROW) : null].filter(Boolean));
  };
  let asked = 0;
  const soon = () => { asked ||= requestAnimationFrame(() => { asked = 0; update(); }); };
  for (const target of [grid, window]) target.addEventListener("scroll", soon, { passive: true });
  window.addEventListener("resize", soon);
  return {
    set: (list) => { items = list; update(true); },
    redraw: () => update(true),
    seen: () => items.slice(Math.max(0, first), Math.max(0, last)),
    reach: (item) => {
      const at = items.indexOf(item);
      if (at < 0) return;
      const box = grid.getBoundingClientRect();
      const head = grid.querySelector("thead").getBoundingClientRect().height;
      const row = body.getBoundingClientRect().top + at * ROW;
      const inner = getComputedStyle(grid).overflowY !== "visible";
      const [low, high] = inner ? [box.top + head, box.bottom] : [120, window.innerHeight];
      const move = row < low ? row - low : row + ROW > high ? row + ROW - high : 0;
      if (inner) {
        grid.scrollTop += move;
        if (box.top < 0 || box.top > window.innerHeight * 0.6) document.getElementById("items").scrollIntoView();
      } else window.scrollBy(0, move);
      update(true);
    },
  };
};

const sortButton = (state, key, title, ...content) => {
  const mine = state.sort === key;
  return element("button", { type: "button", "data-sort": key, title, "aria-pressed": mine ? "true" : "false" }, ...content, mine ? (state.down ? " ↑" : " ↓") : "");
};

export const headOf = (model, state, columns) => element("tr", {},
  element("th", { scope: "col", class: "first" }, sortButton(state, "item", "Sort by name", "item"),
    element("small", {}, state.sort === "default" ? (model.versions.length > 2 ? "most disagreement first" : "worst first") : "")),
  columns.map((column) => {
    if (column.set !== undefined || column.id === "expected") return element("th", { scope: "col" }, column.name);
    if (column.change) return element("th", { scope: "col", class: "score" }, sortButton(state, "change", "Sort by change", "change"));
    const role = column.version === 0 ? element("small", {}, "baseline") : null;
    const made = element("th", { scope: "col", class: model.versions.length > 2 ? "score" : "words", title: column.full },
      role, sortButton(state, `v${column.version}`, `Sort by ${column.full}`, column.name));
    if (model.versions.length > 2) made.style.width = `${columnWidth(column.name)}px`;
    return made;
  }),
  element("th", { scope: "col", class: "phone" }, model.metrics[state.metric].name));

/** The width of a version's column: no word of its name is broken. */
const columnWidth = (name) => Math.max(70, Math.max(...name.split(/(?<=[-_/:. ])/).map((word) => word.length)) * 8 + 18);

export const widthsOf = (model, columns) => (model.versions.length === 2 ? 0
  : 260 + columns.reduce((sum, column) => sum + (column.version === undefined ? 110 : columnWidth(column.name)), 0));

export const chipsView = (model, state, counts) => chipsOf(model, model.metrics[state.metric]).map(([name, chip]) =>
  element("button", { type: "button", class: "chip", "data-chip": name, "aria-pressed": state.chip === name ? "true" : "false" },
    chip.name, " ", element("b", {}, counts.chips[name].toLocaleString("en"))));

export const whyView = (model, state, counts) => {
  const facts = model.facts.filter((fact) => counts.why[fact] > 0 || state.why === fact);
  if (!facts.length) return [];
  return [element("span", { class: "quiet" }, "why"), ...facts.map((fact) =>
    element("button", { type: "button", class: "chip small", "data-why": fact, "aria-pressed": state.why === fact ? "true" : "false" }, fact, " ", element("b", {}, counts.why[fact].toLocaleString("en"))))];
};
