"use strict";
// Tables that can be sorted by their headings and searched; without this script they are as they were written. Rows that are folded, since
// there are many, come with a button, and before the table is sorted or searched.
(() => {
  const collator = new Intl.Collator(undefined, {numeric: true});
  const made = (tag, attributes = {}, ...inside) => {
    const element = Object.assign(document.createElement(tag), attributes);
    element.append(...inside);
    return element;
  };
  document.querySelectorAll("table.listing").forEach(table => {
    const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells], folded = table.parentElement.querySelector(".folded");
    const titles = heads.map(head => head.textContent), count = Number(table.dataset.rows);
    const said = made("output", {className: "quiet"}), choice = made("select");
    const more = made("button", {type: "button", textContent: "Show all " + count.toLocaleString("en") + " rows"});
    let rows = [...body.rows], texts = [], shown = {column: -1, down: false};
    const index = () => { texts = rows.map(row => (row.textContent + " " + row.cells[0].title).toLowerCase()); };
    let unfolding;
    const whole = () => unfolding ??= (async () => {
      if (folded) {
        body.insertAdjacentHTML("beforeend", await unpack(folded));
        rows = [...body.rows];
        more.remove();
      }
      index();
    })();
    more.addEventListener("click", whole);
    if (folded) table.after(made("p", {className: "tools"}, more));
    const key = (row, column) => {
      const cell = row.cells[column], order = cell.dataset.order;
      return order !== undefined ? Number(order) : cell.textContent.trim();
    };
    const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : collator.compare(a, b);
    const sort = async (column, down) => {
      shown = {column, down};
      heads.forEach((head, number) => {
        if (number === column) head.ariaSort = down ? "descending" : "ascending";
        else head.removeAttribute("aria-sort");
      });
      choice.value = [column, down].join();
      if (folded) await whole();
      const keys = new Map(rows.map(row => [row, column < 0 ? 0 : key(row, column)]));
      const sign = down ? -1 : 1;
      const ordered = rows.slice().sort((a, b) => {
        const first = keys.get(a), second = keys.get(b);
        return first === "" || second === "" ? (first === "") - (second === "") : sign * compare(first, second);
      });
      body.append(...ordered);
    };
    heads.forEach((head, column) => {
      const button = made("button", {type: "button"}, ...head.childNodes);
      const numeric = rows.some(row => row.cells[column].dataset.order !== undefined);
      button.addEventListener("click", () => sort(column, shown.column === column ? !shown.down : numeric));
      head.append(button);
      choice.append(...[false, true].map(down => made("option", {value: [column, down].join()}, titles[column] + (down ? " \u2193" : " \u2191"))));
    });
    choice.prepend(made("option", {value: "-1,false"}, "as listed"));
    choice.value = "-1,false";
    choice.addEventListener("change", () => {
      const [column, down] = choice.value.split(",");
      sort(Number(column), down === "true");
    });
    const field = made("input", {type: "search", placeholder: "names, metrics or verdicts"});
    const filter = () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let kept = 0;
      rows.forEach((row, number) => {
        row.hidden = !words.every(word => texts[number].includes(word));
        kept += !row.hidden;
      });
      said.textContent = words.length ? kept.toLocaleString("en") + " of " + rows.length.toLocaleString("en") + " rows" : "";
    };
    if (!folded) index();
    field.addEventListener("input", folded ? () => whole().then(filter) : filter);
    const tools = made("p", {className: "tools"}, made("label", {className: "order"}, "Sort ", choice));
    if (count > 4) tools.prepend(made("label", undefined, "Filter ", field), said);
    (table.closest(".scroll") ?? table).before(tools);
  });
})();
