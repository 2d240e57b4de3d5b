"use strict";
// What each kind of page does once it is there: figures of a series, forests of effects, lists that filter, and the search that all pages share.
document.addEventListener("DOMContentLoaded", () => {
  const {element} = perf.plot, root = document.body.dataset.root, search = document.getElementById("search");
  const history = document.getElementById("history"), detail = document.getElementById("detail"), list = document.querySelector("[data-list]");

  // The history, at the commit that the address asks for.
  function drawHistory(series) {
    const figure = new perf.History(history, series);
    const ask = () => {
      const asked = new URLSearchParams(location.hash.slice(1));
      if (asked.has("at")) figure.show(asked.get("at"), asked.get("in"));
    };
    addEventListener("hashchange", ask);
    ask();
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
    drawDetail(series);
  }
  perf.effects.draw(document);
  if (list) perf.list.make(list);
  document.querySelectorAll("table.summary").forEach(table => perf.summary.make(table));

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
