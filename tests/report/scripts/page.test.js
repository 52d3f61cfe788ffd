// The modules of the page without a browser: filters, orders, addresses, differences, ratings, exports.
import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";

const assets = new URL("../../../src/polars_evals/report/assets/", import.meta.url);
const load = (name) => import(new URL(`${name}.js`, assets));
const { gainOf, labelOf, modelOf, textsOf, valueOf } = await load("data");
const { CHIPS, EMPTY, chosen, countsOf, search } = await load("filter");
const { addressOf, stateOf } = await load("state");
const { apart, comparable, diff } = await load("diff");
const { ratingsOf, shuffled } = await load("labels");
const { csvOf, polarsFilter } = await load("export");
const { groupsOf } = await load("panel");
const { reveal, signed, stepOf } = await load("dom");

const bytes = (...arrays) => {
  // A buffer of its own: small ones of node share a pool.
  const all = Buffer.concat(arrays.map((one) => Buffer.from(one.buffer, one.byteOffset, one.byteLength)));
  return all.buffer.slice(all.byteOffset, all.byteOffset + all.byteLength);
};
const codes = (...values) => Uint16Array.from(values, (value) => (value === null ? 65535 : Math.round(value * 65534)));

/** Four items, two versions, a score and a latency, two slices. */
const model = () => {
  const head = {
    names: ["a", "b", "c", "d"], inputs: ["first", "second", "=third", "fourth"], versions: ["v1", "v2"], short: ["v1", "v2"], item: "item_id",
    metrics: [
      { name: "m", lower: false, measure: false, unit: "", effect: 0.01, unit_scale: true, labels: true },
      { name: "latency_ms", lower: true, measure: true, unit: "ms", effect: 5, unit_scale: false, labels: false },
    ],
    sets: [{ name: "topic", values: ["topic=x", "topic=y"] }], facts: ["error", "empty", "truncated", "filtered", "refusal"], lead: 0, expected: true, report: "abc", label: null,
  };
  const buffer = bytes(
    codes(1, 0.5, 0.2, 0.9), codes(0, 0.5, 0.8, null), Float32Array.of(10, 20, 30, 40), Float32Array.of(20, 20, 15, NaN),
    Uint8Array.of(2, 1, 1, 2), Uint8Array.of(1, 1, 2, 0), Uint16Array.of(0, 0, 1, 65535), Uint16Array.of(0, 0, 0, 0), Uint16Array.of(16, 0, 0, 1),
  );
  return modelOf(head, buffer);
};
const state = (what = {}) => ({ ...EMPTY, metric: 0, slices: [], ...what });

test("numbers come back as they were packed", () => {
  const known = model();
  assert.ok(Math.abs(valueOf(known.metrics[0], 0, 1) - 0.5) < 1e-4);
  assert.ok(Number.isNaN(valueOf(known.metrics[0], 1, 3)));
  assert.equal(valueOf(known.metrics[1], 1, 2), 15);
  assert.deepEqual([0, 1, 2, 3].map((item) => labelOf(known.metrics[0], 1, item)), ["fail", "fail", "pass", null]);
  assert.equal(labelOf(known.metrics[1], 0, 0), null);
});

test("less is better where it is", () => {
  const known = model();
  assert.equal(gainOf(known.metrics[1], 1, 0), -10);
  assert.equal(gainOf(known.metrics[1], 1, 2), 15);
});

