// People's ratings: kept in the browser under the report's own key, exported as JSON Lines.
import { attempt } from "./data.js";

export const KINDS = ["pass", "fail", "unsure"];

/** Give the same shuffled order for the same report, so that a rater can go on later. */
export const shuffled = (list, seed) => {
  let state = [...seed].reduce((hash, one) => Math.imul(hash ^ one.charCodeAt(0), 16777619) >>> 0, 2166136261);
  const random = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const order = [...list];
  for (let at = order.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [order[at], order[other]] = [order[other], order[at]];
  }
  return order;
};

/** Ratings of one report; where the browser refuses to keep them they stay in memory. */
export const ratingsOf = (report, storage) => {
  const key = `polars-evals:${report}`;
  const stored = attempt(() => JSON.parse(storage.getItem(key) ?? "{}"));
  const kept = { rater: null, ratings: {}, ...stored };
  const write = (where, text) => attempt(() => { storage.setItem(where, text); return true; }, false);
  // What is tried stands under a key of its own: ratings that the browser is still writing are not written over.
  let safe = write("polars-evals", "") && stored !== null;
  const save = () => { safe = write(key, JSON.stringify(kept)) && safe; };
  const place = (item, version) => JSON.stringify([item, version]);
  return {
    isSafe: () => safe,
    rater: () => kept.rater,
    setRater: (name) => { kept.rater = name; save(); },
    get: (item, version) => kept.ratings[place(item, version)] ?? null,
    rate: (item, version, label, note, ts) => {
      kept.ratings[place(item, version)] = { label, note: note || null, ts };
      save();
    },
    count: () => Object.keys(kept.ratings).length,
    /** Return a line for each rating; a weight where the page was made of a sample. */
    lines: (weights) => Object.entries(kept.ratings).map(([where, one]) => {
      const [item_id, version] = JSON.parse(where);
      const weight = weights?.get(item_id);
      const line = { item_id, version, label: one.label, note: one.note, rater: kept.rater, ts: one.ts, report };
      return JSON.stringify(weight === undefined || weight === null ? line : { ...line, weight });
    }),
  };
};
