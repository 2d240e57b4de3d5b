"use strict";
// Any two commits compared in the page, out of the levels that scripts beside it have; and the list of commits.
var perf = globalThis.perf || {};
perf.levels = [];
perf.compare = (() => {
  const {element} = perf.plot, {percent, quantity} = perf.number;
  const MOST = 300, SUGGESTED = 8; // rows of a table, and commits below a search
  const KINDS = {changed: "changed", undecided: "undecided", all: "all"};
  const load = (root, name) => perf.plot.script(`${root}assets/${name}.js`);
  // What a reader is told where a script is not there, or is of another publication than the page.
  const failed = place => place.append(element("p", {role: "alert"}, "The comparisons cannot be loaded: reload the page, or publish the site again."));

  // A commit; one without a page of its own is compared on the page of all commits.
  const about = (turn, root = "") => {
    const {ids, days, titles, authors, author, own, tags} = perf.commits, short = ids[turn];
    return {turn, short, day: days[turn], title: titles[turn], author: authors[author[turn]], tag: tags[turn] || "", url: `${root}${own[turn] ? `commits/${short}.html` : `commits.html#${short}`}`};
  };

  // The commits that have all words in their title, author, day or release, or as their id or its beginning, the newest first; before all others the
  // release or the title that is the text.
  function commits(text, most) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean), asked = text.trim().toLowerCase(), called = [], found = [];
    for (let turn = perf.commits.ids.length - 1; turn >= 0; turn--) {
      const one = about(turn), whole = `${one.title} ${one.author} ${one.day} ${one.tag}`.toLowerCase();
      if (asked && [one.tag, one.title].some(name => name.toLowerCase() === asked)) called.push(one);
      else if (words.every(word => one.short.startsWith(word) || word.startsWith(one.short) || whole.includes(word))) found.push(one);
    }
    return [...called, ...found].slice(0, most);
  }

  const block = turn => Math.floor(turn / perf.commits.block);
  const levels = turn => {
    const [series, values, reach, verdicts] = perf.levels[block(turn)][turn % perf.commits.block];
    return {verdicts, values: new Map(series.map((number, row) => [number, {level: values[row], reach: reach[row] || null}]))};
  };

  // What is known of two commits, the largest effects first. A verdict of `perf check` where these are neighbours, else what the intervals of
  // both levels leave open.
  function rows(before, after) {
    const old = levels(before), now = levels(after), adjacent = after === before + 1, found = [];
    for (const [number, {level, reach}] of now.values) {
      const base = old.values.get(number);
      if (!base) continue;
      const [benchmark, metric, unit, better, environment, url] = perf.lines.series[number], known = adjacent && now.verdicts[number];
      const row = {benchmark, metric, unit, better, url, environment: perf.lines.environments[environment], before: base.level, after: level};
      found.push(Object.assign(row, known ? judged(known, row) : estimated(row, base.reach, reach)));
    }
    return found.sort((a, b) => Math.abs(Math.log1p(b.effect)) - Math.abs(Math.log1p(a.effect)));
  }

  const judged = ([word, effect, low, high], {before, after}) => ({word, effect: effect ?? after / before - 1, low, high});

  function estimated({before, after, better}, old, now) {
    const effect = after / before - 1;
    if (!old || !now || before <= 0) return {word: "inconclusive", effect, low: null, high: null};
    const half = Math.hypot(old, now), middle = Math.log(after / before), low = Math.expm1(middle - half), high = Math.expm1(middle + half);
    const worse = effect > 0 === (better === "lower"), sure = low > 0 || high < 0;
    return {word: !sure ? "inconclusive" : better === "none" ? "suspected" : worse ? "degradation" : "improvement", effect, low, high};
  }

  const kind = ({word}) => perf.verdicts[word]?.moved || word === "accepted" ? "changed" : word === "same" ? "same" : "undecided";

  // As `parted` of perfvcs/site/template.py.
  const parted = name => name.split(/(?<=[._/:])(?=[^._/:])/).flatMap((part, turn) => turn ? [element("wbr"), part] : part);

  function table(listed, root) {
    const head = ["Benchmark", "Metric", "Environment", "Effect", "", "Value"].map(text => element("th", {scope: "col", class: text ? null : "forest"}, text));
    const body = listed.map(row => element("tr", {},
      element("th", {scope: "row"}, element("a", {href: root + row.url}, element("bdi", {}, ...parted(row.benchmark)))),
      element("td", {"data-label": "Metric"}, row.metric), element("td", {"data-label": "Environment"}, row.environment),
      element("td", {class: "number", "data-label": "Effect"}, element("span", {class: `verdict ${row.word}`}, `${perf.verdicts[row.word]?.sign ?? ""} ${percent(row.effect)} `),
        element("span", {class: "quiet"}, perf.number.interval(row.low, row.high))),
      element("td", {class: "forest", "data-word": row.word, "data-effect": row.effect, "data-low": row.low ?? "", "data-high": row.high ?? ""}),
      element("td", {class: "number", "data-label": "Value"}, `${quantity(row.before, row.unit)} → ${quantity(row.after, row.unit)}`)));
    const made = element("table", {class: "stack effects"}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
    perf.effects.draw(made);
    return element("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "all comparisons"}, made);
  }

  // The field in which another commit is chosen; `choose` gets its turn.
  function chooser(own, choose) {
    const field = element("input", {type: "search", list: "others", "aria-label": "the commit to compare with", placeholder: "id, title, author, date, tag", autocomplete: "off"});
    const options = element("datalist", {id: "others"});
    const fill = () => options.replaceChildren(...commits(field.value, SUGGESTED).filter(one => one.turn !== own)
      .map(one => element("option", {value: one.short}, `${one.day} ${one.tag} ${one.title}, ${one.author}`)));
    field.addEventListener("input", () => {
      fill();
      const turn = perf.commits.ids.indexOf(field.value.trim());
      if (turn >= 0 && turn !== own) choose(turn);
    });
    field.addEventListener("change", () => {
      const [first] = commits(field.value, 2).filter(one => one.turn !== own);
      if (field.value.trim() && first) { field.value = first.short; choose(first.turn); }
    });
    fill();
    return {field, options};
  }

  function draw(place, root, own, other, state, again) {
    const [before, after] = own > other ? [other, own] : [own, other], all = rows(before, after), old = about(before), now = about(after);
    const counts = {changed: all.filter(row => kind(row) === "changed").length, undecided: all.filter(row => kind(row) === "undecided").length, all: all.length};
    state.kind ??= counts.changed ? "changed" : "all";
    const listed = all.filter(row => state.kind === "all" || kind(row) === state.kind), shown = listed.slice(0, MOST), command = `perf check ${old.short} ${now.short}`;
    const buttons = Object.keys(KINDS).map(name => {
      const made = element("button", {type: "button", class: "chip", "aria-pressed": String(name === state.kind)}, `${KINDS[name]} (${counts[name].toLocaleString("en-US")})`);
      made.addEventListener("click", () => { state.kind = name; again(); });
      return made;
    });
    const link = one => element("a", {class: "code", href: root + one.url}, one.short);
    const how = after === before + 1 ? "Verdicts of perf check where there are some; others are undecided or were not compared."
      : "Estimated from the levels of both commits and their 99 % intervals; fewer than three executions have none. The command decides:";
    place.replaceChildren(
      element("p", {}, link(old), ` ${old.title} (${old.day}) → `, link(now), ` ${now.title} (${now.day})`),
      element("div", {class: "bar", role: "group", "aria-label": "which comparisons"}, ...buttons),
      shown.length ? table(shown, root) : element("p", {}, all.length ? "None." : "No series was measured at both commits."),
      element("p", {class: "quiet"}, [listed.length > MOST ? `${(listed.length - MOST).toLocaleString("en-US")} smaller ones are not listed. ` : "", how].join("")),
      element("p", {}, element("code", {}, command), " ", perf.saving.button("copy", made => perf.saving.copy(command, made), "copies the command")),
    );
  }

  // The comparisons of a commit's page; its place says which commit it is of.
  async function attach(section, root) {
    const place = section.querySelector("[data-compare]"), started = {};
    const start = () => {
      if (started.done) return;
      started.done = true;
      begin().catch(() => { started.done = false; place.replaceChildren(); failed(place); });
    };
    async function begin() {
      await Promise.all([load(root, "commits"), load(root, "lines")]);
      const own = perf.commits.ids.indexOf(place.dataset.compare), state = {};
      const asked = new URLSearchParams(location.hash.slice(1)), named = perf.commits.ids.indexOf(asked.get("with"));
      const body = element("div"), chosen = named >= 0 && named !== own ? named : own > 0 ? own - 1 : own + 1;
      if (chosen >= perf.commits.ids.length) { place.append(element("p", {}, "There is no other measured commit.")); return; }
      async function show(other) {
        await Promise.all([own, other].map(turn => load(root, `levels-${block(turn)}`)));
        draw(body, root, own, other, state, () => show(other).catch(() => failed(body)));
        if (!section.dataset.any) window.history.replaceState(null, "", `#${new URLSearchParams({with: perf.commits.ids[other]})}`);
      }
      const {field, options} = chooser(own, other => { delete state.kind; show(other).catch(() => failed(body)); });
      field.value = perf.commits.ids[chosen];
      place.append(element("p", {class: "bar"}, element("label", {}, "compare with ", field), options), body);
      await show(chosen);
      if (asked.has("with")) section.scrollIntoView(); // which had no height before
    }
    section.addEventListener("toggle", () => { if (section.open) start(); });
    if (new URLSearchParams(location.hash.slice(1)).has("with")) section.open = true;
  }

  // On the page of all commits, the comparisons of the one that the address names; none where it names none.
  async function any(section, root) {
    const place = section.querySelector("[data-compare]");
    await load(root, "commits");
    let shown = section;
    const open = () => {
      const short = location.hash.slice(1);
      shown.hidden = !perf.commits.ids.includes(short);
      if (shown.hidden) return;
      const fresh = section.cloneNode(false), body = place.cloneNode(false);
      fresh.hidden = false;
      fresh.append(element("summary", {}, `${short}: all comparisons, and with any other commit`), body);
      body.dataset.compare = short;
      shown.replaceWith(fresh);
      shown = fresh;
      attach(fresh, root);
      fresh.open = true;
      fresh.scrollIntoView();
    };
    addEventListener("hashchange", open);
    open();
  }

  // The list of all commits: the page comes with the newest, a search finds every one.
  async function list(place, root) {
    const field = element("input", {type: "search", "aria-label": "find a commit", placeholder: "author, date, title or id"}), said = element("output", {class: "quiet"});
    const body = place.querySelector("tbody");
    place.querySelector("[data-filters]").append(field, " ", said);
    await load(root, "commits");
    const show = () => {
      const found = commits(field.value, Infinity), total = perf.commits.ids.length.toLocaleString("en-US");
      said.textContent = field.value ? `${found.length.toLocaleString("en-US")} of ${total}` : `${total} in all`;
      body.replaceChildren(...found.slice(0, MOST).map(one => row(one, root)));
    };
    const asked = new URLSearchParams(location.hash.slice(1)).get("q");
    if (asked) { field.value = asked; show(); } else said.textContent = `${perf.commits.ids.length.toLocaleString("en-US")} in all`;
    field.addEventListener("input", () => {
      show();
      window.history.replaceState(null, "", field.value ? `#${new URLSearchParams({q: field.value})}` : location.pathname + location.search);
    });
  }

  function row(one, root) {
    const [worse, better] = perf.commits.changes[one.turn] || [0, 0], {verdicts} = perf;
    const changes = [worse && ["degradation", worse], better && ["improvement", better]].filter(Boolean);
    return element("tr", {},
      element("th", {scope: "row"}, element("a", {class: "code", href: root + one.url}, one.short), " ", element("bdi", {}, one.title)),
      element("td", {"data-label": "Author"}, element("bdi", {}, one.author)), element("td", {"data-label": "Date"}, element("time", {}, one.day)),
      element("td", {"data-label": "Changes"}, ...changes.map(([word, count]) => element("span", {class: `verdict ${word}`}, `${verdicts[word].sign} ${count} `))));
  }

  return {about, any, attach, list, load, commits, parted};
})();