test("chips choose and count; counts follow the other filters", () => {
  const known = model();
  const shown = (what) => chosen(known, state(what), null);
  assert.deepEqual(shown({ chip: "worse" }), [0]);
  assert.deepEqual(shown({ chip: "better" }), [2]);
  assert.deepEqual(shown({ chip: "failing" }), [0]);
  assert.deepEqual(shown({ chip: "passing" }), [2]);
  assert.deepEqual(shown({ chip: "errors" }), [3]);
  assert.deepEqual(shown({ slices: ["topic=x"] }), [0, 1]);
  assert.deepEqual(shown({ why: "refusal" }), [0]);
  assert.deepEqual(countsOf(known, state(), null).chips, { all: 4, worse: 1, better: 1, failing: 1, passing: 1, errors: 1 });
  assert.deepEqual(countsOf(known, state({ slices: ["topic=y"] }), null).chips, { all: 1, worse: 0, better: 1, failing: 0, passing: 1, errors: 0 });
  assert.equal(countsOf(known, state({ chip: "worse" }), null).why.refusal, 1);
  assert.equal(countsOf(known, state({ chip: "better" }), null).why.refusal, 0);
});

test("every head sorts both ways, and what has no value comes last", () => {
  const known = model();
  const order = (what) => chosen(known, state(what), null);
  assert.deepEqual(order({ sort: "v1" }), [0, 1, 2, 3]);
  assert.deepEqual(order({ sort: "v1", down: true }), [2, 1, 0, 3]);
  assert.deepEqual(order({ sort: "change" }), [0, 1, 2, 3]);
  assert.deepEqual(order({ sort: "item", down: true }), [3, 2, 1, 0]);
  assert.deepEqual(order({ metric: 1 }), [0, 1, 2, 3]);
});

test("a search sees names, inputs, slices and every text", async () => {
  const known = model();
  const rows = ["Alpha", "beta", "gamma RateLimit", "delta"].map((text, at) => JSON.stringify({ i: "q", x: null, a0: text, e1: at === 3 ? "Timeout" : null }));
  const texts = textsOf(deflateSync(Buffer.from(rows.join("\n"))).toString("base64"), "");
  assert.deepEqual([...(await search(known, texts, "ratelimit"))], [2]);
  assert.deepEqual([...(await search(known, texts, "timeout"))], [3]);
  assert.deepEqual([...(await search(known, texts, "topic=x"))], [0, 1]);
  assert.deepEqual([...(await search(known, texts, "SECOND"))], [1]);
  assert.equal((await search(known, texts, "nowhere")).size, 0);
  assert.equal((await texts.get(1)).a0, "beta");
  assert.equal(texts.has(64), false);
  assert.equal(await texts.get(64), null);
});

test("blocks that are left out are empty", async () => {
  const block = deflateSync(Buffer.from('{"i":"x"}')).toString("base64");
  const texts = textsOf(`- ${block}`, "");
  assert.equal(texts.has(0), false);
  assert.equal((await texts.get(64)).i, "x");
  assert.equal(texts.held(65), 1);
});

test("an address opens what was chosen, and what it does not know is left out", () => {
  const known = model();
  const what = state({ item: 2, q: "a&b", chip: "worse", slices: ["topic=y"], why: "empty", sort: "v1", down: true, metric: 1, show: "change" });
  assert.deepEqual(stateOf(known, addressOf(known, what)), what);
  assert.equal(addressOf(known, state()), "");
  assert.deepEqual(stateOf(known, "#items?item=zz&chip=__proto__&metric=x&slice=topic%3Dq&why=x&show=x"), state());
  assert.deepEqual(stateOf(known, "#elsewhere?chip=worse"), state());
});

test("pieces of a difference make up both texts", () => {
  for (const [own, other] of [["a b c d", "a x c d"], ["", "a"], ["same", "same"], ["one two", "three four five"], ["月亮很远", "月亮很近"]]) {
    const pieces = diff(own, other);
    assert.equal(pieces.filter(([kind]) => kind !== "missing").map(([, piece]) => piece).join(""), own);
    assert.equal(pieces.filter(([kind]) => kind !== "added").map(([, piece]) => piece).join(""), other);
  }
  assert.ok(comparable(diff("a b", "a c"), "a b", "a c"));
  const [x, y] = [Array.from({ length: 60 }, (_, at) => `w${at}`).join(" "), Array.from({ length: 60 }, (_, at) => `z${at}`).join(" ")];
  assert.equal(comparable(diff(x, y), x, y), false);
});

