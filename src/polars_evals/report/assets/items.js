"use strict";
// The items: filtered, sorted, opened. What is chosen stands in the address, so that a link shows the same.
(async () => {
  const root = document.getElementById("items-viewer");
  const data = document.getElementById("items-data");
  if (!root || !data) return;
  const { element, marked, readable } = texts;
  const bytes = Uint8Array.from(atob(data.content.textContent), (one) => one.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const [about, ...lines] = (await new Response(unpacked).text()).split("\n").map((line) => JSON.parse(line));
  const { versions, metrics, sets, verdicts } = about;
  const candidates = versions.map((_, at) => at).slice(1);
  const items = lines.map(([name, slices, scores, labels, input, expected, outputs], at) => ({ at, name, slices, scores, labels, input, expected, outputs }));
  const narrow = matchMedia("(max-width: 48rem)").matches;
  const STEP = narrow ? 12 : 25;
  const SIGNS = { regressed: "▼", inconclusive: "◇", improved: "▲", no_change: "●" };
  const FLIPS = { newly_failing: "newly failing", newly_passing: "newly passing", any: "any flip" };
  const ORDERS = { worst: "worst first", best: "best first", name: "by name" };
  const VIEWS = { plain: "plain text", expected: "differences from expected", baseline: "differences from the baseline" };

  const params = () => new URLSearchParams(location.hash.startsWith("#items?") ? location.hash.slice(7) : "");
  let state = params();
  let limit = STEP;
  const get = (key) => state.get(key) ?? "";
  const chosenSets = () => sets.map((_, at) => state.getAll("slice").find((one) => sets[at].values.includes(one)) ?? "");

  const better = (metric, after, before) => (metrics[metric].lower ? before - after : after - before);
  const gain = (item, metric, version) => {
    const before = item.scores[metric][0];
    const after = item.scores[metric][version];
    return before === null || after === null ? null : better(metric, after, before);
  };
  const focus = () => {
    const metric = metrics.findIndex((one) => one.name === get("metric"));
    const version = versions.indexOf(get("version"));
    const scores = metrics.map((_, at) => at).filter((at) => !metrics[at].measure);
    return {
      metrics: metric >= 0 ? [metric] : scores.length ? scores : metrics.map((_, at) => at),
      versions: version > 0 ? [version] : candidates,
    };
  };

  // The verdicts on a version and metric, over all items or in slices that the item lies in.
  const judged = new Map();
  for (const [version, metric, slice, verdict] of about.rows) {
    const key = `${version} ${metric}`;
    if (!judged.has(key)) judged.set(key, []);
    judged.get(key).push([slice, verdicts[verdict]]);
  }
  const explains = (item, metric, version, verdict) => {
    const change = gain(item, metric, version);
    if (verdict === "regressed" && !(change < 0)) return false;
    if (verdict === "improved" && !(change > 0)) return false;
    return (judged.get(`${version} ${metric}`) ?? []).some(([slice, found]) => found === verdict && (slice === null || item.slices.includes(slice)));
  };
  const flipOf = (item, metric, version) => {
    const [before, after] = [item.labels[metric][0], item.labels[metric][version]];
    return before === 1 && after === 0 ? "newly_failing" : before === 0 && after === 1 ? "newly_passing" : null;
  };
  const haystack = (item) => {
    item.haystack ??= [item.name, ...item.slices, item.input, item.expected, ...item.outputs].join("\n").toLowerCase();
    return item.haystack;
  };
  const matches = (item, wanted, slices) => {
    if (slices.some((one, at) => one && item.slices[at] !== one)) return false;
    const [verdict, flip, search] = [get("verdict"), get("flip"), get("q").trim().toLowerCase()];
    if (verdict || flip || get("metric") || get("version")) {
      const pairs = wanted.versions.some((version) =>
        wanted.metrics.some((metric) => {
          if (item.scores[metric][version] === null) return false;
          if (verdict && !explains(item, metric, version, verdict)) return false;
          const own = flipOf(item, metric, version);
          return !flip || (flip === "any" ? own !== null : own === flip);
        }));
      if (!pairs) return false;
    }
    return !search || haystack(item).includes(search);
  };
  const mean = (item, wanted) => {
    let [sum, count] = [0, 0];
    for (const metric of wanted.metrics) {
      for (const version of wanted.versions) {
        const change = gain(item, metric, version);
        if (change !== null) [sum, count] = [sum + change, count + 1];
      }
    }
    return count ? sum / count : 0;
  };

  const shortly = (text, length) => {
    const line = (text ?? "").slice(0, 4 * length).replace(/\s+/g, " ").trim();
    return line.length > length ? `${line.slice(0, length)}…` : line;
  };
  const written = (metric, value) => {
    if (value === null || value === undefined) return "–";
    const { unit, measure } = metrics[metric];
    const digits = Math.abs(value) >= 100 ? 0 : 2;
    const form = measure && Math.abs(value) < 100 ? { maximumSignificantDigits: 3 } : { minimumFractionDigits: digits, maximumFractionDigits: digits };
    const amount = value.toLocaleString("en", form);
    return !unit ? amount : /^[$€£]$/.test(unit) ? `${unit}${amount}` : `${amount} ${unit}`;
  };
  const cell = (item, metric, wanted) => {
    const before = item.scores[metric][0];
    const after = wanted.versions.map((version) => item.scores[metric][version]).filter((one) => one !== null);
    const low = after.length ? Math.min(...after) : null;
    const high = after.length ? Math.max(...after) : null;
    const end = metrics[metric].lower ? high : low;
    const change = end === null || before === null ? 0 : better(metric, end, before);
    const spread = low === high ? written(metric, low) : `${written(metric, low)} … ${written(metric, high)}`;
    const sign = change < 0 ? "▼" : change > 0 ? "▲" : "=";
    const kind = change < 0 ? "regressed" : change > 0 ? "improved" : "no_change";
    return element("td", { class: "number", "data-label": metrics[metric].name },
      `${written(metric, before)} → ${spread} `, element("span", { class: `sign ${kind}` }, sign));
  };

  const tell = () => {
    const hash = [...state].length ? `#items?${state}` : "#items";
    try {
      history.replaceState(null, "", hash);
    } catch { /* A frame of a notebook has no address of its own. */ }
  };
  const set = (key, value) => {
    if (value) state.set(key, value);
    else state.delete(key);
    limit = STEP;
    tell();
    render();
  };

  const select = (name, options, value, choose, id = name) =>
    element("span", {}, element("label", { for: `filter-${id}` }, name), " ",
      element("select", { id: `filter-${id}`, onchange: (event) => choose(event.target.value) },
        Object.entries(options).map(([key, text]) => element("option", { value: key, selected: key === value }, text))));
  const named = (names) => Object.fromEntries(names.map((name) => [name, name]));
  const worstOf = (slice) => verdicts.find((verdict) => about.rows.some(([, , one, at]) => one === slice && verdicts[at] === verdict));
  const form = element("form", { class: "controls", id: "controls", role: "search", "aria-label": "items", onsubmit: (event) => event.preventDefault() });
  const search = element("input", { type: "search", id: "filter-search", autocomplete: "off" });
  let typing = 0;
  search.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => set("q", search.value), 120);
  });
  const found = element("output", { id: "found", for: "filter-search", "aria-live": "polite" });
  const controls = () => {
    const slices = chosenSets();
    form.replaceChildren(
      element("span", {}, element("label", { for: "filter-search" }, "search"), " ", search),
      ...sets.map((one, at) => select(one.name, { "": "all", ...Object.fromEntries(one.values.map((value) => {
        const sign = SIGNS[worstOf(value)] ?? "";
        return [value, `${value.startsWith(`${one.name}=`) ? value.slice(one.name.length + 1) : value} ${sign}`];
      })) }, slices[at], (value) => {
        const kept = chosenSets().map((old, place) => (place === at ? value : old)).filter(Boolean);
        state.delete("slice");
        for (const slice of kept) state.append("slice", slice);
        set("", "");
      }, `set-${at}`)),
      ...(metrics.length > 1 ? [select("metric", { "": "all", ...named(metrics.map((one) => one.name)) }, get("metric"), (value) => set("metric", value))] : []),
      ...(candidates.length > 1 ? [select("version", { "": "all", ...named(candidates.map((at) => versions[at])) }, get("version"), (value) => set("version", value))] : []),
      select("verdict", { "": "all", ...Object.fromEntries(verdicts.map((one) => [one, `${SIGNS[one]} ${one.replace("_", " ")}`])) }, get("verdict"), (value) => set("verdict", value)),
      select("flip", { "": "all", ...FLIPS }, get("flip"), (value) => set("flip", value)),
      select("order", ORDERS, get("order") || "worst", (value) => set("order", value === "worst" ? "" : value)),
      element("button", { type: "button", id: "reset", onclick: () => {
        state = new URLSearchParams();
        search.value = "";
        set("", "");
      } }, "reset"),
      found);
  };

  const folded = (content, long) => {
    const text = element("div", { class: long ? "text folded" : "text", dir: "auto" }, content);
    if (!long) return [text];
    const button = element("button", { type: "button", class: "unfold", "aria-expanded": "false", onclick: () => {
      const open = text.classList.toggle("folded");
      button.textContent = open ? "show all" : "show less";
      button.setAttribute("aria-expanded", String(!open));
    } }, "show all");
    return [text, button];
  };
  const block = (title, text, notes = [], other = undefined) => {
    const none = [element("i", {}, "none")];
    const content = text === null ? none : other === undefined || other === null ? readable(text) : marked(text, other);
    const long = (text ?? "").length > (narrow ? 450 : 900) || (text ?? "").split("\n").length > 14;
    return element("div", { class: "block" }, element("h3", {}, title), notes, folded(content, long));
  };
  const scoresOf = (item, version) =>
    element("p", { class: "scores" }, metrics.map((metric, at) => {
      const label = item.labels[at][version];
      const kind = label === 1 ? "pass" : label === 0 ? "fail" : "";
      return element("span", { class: `score ${kind}` }, `${metric.name} ${written(at, item.scores[at][version])}`, kind ? ` ${kind === "pass" ? "✓" : "✗"} ${kind}` : "");
    }));

  const shownVersions = (item, wanted) => {
    const asked = state.getAll("show").map((name) => versions.indexOf(name)).filter((at) => at >= 0);
    if (asked.length) return asked.sort((a, b) => a - b);
    const worst = [...wanted.versions].sort((a, b) => mean(item, { ...wanted, versions: [a] }) - mean(item, { ...wanted, versions: [b] }));
    return [0, ...worst.slice(0, candidates.length > 1 && wanted.versions.length > 1 ? 2 : 1)];
  };
  const detail = (item, wanted, columns) => {
    const view = get("view") || "plain";
    const shown = shownVersions(item, wanted);
    const radios = element("fieldset", {}, element("legend", {}, "answers as"), Object.entries(VIEWS)
      .filter(([key]) => key !== "expected" || item.expected !== null)
      .map(([key, text]) => element("label", {}, element("input", { type: "radio", name: `view-${item.at}`, value: key, checked: key === view, onchange: () => set("view", key === "plain" ? "" : key) }), ` ${text}`)));
    const boxes = versions.length <= 2 ? null : element("fieldset", {}, element("legend", {}, "versions"), versions.map((name, at) =>
      element("label", {}, element("input", { type: "checkbox", checked: shown.includes(at), onchange: (event) => {
        const next = event.target.checked ? [...shown, at] : shown.filter((one) => one !== at);
        state.delete("show");
        for (const one of next.length ? next : shown) state.append("show", versions[one]);
        set("", "");
      } }), ` ${name}`)));
    const against = (at) => (view === "expected" ? item.expected : view === "baseline" && at > 0 ? item.outputs[0] : undefined);
    const blocks = [
      item.input === null ? null : block("input", item.input),
      item.expected === null ? null : block("expected", item.expected),
    ];
    const answers = shown.map((at) => block(`${versions[at]}${at === 0 ? " (baseline)" : ""}`, item.outputs[at], [scoresOf(item, at)], against(at)));
    return element("tr", { class: "detail", id: `item-${item.at}` }, element("td", { colspan: columns },
      element("div", { class: "switches" }, radios, boxes),
      element("div", { class: "texts" }, blocks),
      element("div", { class: "texts answers" }, answers)));
  };

  const table = element("table", { id: "items-table" });
  const more = element("button", { type: "button", id: "more-items", onclick: () => {
    limit += 4 * STEP;
    render();
  } });
  const paper = element("p", { class: "left-out paper" });
  const render = () => {
    const kept = document.activeElement?.id;
    const wanted = focus();
    const slices = chosenSets();
    let chosen = items.filter((item) => matches(item, wanted, slices));
    const order = get("order") || "worst";
    if (order === "name") chosen.sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
    else {
      const keys = new Map(chosen.map((item) => [item, mean(item, wanted) * (order === "best" ? -1 : 1)]));
      chosen = chosen.sort((a, b) => keys.get(a) - keys.get(b) || a.at - b.at);
    }
    const opened = new Set(state.getAll("open"));
    const shown = chosen.filter((item, at) => at < limit || opened.has(item.name));
    const columns = metrics.map((_, at) => at).filter((at) => !get("metric") || metrics[at].name === get("metric"));
    const heads = ["item", ...sets.map((one) => one.name), ...columns.map((at) => metrics[at].name)];
    const rows = shown.map((item) => {
      const open = opened.has(item.name);
      const preview = item.input === null || item.input === item.name ? item.outputs[0] : item.input;
      const button = element("button", { type: "button", id: `open-${item.at}`, class: "item", "aria-expanded": String(open), "aria-controls": `item-${item.at}`, onclick: () => {
        const others = state.getAll("open").filter((name) => name !== item.name);
        state.delete("open");
        for (const name of open ? others : [...others, item.name]) state.append("open", name);
        tell();
        render();
      } }, shortly(item.name, 90));
      const row = element("tr", { class: open ? "open" : null },
        element("th", { scope: "row" }, button, element("span", { class: "preview", dir: "auto" }, shortly(preview, 110))),
        item.slices.map((slice, at) => element("td", { class: "slice" }, slice === null ? "–" : slice.startsWith(`${sets[at].name}=`) ? slice.slice(sets[at].name.length + 1) : slice)),
        columns.map((metric) => cell(item, metric, wanted)));
      return element("tbody", {}, row, open ? detail(item, wanted, heads.length) : null);
    });
    const numbers = heads.length - columns.length;
    table.replaceChildren(
      element("caption", {}, `Items, ${ORDERS[order]}${candidates.length > 1 && wanted.versions.length > 1 ? "; scores of the baseline → lowest … highest of the candidates" : "; scores of the baseline → candidate"}`),
      element("thead", {}, element("tr", {}, heads.map((name, at) => element("th", { scope: "col", class: at >= numbers ? "number" : null }, name)))),
      ...rows);
    found.value = `${chosen.length.toLocaleString("en")} of ${items.length.toLocaleString("en")} items`;
    more.hidden = shown.length >= chosen.length;
    paper.textContent = `Printed are ${shown.length.toLocaleString("en")} of ${chosen.length.toLocaleString("en")} items, as on the screen. The page has the others, and the answers.`;
    more.textContent = `show more (${(chosen.length - shown.length).toLocaleString("en")} left)`;
    controls();
    if (kept) document.getElementById(kept)?.focus({ preventScroll: true });
  };

  const restore = (scroll) => {
    state = params();
    limit = STEP;
    if (document.activeElement !== search) search.value = get("q");
    render();
    if (scroll) (root.closest("section") ?? root).scrollIntoView();
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === "/") {
      event.preventDefault();
      search.focus();
    }
    if (event.key !== "j" && event.key !== "k") return;
    const buttons = [...table.querySelectorAll("button.item")];
    const at = buttons.indexOf(document.activeElement);
    const next = buttons[at < 0 ? 0 : Math.min(buttons.length - 1, Math.max(0, at + (event.key === "j" ? 1 : -1)))];
    next?.focus({ preventScroll: true });
    next?.closest("tr").scrollIntoView({ block: "nearest" });
  });
  window.addEventListener("hashchange", () => {
    if (location.hash.startsWith("#items?")) restore(true);
  });
  root.replaceChildren(form, element("div", { class: "items" }, table), more, paper);
  root.hidden = false;
  restore(location.hash.startsWith("#items?"));
  root.dataset.ready = "yes";
})();
