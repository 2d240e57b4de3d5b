"use strict";
// The axis of commits: one as wide as another, or by their days; its ticks, and the releases along it.
var perf = globalThis.perf || {};
perf.axes = (() => {
  const {node, round} = perf.plot;
  const DAY = 864e5, LABEL = 92, LETTER = 7, AIR = 8; // milliseconds, and pixels: of a label, of a letter, and between labels
  const EDGE = 0.004; // of the whole time: as far as a commit reaches into a time without commits
  const STEPS = [["day", 1], ["day", 2], ["day", 7], ["month", 1], ["month", 3], ["month", 6], ["year", 1], ["year", 2], ["year", 5], ["year", 10], ["year", 50]];
  const LENGTHS = {day: 1, month: 30.4, year: 365.25};

  // From a place among commits to one on an axis by time that is as long; null where days cannot be told apart. Commits of one day share it, and a
  // day before the one before it counts as that.
  function byTime(commits) {
    let latest = -Infinity;
    const days = commits.map(({day}) => (latest = Math.max(latest, Date.parse(day) / DAY)));
    if (!days.length || !Number.isFinite(days[0]) || days[0] === days.at(-1)) return null;
    const first = new Map(), count = new Map(), last = days.length - 1;
    days.forEach((day, place) => { first.set(day, first.get(day) ?? place); count.set(day, (count.get(day) || 0) + 1); });
    const times = days.map((day, place) => day + (place - first.get(day)) / count.get(day)), start = times[0], span = times[last] - start, edge = EDGE * span;
    const bend = place => {
      if (place <= 0) return place;
      if (place >= last) return place;
      const below = Math.floor(place), share = place - below, apart = times[below + 1] - times[below];
      const time = share < 0.5 ? times[below] + Math.min(share * apart, edge) : times[below + 1] - Math.min((1 - share) * apart, edge);
      return (time - start) / span * last;
    };
    bend.day = at => start + at / last * span;
    bend.place = day => (day - start) / span * last;
    return bend;
  }

  const written = day => new Date(Math.round(day * DAY)).toISOString();

  // Round days between two, each with its label: some `most` of them.
  function dates(from, to, most) {
    const [unit, step] = STEPS.find(([unit, step]) => (to - from) / (LENGTHS[unit] * step) <= most) || STEPS.at(-1);
    const found = [], start = new Date(from * DAY);
    if (unit === "day") for (let day = Math.ceil(from / step) * step; day <= to; day += step) found.push([day, written(day).slice(0, 10)]);
    else {
      const months = unit === "month" ? step : 12 * step, first = 12 * start.getUTCFullYear() + start.getUTCMonth();
      for (let month = Math.ceil(first / months) * months; ; month += months) {
        const day = Date.UTC(Math.floor(month / 12), month % 12) / DAY;
        if (day > to) break;
        if (day >= from) found.push([day, written(day).slice(0, unit === "month" ? 7 : 4)]);
      }
    }
    return found;
  }

  function tick(at, bottom, ...labels) {
    return [
      node("line", {class: "base", x1: at, x2: at, y1: bottom, y2: bottom + 4}),
      ...labels.map(([name, kind], row) => node("text", {class: kind, x: at, y: bottom + 17 + 14 * row, "text-anchor": "middle"}, name)),
    ];
  }

  function commits({commits: all, frame: {names}}, frame, [first, last]) {
    const {x, bottom} = frame, longest = Math.max(...names.map(name => name.length));
    const every = Math.max(1, Math.ceil((last - first + 1) / Math.max(1, Math.floor((frame.right - frame.left) / Math.max(LABEL, LETTER * longest + AIR)))));
    const made = [];
    for (let turn = first; turn <= last; turn += every) made.push(...tick(round(x(turn)), bottom, [names[turn], "tick code"], [all[turn].day, "tick"]));
    return made;
  }

  function days(bend, {scale, left, right, bottom}, {from, to}) {
    return dates(bend.day(from), bend.day(to), Math.max(2, (right - left) / LABEL))
      .flatMap(([day, label]) => tick(round(scale(bend.place(day))), bottom, [label, "tick"]));
  }

  // The releases in sight, from the newest on, as far as their names have room.
  function releases(tags, {x, left, right, top, bottom}, below) {
    const made = [];
    let free = Infinity;
    for (const {place, name} of [...tags].reverse()) {
      const at = x(place), half = (LETTER * name.length + AIR) / 2, middle = Math.max(left + half, Math.min(right - half, at));
      if (at < left || at > right) continue;
      const line = node("line", {class: "release", x1: round(at), x2: round(at), y1: top, y2: bottom + 4});
      line.append(node("title", {}, name));
      made.push(line);
      if (middle + half > free) continue;
      free = middle - half;
      made.push(node("text", {class: "tick release", x: round(middle), y: bottom + below, "text-anchor": "middle"}, name));
    }
    return made;
  }

  // The whole axis: what is in sight of `series` from commit to commit, on an axis bent by time if there is such a `bend`.
  function draw(series, frame, state, sight, bend) {
    const line = node("line", {class: "base", x1: frame.left, x2: frame.right, y1: frame.bottom, y2: frame.bottom});
    return [line, ...(bend ? days(bend, frame, state) : commits(series, frame, sight)), ...releases(series.tags, frame, bend ? 31 : 46)];
  }

  return {byTime, dates, draw};
})();
