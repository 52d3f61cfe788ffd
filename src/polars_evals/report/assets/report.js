"use strict";
// Sorting, searching and folding. The page says everything without this script, only longer.
(() => {
  const compare = (a, b) => {
    if (a === b) return 0;
    if (a === "") return 1; // What has no value comes last, whatever the order.
    if (b === "") return -1;
    return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
  };

  const keyOf = (row, column) => {
    const cell = row.cells[column];
    const value = cell.dataset.value;
    if (value === undefined) return cell.textContent.trim();
    return value === "" ? "" : Number(value);
  };

  // A table of flips has a body for each flip, so that its texts move with it; other tables have one body.
  const sort = (table, column, descending) => {
    const several = table.tBodies.length > 1;
    const parts = several ? [...table.tBodies] : [...table.tBodies[0].rows];
    const keyed = parts.map((part) => [keyOf(several ? part.rows[0] : part, column), part]);
    keyed.sort(([a], [b]) => (descending && a !== "" && b !== "" ? compare(b, a) : compare(a, b)));
    (several ? table : table.tBodies[0]).append(...keyed.map(([, part]) => part));
  };

  for (const table of document.querySelectorAll("table[data-sortable]")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const descending = head.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        sort(table, column, descending);
      });
    });
  }

  const flips = document.getElementById("flips");
  if (!flips) return;
  const bodies = [...flips.tBodies];
  const search = document.getElementById("filter-search");
  const found = document.getElementById("found");
  const filters = [...document.querySelectorAll("select[data-filter]")];
  const openAll = document.getElementById("open-all");

  const open = (body, yes) => {
    body.rows[1].hidden = !yes;
    body.querySelector("button").setAttribute("aria-expanded", String(yes));
  };
  for (const body of bodies) {
    const name = body.querySelector(".item");
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-controls", body.rows[1].id);
    name.replaceWith(button);
    button.append(name);
    button.addEventListener("click", () => open(body, body.rows[1].hidden));
    open(body, false);
  }

  const texts = new Map(bodies.map((body) => [body, body.textContent.toLowerCase()]));
  const show = () => {
    const wanted = search.value.trim().toLowerCase();
    let count = 0;
    for (const body of bodies) {
      const matches = filters.every(({ value, dataset }) => {
        const cell = body.querySelector(`[data-name="${dataset.filter}"]`);
        return value === "" || (cell.dataset.text ?? cell.textContent) === value;
      });
      body.hidden = !(matches && texts.get(body).includes(wanted));
      count += body.hidden ? 0 : 1;
    }
    found.value = `${count} of ${bodies.length} shown`;
  };
  search.addEventListener("input", show);
  for (const filter of filters) filter.addEventListener("change", show);
  openAll.addEventListener("click", () => {
    const yes = openAll.getAttribute("aria-pressed") !== "true";
    openAll.setAttribute("aria-pressed", String(yes));
    openAll.textContent = yes ? "hide all texts" : "show all texts";
    for (const body of bodies) open(body, yes);
  });
  const controls = document.getElementById("controls");
  controls.addEventListener("submit", (event) => event.preventDefault());
  controls.hidden = false;
  show();
})();
