"use strict";
// The history of a series: values by ancestry with their intervals, levels between steps, and an overview that says what is in sight.
// One line per environment; each layer and each line can be hidden.
var perf = globalThis.perf || {};
perf.History = (() => {
  const {AXIS, node, element, round, mark, ruler, ends, valueAxis, tip, toggle, fitted, position} = perf.plot;
  const {axes, layers, words, saving} = perf;
  const HEIGHT = 361, LABELS = 61, RIGHT = 16, TOP = 12, BOTTOM = 40, RELEASES = 15; // with three rows of labels above, what these take, and with releases
  const NAMED = 700, LETTER = 6.5; // pixels: from this width on, environments are named beside their lines, and a letter of these
  const FEWEST = 4, ROOMY = 80; // commits in sight: at least, and where one of many is asked for
  const MANY = 3; // environments drawn at first; of more than these, of those still measured the one with most values and those with an open degradation
  const LAYERS = ["bounds", "means", "marks"], OPTIONS = ["logarithmic", "linear", "zero", "time"];
  const NEAR = 40; // pixels from the pointer to what it means
  let figures = 0; // drawn so far: clip paths want names of their own

  return class History {
    // `asked`: the state that an address holds; `changed` is called with its words wherever that becomes another one.
    constructor(place, series, asked = new URLSearchParams(), changed = () => {}) {
      this.series = series;
      this.changed = changed;
      this.tracks = series.tracks;
      this.last = series.commits.length - 1;
      this.bend = Number; // from a commit's place to one on the axis
      this.state = {from: -0.5, to: this.last + 0.5, logarithmic: series.frame.values.decades, zero: false, time: false, hidden: this.#crowd(), at: null, width: 0};
      this.#restore(asked);
      this.main = node("svg", {class: "main", tabindex: 0, role: "application", "aria-label": words.history(series)});
      this.canvas = element("div", {class: "canvas"}, this.main);
      this.said = element("p", {class: "quiet reach"});
      this.live = element("p", {class: "unseen", "aria-live": "polite"});
      this.clip = `sight${++figures}`;
      this.overview = this.last < 2 * FEWEST ? null : new perf.Overview(this, AXIS, FEWEST);
      if (this.overview) this.canvas.append(this.overview.figure);
      this.bar = this.#switches();
      this.key = this.#meaning();
      place.append(this.bar, this.canvas, this.key, this.said, this.#tools(), this.live);
      this.tip = tip(this.canvas);
      perf.gestures.attach(this);
      fitted(this.canvas, width => this.#fit(width));
    }

    // Lines that are hidden at first, since there are too many.
    #crowd() {
      if (this.tracks.length <= MANY) return new Set();
      const current = this.tracks.filter(track => !track.retired), [first, ...others] = current.length ? current : this.tracks;
      const longest = others.reduce((most, track) => track.points.length > most.points.length ? track : most, first);
      return new Set(this.tracks.filter(track => track !== longest && !track.open));
    }

    // What an address says: commits at the ends, the names of the environments, and layers and axes that are not as at first.
    #restore(asked) {
      const {state, tracks, last, series} = this, place = name => series.commits.findIndex(commit => commit.short === asked.get(name));
      const [from, to] = ["from", "to"].map(place), chosen = asked.getAll("environment"), off = asked.getAll("off");
      if (chosen.length) for (const track of tracks) state.hidden[chosen.includes(track.name) ? "delete" : "add"](track);
      for (const name of LAYERS) if (off.includes(name)) state.hidden.add(name);
      const axis = asked.getAll("axis");
      if (axis.includes("linear")) state.logarithmic = false;
      for (const name of ["logarithmic", "zero", "time"]) if (axis.includes(name)) state[name] = true;
      if (state.time && series.bend) this.bend = series.bend;
      if (from >= 0 && to >= from) Object.assign(state, {from: Math.max(-0.5, this.bend(from) - 0.5), to: Math.min(last + 0.5, this.bend(to) + 0.5)});
    }

    // The first and the last commit in sight.
    get sight() {
      const {series: {commits}, state: {from, to}, bend, last} = this, inside = commits.map((_, place) => bend(place)), first = inside.findIndex(at => at >= from);
      return [first < 0 ? last : first, inside.findLastIndex(at => at <= to)].map(place => Math.max(0, place));
    }

    // The state in words, as `#restore` reads it; empty where it is as at first.
    get words() {
      const {state, tracks, last, series} = this, usual = this.#crowd(), said = new URLSearchParams();
      if (state.to - state.from < last + 1 - 1e-9) {
        const [first, final] = this.sight;
        said.set("from", series.commits[first].short);
        said.set("to", series.commits[final].short);
      }
      if (tracks.some(track => usual.has(track) !== state.hidden.has(track))) for (const track of this.shown) said.append("environment", track.name);
      for (const name of LAYERS) if (state.hidden.has(name)) said.append("off", name);
      const {decades} = series.frame.values, axis = {...state, linear: decades && !state.logarithmic, logarithmic: state.logarithmic && !decades};
      for (const name of OPTIONS) if (axis[name]) said.append("axis", name);
      return said;
    }

    #switches() {
      const bar = element("div", {class: "bar", role: "group", "aria-label": "what the figure shows"}), {state} = this;
      const layer = (name, label) => toggle(label, !state.hidden.has(name), on => { state.hidden[on ? "delete" : "add"](name); this.render(); });
      const option = (name, label) => toggle(label, state[name], on => { state[name] = on; this.render(); });
      const points = this.tracks.flatMap(track => track.points);
      this.chips = this.tracks.length > 1 ? this.tracks.map(track => this.#chip(track)) : [];
      bar.append(...this.chips);
      if (points.some(point => point.low != null)) bar.append(layer("bounds", "99 % intervals"));
      if (this.tracks.some(track => track.lines.length)) bar.append(layer("means", "levels"), layer("marks", "changes"));
      const zero = option("zero", "from zero");
      zero.disabled = state.logarithmic;
      if (this.series.frame.values.log) bar.append(toggle("log axis", state.logarithmic, on => {
        state.logarithmic = on;
        zero.disabled = on; // which has no logarithm
        this.render();
      }));
      if (this.series.bend) bar.append(toggle("by time", state.time, on => this.#along(on)));
      this.all = element("button", {type: "button", class: "chip all", disabled: state.to - state.from > this.last + 1 - 1e-9 ? "" : null}, "show all");
      this.all.addEventListener("click", () => this.whole());
      bar.append(zero, this.all);
      return bar;
    }

    // A click shows one environment alone, and all again; with Shift or Ctrl it adds or takes away.
    #chip(track) {
      const chip = toggle(track.name, !this.state.hidden.has(track), () => {}), {hidden} = this.state;
      chip.title = "shows it alone; with Shift or Ctrl: adds it, or takes it away";
      chip.prepend(node("svg", {class: `track${track.turn}`, width: 12, height: 12, "aria-hidden": "true"}, node("path", {class: "dot", d: mark("circle", 6, 6, 4.5)})));
      chip.addEventListener("click", event => {
        const alone = this.shown.length === 1 && this.shown[0] === track;
        if (event.shiftKey || event.ctrlKey || event.metaKey) { if (!hidden.delete(track)) hidden.add(track); }
        else for (const one of this.tracks) hidden[alone || one === track ? "delete" : "add"](one);
        this.#pressed();
        this.render();
      });
      return chip;
    }

    #pressed() {
      this.chips.forEach((chip, turn) => chip.setAttribute("aria-pressed", String(!this.state.hidden.has(this.tracks[turn]))));
    }

    // The other kind of axis, with the same commits in sight.
    #along(time) {
      const {state, last} = this, [first, final] = this.sight, whole = state.to - state.from > last + 1 - 1e-9;
      state.time = time;
      this.bend = time ? this.series.bend : Number;
      this.zoom(...whole ? [-0.5, last + 0.5] : [this.bend(first) - 0.5, this.bend(final) + 0.5]);
    }

    #meaning() {
      return element("ul", {class: "key"}, ...layers.key(this.tracks, this.series.tags).map(([swatch, text]) => element("li", {}, swatch, text)));
    }

    // What can be taken out of the figure.
    #tools() {
      const {button, svg, png, csv} = saving, name = `${this.series.benchmark} ${this.series.metric}`.replaceAll(/[^\w.-]+/g, "-").slice(0, 80);
      const head = ["environment", "commit", "day", "author", "title", `value [${this.series.unit}]`, "low", "high", "executions", "effect", "verdict"];
      const rows = () => this.shown.flatMap(track => track.points.filter(point => this.#visible(point)).map(({commit, level, low, high, executions, effect, word}) =>
        [track.name, commit.short, commit.day, commit.author, commit.title, level, low, high, executions, effect, word]));
      this.alone = element("a", {class: "chip", title: "the address of this figure alone, to be embedded elsewhere"}, "figure alone");
      return element("p", {class: "tools", role: "group", "aria-label": "save the figure"}, element("span", {class: "quiet"}, "save"),
        button("SVG", () => svg(this.main, name)), button("PNG", () => png(this.main, name)), button("CSV", () => csv([head, ...rows()], name)), this.alone);
    }

    #visible(point) {
      const at = this.bend(point.x);
      return at >= this.state.from && at <= this.state.to;
    }

    #fit(width) {
      this.state.width = width;
      this.render();
      if (this.asked) this.show(...this.asked);
      this.asked = null;
    }

    whole() { this.zoom(-0.5, this.last + 0.5); }

    // Brings the commits from..to into sight, as far as there are any, and at least a few.
    zoom(from, to) {
      const {state, last} = this, span = Math.max(Math.min(FEWEST, last + 1), Math.min(last + 1, to - from));
      state.from = Math.max(-0.5, Math.min(last + 0.5 - span, (from + to - span) / 2));
      state.to = state.from + span;
      this.all.disabled = span > last + 1 - 1e-9;
      this.tip.hide();
      this.render();
    }

    closer(factor, around) {
      const {from, to} = this.state;
      this.zoom(around - (around - from) * factor, around + (to - around) * factor);
    }

    get shown() { return this.tracks.filter(track => !this.state.hidden.has(track)); }

    render() {
      const {state, series, shown} = this, shows = name => !state.hidden.has(name);
      const lines = shown.map(track => ({track, points: track.points.filter(point => this.#visible(point))})), seen = lines.flatMap(line => line.points);
      const {values} = series.frame, range = ends(seen, values.rule, {...state, bounds: shows("bounds")});
      const letters = shown.length > 1 && state.width >= NAMED ? Math.max(...shown.map(track => [...track.brief].length)) + 2 : 0;
      const frame = {left: AXIS, right: state.width - RIGHT - LETTER * letters, seen}, scale = ruler(state.from, state.to, frame.left, frame.right);
      const x = place => scale(this.bend(place));
      x.back = scale.back;
      frame.scale = scale;
      const below = BOTTOM + (series.tags.length ? RELEASES : 0);
      const labels = shows("marks") ? layers.labels(shown, {...frame, x}, values.label) : {height: 0, found: []};
      const height = HEIGHT - BOTTOM + below + Math.max(0, labels.height - LABELS); // a few rows more or less move nothing below
      Object.assign(frame, {x, top: TOP + labels.height, bottom: height - below});
      frame.y = ruler(...range, frame.bottom, frame.top, state.logarithmic);
      this.frame = frame;
      const axis = node("g", {}, ...axes.draw(series, frame, state, this.sight, state.time ? this.bend : null));
      valueAxis(axis, frame, frame.y, range, values, state);
      const inner = node("g", {"clip-path": `url(#${this.clip})`}, ...lines.map(({track, points}) => node("g", {class: `track${track.turn}`},
        shows("bounds") ? layers.bounds(points, frame) : null, ...layers.values(points, frame), shows("means") ? layers.means(track, frame) : null)));
      const above = node("g", {}, ...(shows("marks") ? layers.marks(shown, frame, labels) : [])); // its labels stand above what is clipped
      this.main.setAttribute("viewBox", `0 0 ${state.width} ${height}`);
      this.main.setAttribute("height", height);
      const names = node("g", {}, ...(letters ? layers.names(lines, frame) : []));
      this.main.replaceChildren(this.#clip(frame), axis, inner, names, above);
      this.key.lastChild.hidden = !inner.querySelector(".far");
      this.said.textContent = `${words.sight(series.frame, seen, range)} ${this.#count()}`;
      this.overview?.render();
      this.ring();
      const said = this.words;
      this.alone.href = `#${new URLSearchParams([["only", "figure"], ...said])}`;
      this.changed(said);
    }

    #clip({left, right, top, bottom}) {
      return node("clipPath", {id: this.clip}, node("rect", {x: left - 6, y: top - 6, width: right - left + 12, height: bottom - top + 12}));
    }

    #count() {
      const [first, final] = this.sight, all = this.last + 1, commits = final - first + 1;
      const which = this.shown.length < this.tracks.length ? `, ${this.shown.length} of ${this.tracks.length} environments` : "";
      const [few, whole] = [commits, all].map(count => count.toLocaleString("en-US"));
      return `${commits < all ? `${few} of ${whole}` : whole} commit${all === 1 ? "" : "s"} in sight${which}.`;
    }

    ring() {
      this.main.querySelector(".ring")?.remove();
      const {at} = this.state;
      if (at && this.#visible(at)) {
        this.main.append(node("circle", {class: "ring", cx: round(this.frame.x(at.x)), cy: round(this.frame.y(at.level)), r: 8}));
      }
    }

    // Shows a commit's numbers beside it, with a link where they are to stay; `aloud` for who does not see them.
    tell(point, {pin = false, aloud = false} = {}) {
      const rows = words.details(this.series, point), text = rows.map(row => row.textContent).join(", ");
      this.state.at = point;
      this.ring();
      if (pin) rows.push(element("a", {href: point.commit.url}, "what changed in this commit"), " ", saving.button("copy", made => saving.copy(text, made), "copies these lines"));
      this.tip.show(this.frame.x(point.x), this.frame.y(point.level), rows, pin);
      if (aloud) this.live.textContent = text;
    }

    // The point that a pointer means: above and below count less than beside.
    nearest(event) {
      const [left, top] = position(this.main, event), {x, y, seen} = this.frame;
      let best = null, least = NEAR ** 2;
      for (const point of seen) {
        const apart = (x(point.x) - left) ** 2 + ((y(point.level) - top) / 4) ** 2;
        if (apart < least) [best, least] = [point, apart];
      }
      return best;
    }

    // Goes to a value of a line by its number, and brings it into sight.
    walk(points, turn) {
      const point = points[Math.max(0, Math.min(points.length - 1, turn))], {from, to} = this.state, half = (to - from) / 2, at = this.bend(point.x);
      if (!this.#visible(point)) this.zoom(at - half, at + half);
      this.tell(point, {aloud: true});
    }

    // Pins the numbers of a commit in an environment, as links from other pages ask for.
    show(short, fingerprint) {
      if (!this.frame) { this.asked = [short, fingerprint]; return; }
      const found = this.tracks.flatMap(track => track.points).filter(point => point.commit.short === short);
      const point = found.find(one => one.track.fingerprint === fingerprint) || found[0];
      if (!point) return;
      if (this.state.hidden.delete(point.track)) { this.#pressed(); this.render(); }
      const at = this.bend(point.x);
      if (this.last > ROOMY && (!this.#visible(point) || !this.words.has("from"))) this.zoom(at - ROOMY / 2, at + ROOMY / 2);
      this.tell(point, {pin: true});
    }
  };
})();
