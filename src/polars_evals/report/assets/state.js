// What is chosen, as an address: a link opens what was seen, and Back returns to it.
import { CHIPS, EMPTY } from "./filter.js";

export const addressOf = (model, state) => {
  const parts = new URLSearchParams();
  if (state.item !== null) parts.set("item", model.names[state.item]);
  if (state.q) parts.set("q", state.q);
  if (state.chip !== "all") parts.set("chip", state.chip);
  if (state.metric !== model.lead) parts.set("metric", model.metrics[state.metric].name);
  for (const slice of state.slices) parts.append("slice", slice);
  if (state.why !== null) parts.set("why", state.why);
  if (state.sort !== "default" || state.down) parts.set("sort", `${state.down ? "-" : ""}${state.sort}`);
  if (state.show !== null) parts.set("show", state.show);
  if (state.rate) parts.set("rate", "1");
  const text = parts.toString();
  return text === "" ? "" : `#items?${text}`;
};

/** Read an address; what it names and the page does not know is left out. */
export const stateOf = (model, address) => {
  const state = { ...EMPTY, metric: model.lead, slices: [] };
  const [place, text = ""] = address.replace(/^#/, "").split("?");
  if (place !== "items" || text === "") return state;
  const parts = new URLSearchParams(text);
  const item = model.names.indexOf(parts.get("item"));
  const metric = model.metrics.findIndex((one) => one.name === parts.get("metric"));
  const sort = parts.get("sort") ?? "default";
  const known = new Set(model.sets.flatMap((set) => set.values));
  state.item = item < 0 ? null : item;
  state.q = parts.get("q") ?? "";
  state.chip = Object.hasOwn(CHIPS, parts.get("chip") ?? "") ? parts.get("chip") : "all";
  state.metric = metric < 0 ? model.lead : metric;
  state.slices = parts.getAll("slice").filter((name) => known.has(name));
  state.why = model.facts.includes(parts.get("why")) ? parts.get("why") : null;
  state.down = sort.startsWith("-");
  state.sort = sort.replace(/^-/, "");
  state.show = ["score", "change"].includes(parts.get("show")) ? parts.get("show") : null;
  state.rate = parts.get("rate") === "1";
  return state;
};
