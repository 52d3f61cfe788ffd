// What is shown, for a spreadsheet or for Polars.
import { labelOf, valueOf } from "./data.js";

const cell = (value) => {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  // A spreadsheet takes a cell that begins so for a formula, whoever wrote the answer.
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const rounded = (value) => (Number.isNaN(value) ? NaN : Number(value.toPrecision(5)));

export const csvOf = (model, items) => {
  const heads = [model.item, ...model.sets.map((set) => set.name), "input"];
  const columns = [];
  for (const metric of model.metrics) {
    model.versions.forEach((version, v) => {
      heads.push(`${metric.name} ${version}`);
      columns.push((item) => rounded(valueOf(metric, v, item)));
      if (metric.passes !== null) {
        heads.push(`${metric.name} ${version} label`);
        columns.push((item) => labelOf(metric, v, item));
      }
    });
  }
  const rows = items.map((item) => [
    model.names[item], ...model.sets.map((set) => set.values[set.codes[item]]), model.inputs[item], ...columns.map((column) => column(item)),
  ]);
  return [heads, ...rows].map((row) => row.map(cell).join(",")).join("\r\n");
};

/** Return a filter that chooses the same items of the scored frame. */
export const polarsFilter = (model, items) =>
  `pl.col(${JSON.stringify(model.item)}).cast(pl.String).is_in(${JSON.stringify(items.map((item) => model.names[item]))})`;
