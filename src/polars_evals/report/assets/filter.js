// Which items are shown, in which order, and how many each chip would show.
import { gainOf, labelOf, valueOf } from "./data.js";

export const EMPTY = { q: "", chip: "all", metric: null, slices: [], why: null, sort: "default", down: false, show: null, item: null, rate: false };
const LEAST = 1e-9;
// Bits of facts that mean that there is no whole answer.
export const NO_ANSWER = 0b1111;

const candidates = (model) => model.versions.map((_, at) => at).slice(1);

export const isWorse = (model, metric, item) => candidates(model).some((v) => gainOf(metric, v, item) < -Math.max(metric.effect, LEAST));
export const isBetter = (model, metric, item) => candidates(model).some((v) => gainOf(metric, v, item) > Math.max(metric.effect, LEAST));
const flips = (from, to) => (model, metric, item) =>
  labelOf(metric, 0, item) === from && candidates(model).some((v) => labelOf(metric, v, item) === to);
export const hasError = (model, _, item) => model.flags.some((column) => (column[item] & NO_ANSWER) !== 0);

/** Versions disagree where some pass and some fail; without labels, where their scores are far apart. */
export const disagrees = (model, metric, item) => {
  if (metric.passes !== null) {
    const labels = model.versions.map((_, v) => labelOf(metric, v, item));
    return labels.includes("pass") && labels.includes("fail");
  }
  return spreadOf(model, metric, item) > 0.25;
};

export const spreadOf = (model, metric, item) => {
  const values = model.versions.map((_, v) => valueOf(metric, v, item)).filter((one) => !Number.isNaN(one));
  if (values.length < 2) return 0;
  const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
  return Math.sqrt(values.reduce((sum, one) => sum + (one - mean) ** 2, 0) / values.length);
};

export const CHIPS = {
  all: { name: "All", test: () => true },
  worse: { name: "▼ Worse", test: isWorse },
  better: { name: "▲ Better", test: isBetter },
  failing: { name: "Newly failing", test: flips("pass", "fail"), labels: true },
  passing: { name: "Newly passing", test: flips("fail", "pass"), labels: true },
  errors: { name: "No full answer", test: hasError },
  disagree: { name: "Versions disagree", test: disagrees, several: true },
};

export const chipsOf = (model, metric) =>
  Object.entries(CHIPS).filter(([, chip]) => (!chip.labels || (metric.passes !== null && model.versions.length === 2)) && (!chip.several || model.versions.length > 2));

const hasFact = (model, item, fact) => {
  const bit = 1 << model.facts.indexOf(fact);
  return model.flags.some((column, v) => (v > 0 || bit <= NO_ANSWER) && (column[item] & bit) !== 0);
};

const inSlices = (model, slices, item) =>
  slices.every((name) => model.sets.some((set) => set.values[set.codes[item]] === name));

/** Say whether an item passes all filters but those that are left out. */
export const matches = (model, state, found, item, without = "") => {
  const metric = model.metrics[state.metric];
  if (found !== null && !found.has(item)) return false;
  if (without !== "slices" && !inSlices(model, state.slices, item)) return false;
  if (without !== "why" && state.why !== null && !hasFact(model, item, state.why)) return false;
  return without === "chip" || CHIPS[state.chip].test(model, metric, item);
};

const every = (model) => Array.from({ length: model.n }, (_, item) => item);

/** Return the items that are shown, in order. */
export const chosen = (model, state, found) => {
  const kept = every(model).filter((item) => matches(model, state, found, item));
  const key = sortKey(model, state);
  if (key === null) return state.down ? kept.reverse() : kept;
  const keys = new Map(kept.map((item) => [item, key(item)]));
  const sign = state.down ? -1 : 1;
  const order = (a, b) => {
    const [x, y] = [keys.get(a), keys.get(b)];
    // What has no value comes last, whichever way.
    if (typeof x === "number" && (Number.isNaN(x) || Number.isNaN(y))) return Number.isNaN(x) - Number.isNaN(y) || a - b;
    return x < y ? -sign : x > y ? sign : a - b;
  };
  return kept.sort(order);
};

const sortKey = (model, state) => {
  const metric = model.metrics[state.metric];
  const worst = (item) => {
    const gains = candidates(model).map((v) => gainOf(metric, v, item)).filter((one) => !Number.isNaN(one));
    return gains.length ? Math.min(...gains) : NaN;
  };
  if (state.sort === "default") {
    if (state.metric === model.lead) return null;
    return model.versions.length > 2 ? (item) => -spreadOf(model, metric, item) : worst;
  }
  if (state.sort === "item") return (item) => model.names[item];
  if (state.sort === "change") return worst;
  if (state.sort.startsWith("v")) return (item) => valueOf(metric, Number(state.sort.slice(1)), item);
  return null;
};

/** Count what each chip, slice and fact would show with the other filters as they are. */
export const countsOf = (model, state, found) => {
  const metric = model.metrics[state.metric];
  const chips = Object.fromEntries(chipsOf(model, metric).map(([name]) => [name, 0]));
  const why = Object.fromEntries(model.facts.map((fact) => [fact, 0]));
  for (let item = 0; item < model.n; item++) {
    if (matches(model, state, found, item, "chip")) {
      for (const name in chips) chips[name] += CHIPS[name].test(model, metric, item) ? 1 : 0;
    }
    if (matches(model, state, found, item, "why")) {
      for (const fact in why) why[fact] += hasFact(model, item, fact) ? 1 : 0;
    }
  }
  return { chips, why };
};

/** Find a text in names, inputs and slices at once, and in all texts as they are unpacked. */
export const search = async (model, texts, wanted, tell = () => {}, size = 64) => {
  const found = new Set();
  const word = wanted.toLowerCase();
  for (let item = 0; item < model.n; item++) {
    const known = [model.names[item], model.inputs[item], ...model.sets.map((set) => set.values[set.codes[item]] ?? "")];
    if (known.some((text) => text.toLowerCase().includes(word))) found.add(item);
  }
  for (let at = 0; at < texts.count; at++) {
    if (tell(found, at / texts.count) === false) return null;
    const rows = await texts.block(at);
    rows.forEach((row, place) => {
      if (Object.values(row).some((text) => typeof text === "string" && text.toLowerCase().includes(word))) found.add(at * size + place);
    });
  }
  return found;
};
