"use strict";
// Sorting and unfolding. Without scripts the page says the same, in its own order.
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
    if (value !== undefined) return value === "" ? "" : Number(value);
    const text = cell.textContent.trim();
    const number = cell.classList.contains("number") ? Number(text.replaceAll(",", "")) : NaN;
    return Number.isNaN(number) ? text : number;
  };

  const sort = (table, column, descending) => {
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => [keyOf(row, column), row]);
    keyed.sort(([a], [b]) => (descending && a !== "" && b !== "" ? compare(b, a) : compare(a, b)));
    body.append(...keyed.map(([, row]) => row));
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

  // A link to what is folded away unfolds it.
  const unfold = () => {
    const target = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
    for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    if (target?.tagName === "DETAILS") target.scrollIntoView();
  };
  window.addEventListener("hashchange", unfold);
  unfold();

  for (const row of document.querySelectorAll(".leaderboard tbody tr")) {
    const link = row.querySelector("th a");
    if (!link) continue;
    row.classList.add("clickable");
    row.addEventListener("click", (event) => {
      if (!event.target.closest("a")) link.click();
    });
  }
})();
