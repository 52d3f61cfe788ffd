// The side panel: one item with everything that is known of it, and what people say of its answers.
import { gainOf, labelOf, valueOf } from "./data.js";
import { WAYS, amount, element, readable, reveal, signed, stepAt } from "./dom.js";
import { factsOf } from "./grid.js";
import { KINDS } from "./labels.js";

const block = (title, text, way, other = null) => element("section", { class: "text" }, element("h4", {}, title),
  element("div", { class: way === "code" || way === "json" || way === "source" ? "body code" : "body", dir: "auto" }, readable(text, way, other)));

const lineOf = (model, row, version, item) => {
  const said = [];
  // A measure stands among the scores already.
  const measured = (name) => model.metrics.some((metric) => metric.name === name);
  const finish = row?.[`f${version}`];
  if (finish) said.push(`finished: ${finish}`);
  if (typeof row?.[`l${version}`] === "number" && !measured("latency_ms")) said.push(`${Math.round(row[`l${version}`]).toLocaleString("en")} ms`);
  if (typeof row?.[`c${version}`] === "number" && !measured("cost")) said.push(`$${Number(row[`c${version}`].toPrecision(3))}`);
  if (row?.[`t${version}`]) said.push(`trace ${row[`t${version}`]}`);
  if (typeof row?.[`o${version}`] === "number" && !measured("output_tokens")) said.push(`${row[`o${version}`].toLocaleString("en")} tokens`);
  return reveal([...said, ...factsOf(model, version, item)].join(" · "));
};

const scoresOf = (model, state, version, item) => model.metrics.map((metric, at) => {
  const value = valueOf(metric, version, item);
  if (Number.isNaN(value)) return null;
  const change = version === 0 ? "" : ` (${signed(metric, value - valueOf(metric, 0, item))})`;
  const label = labelOf(metric, version, item);
  return element("span", { class: `value t${stepAt(metric, version, item)}${at === state.metric ? " chosen" : ""}` }, `${metric.name} ${amount(metric, value)}${change}${label ? ` ${label}` : ""}`);
});

/** Equal answers are shown once, with the names of all versions that gave them. */
export const groupsOf = (row, versions) => {
  const groups = new Map();
  versions.forEach((version) => {
    const key = JSON.stringify([row[`a${version}`] ?? null, row[`e${version}`] ?? null]);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(version);
  });
  return [...groups.values()];
};

const answers = (model, state, row, item, view) => {
  const metric = model.metrics[state.metric];
  const rest = model.versions.map((_, v) => v).slice(1);
  const gain = (v) => { const value = gainOf(metric, v, item); return Number.isNaN(value) ? -Infinity : value; };
  const order = [0, ...rest.sort((a, b) => gain(a) - gain(b))];
  const other = view.against === "expected" ? row.x : row.a0;
  return groupsOf(row, order).map((versions) => {
    const first = versions[0];
    const names = versions.map((v) => `${reveal(model.versions[v])}${v === 0 ? " · baseline" : ""}`);
    const error = row[`e${first}`];
    const text = row[`a${first}`];
    return element("article", { class: `answer side${stepAt(metric, first, item)}` },
      element("h3", {}, versions.length > 2 ? element("details", {}, element("summary", {}, `${names.length} equal answers`), names.join(", ")) : names.join(", ")),
      versions.map((v) => element("p", { class: "values" }, versions.length > 1 ? element("b", {}, `${model.short[v]}: `) : null, scoresOf(model, state, v, item))),
      error ? element("p", { class: "error", dir: "auto" }, `Error: ${reveal(String(error))}`) : null,
      text === null || text === undefined ? (error ? null : element("p", { class: "quiet" }, "No answer."))
        : text.trim() === "" ? element("p", { class: "quiet" }, "The answer is empty.")
          : block("", text, view.way, versions.includes(0) && view.against !== "expected" ? null : other),
      lineOf(model, row, first, item) ? element("p", { class: "quiet facts" }, lineOf(model, row, first, item)) : null);
  });
};

