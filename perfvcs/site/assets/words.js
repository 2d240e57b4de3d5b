"use strict";
// What figures of a series say in words: of a commit, of a change, and of themselves to whoever does not see them.
var perf = globalThis.perf || {};
perf.words = (() => {
  const {element, SIGNS} = perf.plot, {quantity, percent, interval} = perf.number;
  const MOVED = ["degradation", "improvement", "accepted"];

  function stepped(series, step) {
    const commits = step.last - step.first + 1, where = step.range && `; ${step.drift ? "over" : "one of"} ${commits} commits ${step.range}`;
    const effect = [percent(step.effect), interval(step.low, step.high)].filter(Boolean).join(" ");
    return `${SIGNS[step.look]} ${step.drift ? "drift" : `lasting ${step.word}`} ${effect}: `
      + `${step.levels || `${quantity(step.before, series.unit)} → ${quantity(step.after, series.unit)}`}${where}${step.reason && `; ${step.state}: ${step.reason}`}`;
  }

  // A commit's numbers, an element a line.
  function details(series, point) {
    const {commit, track} = point, quiet = words => element("div", {class: "quiet"}, words), line = words => element("div", {}, words);
    const bounds = point.low == null ? "" : ` [${quantity(point.low, series.unit)}, ${quantity(point.high, series.unit)}]`;
    const runs = point.executions === 1 ? "1 execution, no interval" : `${point.executions} executions`;
    const moved = MOVED.includes(point.word) ? `${SIGNS[point.word]} ${point.word} ` : "";
    return [
      element("strong", {}, `${commit.short} ${commit.title}`), quiet([commit.author, commit.day].filter(Boolean).join(", ")),
      line(quantity(point.level, series.unit) + bounds), quiet(series.tracks.length > 1 ? `${runs}, ${track.name}` : runs),
      ...(point.effect == null ? [] : [line(`${moved}${percent(point.effect)} against the commit before`)]),
      ...track.marks.filter(step => step.x === point.x).map(step => element("div", {class: step.look}, stepped(series, step))),
    ];
  }

  function history(series) {
    const levels = series.tracks.flatMap(track => track.points.map(point => point.level)), steps = series.tracks.flatMap(track => track.marks);
    const [low, high] = [Math.min, Math.max].map(end => quantity(levels.reduce((a, b) => end(a, b)), series.unit));
    const changes = steps.slice(-3).map(step => stepped(series, step)).join("; ") || "no lasting change";
    return `Values on ${series.commits.length} commits, ${low} to ${high}; ${changes}. `
      + "Arrow keys go from commit to commit, plus and minus zoom, 0 shows all, Enter pins the numbers.";
  }

  function intervals(points) {
    const found = points.filter((point, turn) => turn && MOVED.includes(point.word));
    const which = found.map(point => `${point.commit.short} ${point.effect == null ? point.word : percent(point.effect)}`).join(", ");
    return `Means with 99 % intervals of ${points.length} versions; ${found.length ? `${found.length} differ from the one before: ${which}` : "none differs from the one before"}.`;
  }

  // How far the values of each line (its points) reach, since an axis that begins above zero makes small changes look large.
  function reach(lines, [low, high]) {
    const known = lines.map(points => points.map(point => point.level)).filter(levels => levels.length);
    if (!known.length) return "";
    const ratios = known.map(levels => levels.reduce((a, b) => Math.max(a, b)) / levels.reduce((a, b) => Math.min(a, b)) - 1);
    const most = Math.max(...ratios), spread = percent(most).replace("+", "");
    const words = !Number.isFinite(most) || ratios.some(ratio => ratio < 0) ? "Some values are zero or below"
      : known.length > 1 ? `Values range over up to ${spread} in one environment` : `Values range over ${spread}`;
    const cut = lines.flat().filter(point => point.low != null && (point.low < low || point.high > high)).length;
    return `${words}${low > 0 ? "; the axis does not begin at zero" : ""}${cut ? `; ${cut} interval${cut > 1 ? "s reach" : " reaches"} beyond the figure` : ""}.`;
  }

  return {MOVED, stepped, details, history, intervals, reach};
})();
