"use strict";
// The history of a series: values by ancestry with their intervals, levels between steps, and an overview that says what is in sight.
// One line per environment; each layer and each line can be hidden.
var perf = globalThis.perf || {};
perf.History = (() => {
  const {AXIS, node, element, round, mark, ruler, ends, valueAxis, tip, toggle, fitted, position} = perf.plot;
  const {layers, words} = perf;
  const HEIGHT = 300, RIGHT = 16, TOP = 12, BOTTOM = 40; // without the rows of labels above
  const FEWEST = 4, ROOMY = 80; // commits in sight: at least, and where one of many is asked for
  const MANY = 3; // environments drawn at first; of more than these, of those still measured the one with most values and those with an open degradation
  const LAYERS = ["bounds", "means", "marks"], OPTIONS = ["logarithmic", "zero"];
  const NEAR = 40; // pixels from the pointer to what it means
  let figures = 0; // drawn so far: clip paths want names of their own

  return class History {
    // `asked`: the state that an address holds; `changed` is called with its words wherever that becomes another one.
    constructor(place, series, asked = new URLSearchParams(), changed = () => {}) {
      this.series = series;
      this.changed = changed;
      this.tracks = series.tracks;
      this.last = series.commits.length - 1;
      this.state = {from: -0.5, to: this.last + 0.5, logarithmic: false, zero: false, hidden: this.#crowd(), at: null, width: 0};
      this.#restore(asked);
      this.main = node("svg", {class: "main", tabindex: 0, role: "application", "aria-label": words.history(series)});
      this.canvas = element("div", {class: "canvas"}, this.main);
      this.said = element("p", {class: "quiet reach"});
      this.live = element("p", {class: "unseen", "aria-live": "polite"});
      this.sight = `sight${++figures}`;
      this.overview = this.last < 2 * FEWEST ? null : new perf.Overview(this, AXIS, RIGHT, FEWEST);
      if (this.overview) this.canvas.append(this.overview.figure);
      this.bar = this.#switches();
      place.append(this.bar, this.canvas, this.said, this.live);
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
      if (from >= 0 && to >= from) Object.assign(state, {from: Math.max(-0.5, from - 0.5), to: Math.min(last + 0.5, to + 0.5)});
      if (chosen.length) for (const track of tracks) state.hidden[chosen.includes(track.name) ? "delete" : "add"](track);
      for (const name of LAYERS) if (off.includes(name)) state.hidden.add(name);
      for (const name of OPTIONS) state[name] = asked.getAll("axis").includes(name);
    }

    // The state in words, as `#restore` reads it; empty where it is as at first.
    get words() {
      const {state, tracks, last, series} = this, usual = this.#crowd(), said = new URLSearchParams();
      if (state.to - state.from < last + 1 - 1e-9) {
        said.set("from", series.commits[Math.max(0, Math.ceil(state.from))].short);
        said.set("to", series.commits[Math.min(last, Math.floor(state.to))].short);
      }
      if (tracks.some(track => usual.has(track) !== state.hidden.has(track))) for (const track of this.shown) said.append("environment", track.name);
      for (const name of LAYERS) if (state.hidden.has(name)) said.append("off", name);
      for (const name of OPTIONS) if (state[name]) said.append("axis", name);
      return said;
    }

    #switches() {
      const bar = element("div", {class: "bar", role: "group", "aria-label": "what the figure shows"}), {state} = this;
      const layer = (name, label) => toggle(label, !state.hidden.has(name), on => { state.hidden[on ? "delete" : "add"](name); this.render(); });
      const option = (name, label) => toggle(label, state[name], on => { state[name] = on; this.render(); });
      const points = this.tracks.flatMap(track => track.points);
      for (const track of this.tracks.length > 1 ? this.tracks : []) {
        const button = layer(track, track.name);
        button.prepend(this.#key(track));
        bar.append(button);
      }
      if (points.some(point => point.low != null)) bar.append(layer("bounds", "99 % intervals"));
      if (this.tracks.some(track => track.lines.length)) bar.append(layer("means", "levels"), layer("marks", "changes"));
      if (this.series.frame.values.log) bar.append(option("logarithmic", "log axis"));
      this.all = element("button", {type: "button", class: "chip all", disabled: state.to - state.from > this.last + 1 - 1e-9 ? "" : null}, "show all");
      this.all.addEventListener("click", () => this.whole());
      bar.append(option("zero", "from zero"), this.all);
      return bar;
    }

    #key(track) {
      return node("svg", {class: `key track${track.turn}`, width: 26, height: 12, "aria-hidden": "true"},
        node("line", {class: "line", x1: 0, x2: 26, y1: 6, y2: 6}), node("path", {class: "dot", d: mark(track.shape, 13, 6, 3.5)}));
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
      const inSight = point => point.x >= state.from && point.x <= state.to;
      const lines = shown.map(track => ({track, points: track.points.filter(inSight)})), seen = lines.flatMap(line => line.points);
      const {values} = series.frame, range = ends(seen, values.rule, {...state, bounds: shows("bounds")});
      const frame = {left: AXIS, right: state.width - RIGHT, seen}, x = ruler(state.from, state.to, frame.left, frame.right);
      const labels = shows("marks") ? layers.labels(shown, {...frame, x}) : {height: 0, found: []}, height = HEIGHT + labels.height;
      Object.assign(frame, {x, top: TOP + labels.height, bottom: height - BOTTOM});
      frame.y = ruler(...range, frame.bottom, frame.top, state.logarithmic);
      this.frame = frame;
      const axes = node("g", {}, ...layers.commits(series, frame, state));
      valueAxis(axes, frame, frame.y, range, values, state);
      const inner = node("g", {"clip-path": `url(#${this.sight})`}, ...lines.map(({track, points}) => node("g", {class: `track${track.turn}`},
        shows("bounds") ? layers.bounds(points, frame) : null, ...layers.values(track, points, frame), shows("means") ? layers.means(track, frame) : null)));
      const above = node("g", {}, ...(shows("marks") ? layers.marks(shown, frame, labels) : [])); // its labels stand above what is clipped
      this.main.setAttribute("viewBox", `0 0 ${state.width} ${height}`);
      this.main.setAttribute("height", height);
      this.main.replaceChildren(this.#clip(frame), axes, inner, above);
      this.said.textContent = `${words.sight(series.frame, seen, range)} ${this.#count()}`;
      this.overview?.render();
      this.ring();
      this.changed(this.words);
    }

    #clip({left, right, top, bottom}) {
      return node("clipPath", {id: this.sight}, node("rect", {x: left - 6, y: top - 6, width: right - left + 12, height: bottom - top + 12}));
    }

    #count() {
      const {from, to} = this.state, all = this.last + 1, commits = Math.floor(to) - Math.ceil(from) + 1;
      const which = this.shown.length < this.tracks.length ? `, ${this.shown.length} of ${this.tracks.length} environments` : "";
      return `${commits < all ? `${commits} of ${all}` : all} commit${all === 1 ? "" : "s"} in sight${which}.`;
    }

    ring() {
      this.main.querySelector(".ring")?.remove();
      const {at, from, to} = this.state;
      if (at && at.x >= from && at.x <= to) {
        this.main.append(node("circle", {class: "ring", cx: round(this.frame.x(at.x)), cy: round(this.frame.y(at.level)), r: 8}));
      }
    }

    // Shows a commit's numbers beside it, with a link where they are to stay; `aloud` for who does not see them.
    tell(point, {pin = false, aloud = false} = {}) {
      const rows = words.details(this.series, point), text = rows.map(row => row.textContent).join(", ");
      this.state.at = point;
      this.ring();
      if (pin) rows.push(element("a", {href: point.commit.url}, "what changed in this commit"));
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
      const point = points[Math.max(0, Math.min(points.length - 1, turn))], {from, to} = this.state, half = (to - from) / 2;
      if (point.x < from || point.x > to) this.zoom(point.x - half, point.x + half);
      this.tell(point, {aloud: true});
    }

    // Pins the numbers of a commit in an environment, as links from other pages ask for.
    show(short, fingerprint) {
      if (!this.frame) { this.asked = [short, fingerprint]; return; }
      const found = this.tracks.flatMap(track => track.points).filter(point => point.commit.short === short);
      const point = found.find(one => one.track.fingerprint === fingerprint) || found[0];
      if (!point) return;
      if (this.state.hidden.has(point.track)) this.bar.children[this.tracks.indexOf(point.track)].click();
      if (this.last > ROOMY && (point.x < this.state.from || point.x > this.state.to || !this.words.has("from"))) this.zoom(point.x - ROOMY / 2, point.x + ROOMY / 2);
      this.tell(point, {pin: true});
    }
  };
})();
