// The page as a whole: what is chosen, what follows from it, and what people do.
import { attempt, canInflate, inflate, inflateText, modelOf, packed, textsOf } from "./data.js";
import { element } from "./dom.js";
import { csvOf, polarsFilter } from "./export.js";
import { chosen, countsOf, search } from "./filter.js";
import { chipsView, columnsOf, headOf, rowOf, rowsView, whyView, widthsOf } from "./grid.js";
import { KINDS, ratingsOf, shuffled } from "./labels.js";
import { panelOf, ratingOf } from "./panel.js";
import { addressOf, stateOf } from "./state.js";

const storage = attempt(() => window.localStorage);

const themes = () => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const kept = attempt(() => storage.getItem("polars-evals:theme"));
  if (kept) root.dataset.theme = kept;
  if (!button) return;
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    attempt(() => storage.setItem("polars-evals:theme", root.dataset.theme));
  });
};

const save = (name, text, type) => {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
};

const counted = (n) => `${n.toLocaleString("en")} ${n === 1 ? "item" : "items"}`;

const start = async () => {
  const grid = document.getElementById("grid");
  if (!grid || packed("pe-head") === "") return;
  const note = document.getElementById("items-note");
  if (!canInflate()) {
    note.textContent = "This browser cannot unpack the items (it has no DecompressionStream): the first ones are shown.";
    return;
  }
  const [head, numbers] = await Promise.all([inflateText(packed("pe-head")), inflate(packed("pe-scores"))]);
  const model = modelOf(JSON.parse(head), numbers);
  const texts = textsOf(packed("pe-texts"), packed("pe-previews"));
  const held = texts.held(model.limit);
  const panel = document.getElementById("panel");
  const body = document.getElementById("rows");
  const all = columnsOf(model);
  const shown = new Set(all.filter((column) => !column.hidden).map((column) => column.id));
  const view = { way: "differences", against: "baseline" };
  let state = stateOf(model, location.hash);
  let found = null;
  let items = [];
  let searching = 0;

  const columns = () => all.filter((column) => shown.has(column.id));
  const draw = (item) => rowOf(model, texts, state, columns(), item);
  const rows = rowsView(grid, body, draw);

  const fill = async () => {
    if (model.versions.length !== 2) return;
    const wanted = rows.seen().filter((item) => texts.has(item) && texts.now(item) === null);
    if (!wanted.length) return;
    await Promise.all([...new Set(wanted.map((item) => Math.floor(item / 64)))].map((at) => texts.block(at)));
    rows.redraw();
  };
  let filling = 0;
  const fillSoon = () => { clearTimeout(filling); filling = setTimeout(fill, 30); };
  for (const target of [grid, window]) target.addEventListener("scroll", fillSoon, { passive: true });

  const toolbar = document.getElementById("toolbar");
  const wrap = element("div", { class: "tools" });
  const searchBox = element("input", { type: "search", id: "q", placeholder: `search ${counted(model.n)} and all texts`, "aria-label": "Search" });
  const chips = element("div", { class: "chips" });
  const why = element("div", { class: "chips why" });
  const metricSelect = element("select", { id: "metric", "aria-label": "Metric" }, model.metrics.map((one, at) => element("option", { value: at }, one.name)));
  const sliceSelect = element("select", { id: "slice", "aria-label": "Slice" }, element("option", { value: "" }, "all slices"),
    model.sets.map((set) => element("optgroup", { label: set.name }, set.values.map((value) => element("option", { value }, value)))));
  const showSelect = element("select", { id: "show", "aria-label": "Show score or change" }, ["score", "change"].map((one) => element("option", { value: one }, one)));
  const picker = element("details", { class: "menu" }, element("summary", {}, "columns"), element("div", {}, all.map((column) =>
    element("label", {}, element("input", { type: "checkbox", "data-column": column.id, checked: shown.has(column.id) }), ` ${column.full ?? column.name}`))));
  const exports = element("details", { class: "menu" }, element("summary", {}, "export"), element("div", {},
    element("button", { type: "button", "data-export": "csv" }, "CSV of these rows"),
    element("button", { type: "button", "data-export": "polars" }, "Copy as a Polars filter"),
    element("button", { type: "button", "data-rate": "1" }, "Rate answers")));
  const more = element("details", { class: "sheet" }, element("summary", {}, "filters"), element("div", { class: "filters" }, chips, why,
    element("div", { class: "choices" }, model.metrics.length > 1 ? metricSelect : null, model.sets.length ? sliceSelect : null,
      model.versions.length > 2 ? showSelect : null, picker, exports)));
  wrap.append(searchBox, more);
  more.open = !matchMedia("(max-width: 640px)").matches;
  toolbar.replaceChildren(wrap);
  toolbar.hidden = false;

  const empty = () => {
    const cause = state.chip === "errors" ? "No errors: every answer is whole." : "No item matches.";
    return element("p", { class: "empty" }, `${cause} `, element("button", { type: "button", "data-clear": true }, "Clear filters"));
  };

  const show = (reach = false) => {
    items = chosen(model, state, found);
    const counts = countsOf(model, state, found);
    chips.replaceChildren(...chipsView(model, state, counts));
    why.replaceChildren(...(state.chip === "all" && state.why === null ? [] : whyView(model, state, counts)));
    grid.querySelector("thead").replaceChildren(headOf(model, state, columns()));
    grid.querySelector("table").style.minWidth = matchMedia("(max-width: 640px)").matches ? "" : `${widthsOf(model, columns())}px`;
    grid.dataset.versions = model.versions.length === 2 ? "two" : "many";
    metricSelect.value = state.metric;
    sliceSelect.value = state.slices[0] ?? "";
    showSelect.value = state.show ?? "score";
    if (searchBox.value !== state.q) searchBox.value = state.q;
    rows.set(items);
    const luck = counts.chips.worse > 0 && (state.sort === "change" || (state.sort === "default" && model.versions.length === 2))
      ? " Worst first: extreme items partly reflect a lucky baseline." : "";
    const only = held < model.n ? ` ${held.toLocaleString("en")} have their full texts in this file.` : "";
    note.replaceChildren(items.length ? `${items.length.toLocaleString("en")} of ${counted(model.n)}.${luck}${only} ` : empty(),
      items.length ? element("span", { class: "keys" }, "Keys: j and k move, Enter opens, / searches, Esc closes.") : "");
    fill();
    if (state.rate) showRating();
    else if (state.item !== null) showItem(reach);
    else close();
  };

  const write = (push) => {
    const address = addressOf(model, state) || `${location.pathname}${location.search}`;
    // A frame without an address has no history.
    attempt(() => history[push ? "pushState" : "replaceState"](null, "", address));
  };
  const change = (what, { push = true, reach = false } = {}) => {
    state = { ...state, ...what };
    write(push);
    show(reach);
  };

  const close = () => {
    panel.hidden = true;
    document.body.classList.remove("with-panel");
  };
  const open = (content) => {
    panel.replaceChildren(...content);
    panel.hidden = false;
    document.body.classList.add("with-panel");
  };
  const showItem = async (reach) => {
    const item = state.item;
    const row = (await texts.get(item)) ?? (await texts.preview(item));
    if (state.item !== item || state.rate) return;
    open(panelOf(model, state, row, item, items.indexOf(item), items.length, view));
    rows.redraw();
    if (reach) rows.reach(item);
  };
  const go = (by) => {
    if (!items.length) return;
    const at = items.indexOf(state.item);
    const next = items[at < 0 ? 0 : Math.min(items.length - 1, Math.max(0, at + by))];
    change({ item: next }, { push: state.item === null, reach: true });
  };

  // Ratings: the sample's answers, or those of the items that are shown, in an order that tells nothing.
  const weights = model.label === null ? null : new Map(model.label.map(([item, weight]) => [model.names[item], weight]));
  const ratings = ratingsOf(model.report, storage);
  let tasks = null;
  let at = 0;
  const showRating = async () => {
    tasks ??= shuffled((model.label === null ? items : model.label.map(([item]) => item)).flatMap((item) => model.versions.map((_, version) => ({ item, version }))), model.report);
    const isRated = ({ item, version }) => ratings.get(model.names[item], model.versions[version]) !== null;
    if (at < tasks.length && isRated(tasks[at]) && !tasks[at].again) {
      const next = tasks.findIndex((task) => !isRated(task));
      at = next < 0 ? tasks.length : next;
    }
    const task = tasks[at] ?? null;
    const row = task === null ? null : (await texts.get(task.item)) ?? (await texts.preview(task.item));
    if (!state.rate) return;
    open(ratingOf(model, row, task, tasks.filter(isRated).length, tasks.length, ratings, "text"));
    document.body.classList.add("rating");
  };
  const rate = (label) => {
    const task = tasks?.[at];
    if (!task || ratings.rater() === null) return;
    ratings.rate(model.names[task.item], model.versions[task.version], label, document.getElementById("note")?.value, new Date().toISOString());
    task.again = false;
    at += 1;
    showRating();
  };

  const find = async (text) => {
    const mine = ++searching;
    if (text === "") found = null;
    else {
      const matches = await search(model, texts, text, (part, share) => {
        if (mine !== searching) return false;
        note.textContent = `Searching… ${Math.round(share * 100)}%, ${part.size} found`;
      });
      if (matches === null || mine !== searching) return;
      found = matches;
    }
    if (mine === searching) show();
  };
  let typing = 0;
  searchBox.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => { state = { ...state, q: searchBox.value.trim() }; write(state.q.length < 2); find(state.q); }, 200);
  });
  metricSelect.addEventListener("change", () => change({ metric: Number(metricSelect.value) }));
  sliceSelect.addEventListener("change", () => change({ slices: sliceSelect.value ? [sliceSelect.value] : [] }));
  showSelect.addEventListener("change", () => change({ show: showSelect.value === "score" ? null : "change" }));
  picker.addEventListener("change", (event) => {
    const column = event.target.dataset.column;
    if (event.target.checked) shown.add(column);
    else shown.delete(column);
    show();
  });

  document.addEventListener("click", (event) => {
    const claim = event.target.closest("a[data-items]");
    if (claim) {
      event.preventDefault();
      state = stateOf(model, claim.getAttribute("href"));
      write(true);
      show();
      document.getElementById("items").scrollIntoView();
      return;
    }
    const button = event.target.closest("button");
    const data = button?.dataset ?? {};
    if (data.chip) change({ chip: data.chip, why: null });
    else if (data.why) change({ why: state.why === data.why ? null : data.why });
    else if (data.sort) change(state.sort === data.sort ? (state.down ? { sort: "default", down: false } : { down: true }) : { sort: data.sort, down: false });
    else if (data.clear !== undefined) { found = null; searching++; change({ q: "", chip: "all", slices: [], why: null }); }
    else if (data.go) go(Number(data.go));
    else if (data.close !== undefined) change({ item: null });
    else if (data.copy) navigator.clipboard?.writeText(location.href).then(() => { button.textContent = "copied"; }, () => { button.textContent = "not allowed"; });
    else if (data.export === "csv") save("items.csv", csvOf(model, items), "text/csv");
    else if (data.export === "polars") navigator.clipboard?.writeText(polarsFilter(model, items)).then(() => { button.textContent = "copied"; }, () => save("filter.txt", polarsFilter(model, items), "text/plain"));
    else if (data.export === "labels") save("labels.jsonl", `${ratings.lines(weights).join("\n")}\n`, "application/jsonl");
    else if (data.rate) { document.body.classList.remove("rating"); tasks = null; at = 0; change({ rate: data.rate === "1", item: null }); }
    else if (data.label) rate(data.label);
    else if (data.skip !== undefined) { at += 1; showRating(); }
    else if (data.undo !== undefined && at > 0) { at -= 1; tasks[at].again = true; showRating(); }
    else if (!button) {
      const row = event.target.closest("tr[data-item]");
      // A selection of words is no click.
      if (row && !String(getSelection())) change({ item: Number(row.dataset.item) });
    }
  });
  panel.addEventListener("change", (event) => {
    if (!event.target.dataset.view) return;
    view[event.target.dataset.view] = event.target.value;
    showItem(false);
  });
  panel.addEventListener("submit", (event) => {
    event.preventDefault();
    const name = event.target.elements.rater?.value.trim();
    if (name) { ratings.setRater(name); showRating(); }
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const writing = event.target.matches("input, select, textarea");
    if (event.key === "Escape") {
      if (writing) event.target.blur();
      else if (!state.rate && state.item !== null) change({ item: null });
      return;
    }
    if (writing) return;
    if (state.rate) {
      const kind = KINDS[Number(event.key) - 1];
      if (kind) { event.preventDefault(); rate(kind); }
      return;
    }
    if (event.key === "j" || event.key === "k") go(event.key === "j" ? 1 : -1);
    else if (event.key === "/") { event.preventDefault(); more.open = true; searchBox.focus(); }
    else if (event.key === "Enter" && state.item === null && items.length && event.target === document.body) go(0);
  });
  const restore = () => {
    state = stateOf(model, location.hash);
    document.body.classList.toggle("rating", state.rate);
    if (state.q) find(state.q).then(() => show(true));
    else { found = null; searching++; show(true); }
  };
  window.addEventListener("popstate", restore);
  window.addEventListener("hashchange", restore);
  if (model.label !== null && location.hash === "") state = { ...state, rate: true };
  grid.classList.add("live");
  if (state.q) { show(); find(state.q).then(() => show(true)); } else show(true);
  if (state.item !== null || location.hash.startsWith("#items?")) document.getElementById("items").scrollIntoView();
};

themes();
start().finally(() => { document.documentElement.dataset.ready = "true"; });
