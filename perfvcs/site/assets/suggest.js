"use strict";
// Suggestions below the search: the series whose names have all of its words. Arrows choose one, Enter opens it, Escape closes them.
var perf = globalThis.perf || {};
perf.suggest = (() => {
  const {element} = perf.plot;
  const MOST = 8, COMMITS = 4; // suggestions: of series, and of commits

  // Those first whose last part begins with the words, then those that have them earliest.
  function matching(known, text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    const found = [];
    for (const [name, metric, url] of known) {
      const whole = `${name} ${metric}`.toLowerCase();
      if (!words.every(word => whole.includes(word))) continue;
      const last = whole.slice(Math.max(...[".", "/", "::", ": ", "· "].map(mark => name.toLowerCase().lastIndexOf(mark) + mark.length)));
      found.push({name, metric, url, rank: last.includes(words[0]) ? last.indexOf(words[0]) : 1000 + whole.indexOf(words[0])});
    }
    return found.sort((a, b) => a.rank - b.rank);
  }

  function attach(search, root, list) {
    const box = element("ul", {id: "suggestions", role: "listbox", "aria-label": "series", hidden: ""});
    search.after(box);
    let known = null, chosen = -1;
    const options = () => [...box.querySelectorAll("[role=option]")];
    const close = () => { box.hidden = true; choose(-1); search.setAttribute("aria-expanded", "false"); };
    function choose(turn) {
      chosen = turn;
      options().forEach((one, place) => one.setAttribute("aria-selected", String(place === turn)));
      if (turn < 0) search.removeAttribute("aria-activedescendant");
      else search.setAttribute("aria-activedescendant", `suggestion${turn}`);
    }
    // The newest commits that have the words in their id, title, author or day.
    function people(before) {
      if (!perf.commits || !search.value.trim()) return [];
      return perf.compare.commits(search.value, COMMITS).map(({short, title, author, day, url}, turn) => {
        const option = element("li", {role: "option", id: `suggestion${Math.min(before, MOST) + turn}`, "aria-selected": "false", title}, element("span", {class: "code"}, short), " ",
          element("bdi", {}, title), " ", element("span", {class: "quiet"}, element("bdi", {}, author), ` ${day}`));
        option.addEventListener("pointerdown", event => { event.preventDefault(); location.href = root + url; });
        return option;
      });
    }
    function show() {
      const found = matching(known || [], search.value), more = found.length - MOST;
      box.replaceChildren(...found.slice(0, MOST).map(({name, metric, url}, turn) => {
        const option = element("li", {role: "option", id: `suggestion${turn}`, "aria-selected": "false", title: name}, element("bdi", {}, name), " ", element("span", {class: "quiet"}, metric));
        option.addEventListener("pointerdown", event => { event.preventDefault(); location.href = root + url; });
        return option;
      }));
      box.append(...people(found.length));
      if (more > 0) box.append(element("li", {role: "presentation", class: "quiet"}, `${more.toLocaleString("en-US")} more${list ? " in the list below" : ": Enter lists them"}`));
      box.hidden = !options().length;
      search.setAttribute("aria-expanded", String(!box.hidden));
      choose(-1);
    }
    // The names of all series, and the commits, are scripts of their own, which the first search loads; without one of them the other serves.
    const start = () => Promise.allSettled([perf.compare.load(root, "names"), perf.compare.load(root, "commits")]).then(() => { known = perf.series.names; if (document.activeElement === search && search.value) show(); });
    search.addEventListener("focus", start, {once: true});
    search.addEventListener("input", show);
    search.addEventListener("blur", close);
    search.addEventListener("keydown", event => {
      const count = options().length;
      if (event.key === "Escape") close();
      else if (event.key === "Enter" && chosen >= 0) options()[chosen].dispatchEvent(new Event("pointerdown", {cancelable: true}));
      else if (/^Arrow(Up|Down)$/.test(event.key) && count && !box.hidden) choose(Math.max(-1, Math.min(count - 1, chosen + (event.key === "ArrowDown" ? 1 : -1))));
      else return;
      if (event.key === "Escape") return; // a list takes the words back as well
      event.preventDefault();
      event.stopImmediatePropagation();
    });
  }

  return {attach};
})();
