"use strict";
// What each kind of page does once it is there: figures of a series, forests of effects, lists that filter, and the search that all pages share.
document.addEventListener("DOMContentLoaded", () => {
  const SETTLED = 200; // milliseconds after which the address follows what was chosen
  const {element} = perf.plot, root = document.body.dataset.root, search = document.getElementById("search");
  const history = document.getElementById("history"), detail = document.getElementById("detail"), list = document.querySelector("[data-list]");

  // The history as the address asks for it: from commit to commit, in some environments, at a commit. What is chosen stands there at once.
  function drawHistory(series) {
    const asked = new URLSearchParams(location.hash.slice(1));
    const pinned = ["at", "in", "only"].filter(name => asked.has(name)).map(name => [name, asked.get(name)]);
    let waiting = 0;
    const keep = words => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        const text = new URLSearchParams([...pinned, ...words]).toString();
        window.history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
      }, SETTLED);
    };
    history.replaceChildren();
    document.body.classList.toggle("only", asked.has("only")); // a figure that another page shows
    const figure = new perf.History(history, series, asked, keep);
    if (asked.has("at")) figure.show(asked.get("at"), asked.get("in"));
  }

  // The detailed chart of one environment, first of one with an open change.
  function drawDetail(series) {
    const {tracks} = series, place = element("div"), first = tracks.find(track => track.open) || tracks[0];
    if (tracks.length > 1) {
      const options = tracks.map((track, turn) => element("option", {value: turn, selected: track === first ? "" : null}, track.name));
      const choice = element("select", {}, ...options);
      choice.addEventListener("change", () => perf.intervals.draw(place, series, tracks[choice.value]));
      detail.append(element("p", {class: "bar"}, element("label", {}, "environment ", choice)));
    }
    detail.append(place);
    perf.intervals.draw(place, series, first);
  }

  if (history) {
    const series = perf.series.read(JSON.parse(document.getElementById("data").textContent), root);
    drawHistory(series);
    addEventListener("hashchange", () => drawHistory(series));
    if (detail) drawDetail(series);
  }
  perf.suggest.attach(search, root, list);
  const others = document.getElementById("all"), commits = document.getElementById("commits");
  if (others) (others.dataset.any ? perf.compare.any : perf.compare.attach)(others, root);
  if (commits) perf.compare.list(commits, root);
  for (const one of document.querySelectorAll("[data-copy]")) one.append(" ", perf.saving.button("copy", made => perf.saving.copy(one.dataset.copy, made), one.dataset.copy));
  perf.effects.draw(document);
  document.querySelectorAll(".triage").forEach(perf.effects.draw); // what is certain on its own scale
  // A folded group opens where the address leads to it.
  const reveal = () => {
    const asked = document.getElementById(location.hash.slice(1));
    if (!asked || asked.localName !== "details") return;
    for (let one = asked; one; one = one.parentElement.closest("details")) one.open = true;
    asked.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();
  document.querySelectorAll("table.series").forEach(perf.table.make);
  (list ? perf.table.complete(list) : Promise.resolve()).then(() => {
    perf.table.draw(document.querySelectorAll("[data-strip]"));
    if (list) perf.list.make(list);
  });

  addEventListener("keydown", event => {
    if (event.key !== "/" || event.ctrlKey || event.altKey || event.metaKey || /^(INPUT|SELECT)$/.test(document.activeElement.tagName)) return;
    event.preventDefault();
    search.focus();
    search.select();
  });
  // Pages without a list of their own hand a search over to the first page.
  if (!list) search.addEventListener("keydown", event => {
    if (event.key === "Enter") location.href = `${root}index.html#q=${encodeURIComponent(search.value)}`;
  });
});