const select = (name, label, options, value) => element("label", {}, `${label} `, element("select", { "data-view": name },
  options.map((one) => element("option", { value: one, selected: one === value }, one))));

export const panelOf = (model, state, row, item, place, total, view) => {
  const where = model.sets.map((set) => set.values[set.codes[item]]).filter((one) => one !== undefined).join(" · ");
  const missing = row === null
    ? element("p", { class: "quiet" }, "The texts of this item are not in this file: ", element("code", {}, 'to_html(items="all")'), " puts all in.")
    : null;
  return [
    element("header", {},
      element("b", { class: "name" }, reveal(model.names[item]), where ? element("span", { class: "quiet" }, ` · ${reveal(where)}`) : null),
      element("nav", {},
        element("button", { type: "button", "data-go": "-1", title: "Previous (k)" }, "‹"),
        element("span", { class: "quiet" }, place < 0 ? "not in the list" : ` ${(place + 1).toLocaleString("en")} of ${total.toLocaleString("en")} `),
        element("button", { type: "button", "data-go": "1", title: "Next (j)" }, "›"),
        element("button", { type: "button", "data-copy": "link" }, "copy link"),
        element("button", { type: "button", "data-close": true, title: "Close (Esc)", "aria-label": "Close" }, "✕"))),
    row === null ? missing : element("p", { class: "ways" }, select("way", "show", WAYS, view.way), model.expected ? select("against", "against", ["baseline", "expected"], view.against) : null),
    row?.i ? block("Input", row.i, view.way === "differences" ? "text" : view.way) : null,
    row?.x ? block("Expected", row.x, view.way === "differences" ? "text" : view.way) : row !== null ? element("p", { class: "quiet" }, "No expected value.") : null,
    row === null ? model.versions.map((_, v) => element("p", { class: "values" }, element("b", {}, `${model.short[v]}: `), scoresOf(model, state, v, item))) : answers(model, state, row, item, view),
  ].flat(2).filter(Boolean);
};

/** Rate one answer: neither its version nor its score is shown. */
export const ratingOf = (model, row, task, done, total, ratings, way) => [
  element("header", {}, element("b", {}, `${done.toLocaleString("en")} of ${total.toLocaleString("en")} rated`),
    element("nav", {},
      element("button", { type: "button", "data-export": "labels" }, "Export ratings"),
      element("button", { type: "button", "data-rate": "0", "aria-label": "Close" }, "✕"))),
  element("progress", { max: total, value: done, "aria-label": "rated" }),
  ratings.isSafe() ? null : element("p", { class: "error" }, "This browser keeps no ratings for this page: export before closing."),
  ratings.rater() === null ? element("form", { id: "rater" }, element("label", {}, "Who rates? ", element("input", { name: "rater", required: true, autocomplete: "name" })), element("button", {}, "Begin")) : null,
  task === null ? element("p", {}, "All answers are rated. Export the ratings and read them with ", element("code", {}, "pe.read_labels(path)"), ".") : [
    row === null ? element("p", { class: "quiet" }, "The text of this answer is not in this file.") : [
      row.i ? block("Input", row.i, way) : null, row.x ? block("Expected", row.x, way) : null,
      element("article", { class: "answer side0" }, row[`e${task.version}`] ? element("p", { class: "error" }, `Error: ${reveal(String(row[`e${task.version}`]))}`) : null,
        block("Answer", row[`a${task.version}`] ?? "", way))],
    element("p", { class: "rate" }, KINDS.map((kind, at) => element("button", { type: "button", "data-label": kind, disabled: ratings.rater() === null },
      element("kbd", {}, String(at + 1)), ` ${kind}`))),
    element("label", { class: "note" }, "note ", element("input", { id: "note", autocomplete: "off" })),
    element("p", {}, element("button", { type: "button", "data-skip": true }, "Skip"), " ", element("button", { type: "button", "data-undo": true }, "Back")),
  ],
].flat(3).filter(Boolean);
