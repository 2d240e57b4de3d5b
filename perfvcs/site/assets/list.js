"use strict";
// A list that can be searched and filtered: `[data-list="metric environment"]` names its facets, `[data-item]` its items with one attribute per
// facet (words apart by `|`), `[data-group]` what is hidden once all items in it are. What is chosen stands in the address, nowhere else.
var perf = globalThis.perf || {};
perf.list = (() => {
  const {element} = perf.plot, FEW = 60; // items that a search leaves, which folded groups then show

  function make(list) {
    const facets = list.dataset.list.split(" ").filter(Boolean), search = document.getElementById("search");
    const items = [...list.querySelectorAll("[data-item]")].map(item => ({
      item, text: `${list.dataset.prefix || ""}${(item.querySelector("[data-text]") || item).textContent}`.toLowerCase(),
      words: Object.fromEntries(facets.map(facet => [facet, new Set((item.getAttribute(`data-${facet}`) || "").split("|").filter(Boolean))])),
    }));
    if (!items.length) return;
    const groups = [...list.querySelectorAll("[data-group]")];
    const bar = element("form", {class: "bar filters", role: "search", "aria-label": "filter"}), said = element("output", {class: "quiet"});
    const none = element("p", {class: "quiet", hidden: ""}, "Nothing matches. ");
    const choices = Object.fromEntries(facets.map(facet => [facet, choice(facet, items)]).filter(([, made]) => made));
    const clear = element("button", {type: "button", class: "chip"}, "clear");
    for (const [facet, made] of Object.entries(choices)) bar.append(element("label", {}, `${facet} `, made));
    bar.append(clear, said);
    (list.querySelector("[data-filters]") || list).prepend(bar);
    list.append(none);

    function apply() {
      const words = (search?.value || "").toLowerCase().split(/\s+/).filter(Boolean);
      let count = 0;
      for (const one of items) {
        const shown = words.every(word => one.text.includes(word))
          && Object.entries(choices).every(([facet, made]) => !made.value || one.words[facet].has(made.value));
        one.item.hidden = !shown;
        count += shown;
      }
      for (const group of groups) group.hidden = !group.querySelector("[data-item]:not([hidden])");
      if (count && count < items.length) for (const group of list.querySelectorAll("details:not([open])")) group.open = FEW > count && Boolean(group.querySelector("[data-item]:not([hidden])"));
      said.textContent = count === items.length ? `${count.toLocaleString("en-US")} in all` : `${count.toLocaleString("en-US")} of ${items.length.toLocaleString("en-US")}`;
      none.hidden = count > 0;
      clear.hidden = count === items.length;
      list.dispatchEvent(new Event("filtered"));
    }
    // Opens the only item that is left, or goes to the list.
    function go() {
      const left = items.filter(one => !one.item.hidden), link = left.length === 1 && left[0].item.querySelector("a[href]");
      if (link) location.href = link.href;
      search.blur();
      list.scrollIntoView();
    }
    function chosen() {
      return [["q", search?.value], ...Object.entries(choices).map(([facet, made]) => [facet, made.value])].filter(([, value]) => value);
    }
    function write() {
      apply();
      const text = new URLSearchParams(chosen()).toString();
      window.history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
    }
    function read() {
      if (location.hash && !location.hash.includes("=")) return; // an anchor
      const asked = new URLSearchParams(location.hash.slice(1));
      if (search) search.value = asked.get("q") || "";
      for (const [facet, made] of Object.entries(choices)) {
        made.value = asked.get(facet) || "";
        if (made.selectedIndex < 0) made.value = "";
      }
      apply();
    }

    search?.addEventListener("input", write);
    search?.addEventListener("keydown", event => {
      if (event.key === "Escape") { search.value = ""; write(); search.blur(); }
      if (event.key === "Enter") go();
    });
    bar.addEventListener("change", write);
    bar.addEventListener("submit", event => event.preventDefault());
    clear.addEventListener("click", () => {
      if (search) search.value = "";
      for (const made of Object.values(choices)) made.value = "";
      write();
    });
    addEventListener("hashchange", read);
    apply();
    read();
  }

  // A box with the words of one facet and how often each occurs; none where there is nothing to choose.
  function choice(facet, items) {
    const counts = new Map();
    for (const one of items) for (const word of one.words[facet]) counts.set(word, (counts.get(word) || 0) + 1);
    if (counts.size < 2 && !items.some(one => !one.words[facet].size)) return null;
    if (!counts.size) return null;
    const words = [...counts].sort(([a], [b]) => a < b ? -1 : 1);
    return element("select", {name: facet}, element("option", {value: ""}, "any"),
      ...words.map(([word, count]) => element("option", {value: word}, `${word} (${count.toLocaleString("en-US")})`)));
  }

  return {make};
})();