test("previews begin where texts differ", () => {
  const start = "The capital of France, as everyone who has been to school will know, is ";
  const [own, other] = apart(`${start}Paris.`, `${start}Lyon.`, 60);
  assert.ok(own.startsWith("…") && own.endsWith("is Paris."));
  assert.ok(other.endsWith("is Lyon."));
  assert.deepEqual(apart("short a", "short b", 60), ["short a", "short b"]);
});

test("ratings are kept by report, the last one counts, and weights go along", () => {
  const kept = new Map();
  const storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) };
  const mine = ratingsOf("abc", storage);
  // A page that only opens writes over nothing.
  assert.equal(kept.has("polars-evals:abc"), false);
  mine.setRater("ann");
  mine.rate("a", "v1", "fail", "", "2026-01-01T00:00:00Z");
  mine.rate("a", "v1", "pass", "fine", "2026-01-01T00:01:00Z");
  mine.rate("b", "v2", "unsure", "", "2026-01-01T00:02:00Z");
  const lines = ratingsOf("abc", storage).lines(new Map([["a", 2.5]])).map((line) => JSON.parse(line));
  assert.deepEqual(lines[0], { item_id: "a", version: "v1", label: "pass", note: "fine", rater: "ann", ts: "2026-01-01T00:01:00Z", report: "abc", weight: 2.5 });
  assert.equal("weight" in lines[1], false);
  assert.equal(ratingsOf("other", storage).count(), 0);
  const refused = ratingsOf("abc", { getItem: () => { throw new Error("no"); }, setItem: () => { throw new Error("no"); } });
  refused.setRater("bob");
  refused.rate("a", "v1", "pass", "", "t");
  assert.equal(refused.isSafe(), false);
  assert.equal(refused.count(), 1);
});

test("the order of rating is shuffled, and the same for the same report", () => {
  const list = Array.from({ length: 50 }, (_, at) => at);
  assert.deepEqual(shuffled(list, "abc"), shuffled(list, "abc"));
  assert.notDeepEqual(shuffled(list, "abc"), shuffled(list, "abd"));
  assert.deepEqual(shuffled(list, "abc").sort((a, b) => a - b), list);
});

test("exports are inert and choose the same items", () => {
  const known = model();
  const lines = csvOf(known, [2, 0]).split("\r\n");
  assert.equal(lines.length, 3);
  assert.ok(lines[1].startsWith("c,topic=y,'=third,"));
  assert.ok(lines[0].includes("m v1 label"));
  assert.equal(polarsFilter(known, [2, 0]), 'pl.col("item_id").cast(pl.String).is_in(["c","a"])');
});

test("equal answers are one group", () => {
  assert.deepEqual(groupsOf({ a0: "x", a1: "y", a2: "x" }, [0, 1, 2]), [[0, 2], [1]]);
  assert.deepEqual(groupsOf({ a0: null, a1: null, e1: "Timeout" }, [0, 1]), [[0], [1]]);
});

test("tints have five steps, none below what matters, and turn with the direction", () => {
  const [metric, latency] = model().metrics;
  assert.deepEqual([-0.9, -0.1, -0.005, 0.1, 0.9].map((gain) => stepOf(metric, gain, 0.5)), [-2, -1, 0, 1, 2]);
  assert.equal(stepOf(latency, -10, 20), -2);
  assert.equal(stepOf(metric, NaN, 0.5), 0);
  assert.equal(signed(metric, -0.25), "−0.25");
  assert.equal(signed(latency, 12), "+12 ms");
});

test("what cannot be seen is shown", () => {
  assert.equal(reveal("a\u202eb\u0000\r"), "a⟨U+202E⟩b⟨U+0000⟩␍");
  assert.ok(Object.keys(CHIPS).length >= 5);
});
