"use strict";
// What figures of a series say in words: of a commit, of a change, and of themselves to whoever does not see them.
var perf = globalThis.perf || {};
perf.words = (() => {
  const {verdicts} = perf, {element} = perf.plot, {quantity, percent, interval} = perf.number;
  const differs = word => Boolean(verdicts[word]?.sure) || word === "accepted";

  const changed = step => `${verdicts[step.look].sign} ${step.text}`;

  // A commit's numbers, an element a line.
  function details(series, point) {
    const {commit, track} = point, quiet = words => element("div", {class: "quiet"}, words), line = words => element("div", {}, words);
    const bounds = point.low == null ? "" : ` [${quantity(point.low, series.unit)}, ${quantity(point.high, series.unit)}]`;
    const runs = `${point.executions} execution${point.executions === 1 ? "" : "s"}${point.low == null ? ", no interval" : ""}`;
    const moved = differs(point.word) ? `${verdicts[point.word].sign} ${point.word} ` : "";
    return [
      element("strong", {}, `${commit.short} ${commit.title}`), quiet([commit.author, commit.day].filter(Boolean).join(", ")),
      line(quantity(point.level, series.unit) + bounds), quiet(series.tracks.length > 1 ? `${runs}, ${track.name}` : runs),
      ...(point.effect == null ? [] : [line(`${moved}${percent(point.effect)} against the commit before`)]),
      ...track.marks.filter(step => step.place === point.x).map(step => element("div", {class: step.look}, changed(step))),
    ];
  }

  function history({frame, tracks}) {
    const steps = tracks.flatMap(track => track.marks).slice(-3).map(changed);
    return `${[frame.extent, ...frame.changes, ...frame.ranges, ...steps].join("; ")}. `
      + "Arrow keys go from commit to commit, plus and minus zoom, 0 shows all, Enter pins the numbers.";
  }

  function intervals(points) {
    const found = points.filter((point, turn) => turn && differs(point.word));
    const which = found.map(point => `${point.commit.short} ${point.effect == null ? point.word : percent(point.effect)}`).join(", ");
    return `Means with 99 % intervals of ${points.length} versions; ${found.length ? `${found.length} differ from the one before: ${which}` : "none differs from the one before"}.`;
  }

  // What the page says of its figure, as far as it holds for the axis from `low` to `high`, and how many values and intervals reach beyond that.
  function sight({ranges, cut, notes}, points, [low, high]) {
    const above = low > 0 || high < 0, beyond = points.filter(point => point.low != null && (point.low < low || point.high > high)).length;
    const aside = points.filter(point => point.level < low || point.level > high).length;
    const counts = [[aside, "value"], [beyond - aside, "interval"]].filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}${count > 1 ? "s" : ""}`);
    const far = counts.length ? `${counts.join(" and ")} ${aside + Math.max(0, beyond - aside) > 1 ? "reach" : "reaches"} beyond the axis` : "";
    const said = [...ranges, above ? cut : "", ...notes, far].filter(Boolean).join("; ");
    return said && `${said[0].toUpperCase()}${said.slice(1)}.`;
  }

  return {differs, changed, details, history, intervals, sight};
})();
