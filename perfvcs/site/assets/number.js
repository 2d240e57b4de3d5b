"use strict";
// Numbers with units as people read them; the same rules as perfvcs/text/quantity.py, and a test holds both together.
var perf = globalThis.perf || {};
perf.number = (() => {
  const SCALED = new Set(["s", "B", "bit", "Hz", "J", "W", "V", "A"]);
  const PREFIXED = {ms: 1e-3, us: 1e-6, "µs": 1e-6, ns: 1e-9}, SMALL = 1e-3, NANO = 1e-9, TENTH = 9.99e-11;
  const EVENTS = new Set(["op", "ops", "items"]);
  const COUNTS = new Set(["", "1", "count"]);
  const PREFIXES = ["p", "n", "µ", "m", "", "k", "M", "G", "T", "P"];
  const UNIT = 24, TAIL = Math.floor((UNIT - 1) * 2 / 5); // characters of a unit, and of its end where its middle is left out
  const superscript = text => text.replace(/[-0-9]/g, sign => sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign]);

  function scale(value, unit) {
    const magnitude = Math.abs(value);
    if (unit === "us") unit = "µs";
    if (!Number.isFinite(magnitude) || magnitude === 0) return {factor: 1, unit};
    if (magnitude < SMALL && Object.hasOwn(PREFIXED, unit)) {
      const smaller = scale(magnitude * PREFIXED[unit], "s");
      return {factor: smaller.factor * PREFIXED[unit], unit: smaller.unit};
    }
    let step = Math.max(-100, Math.floor((Math.log10(magnitude) + 4e-10) / 3));
    const [upper, per] = unit.split("/", 2), fraction = COUNTS.has(unit) || /^(B|bit)/.test(unit);
    if (upper === "s") step = magnitude >= TENTH && magnitude < NANO ? -3 : Math.min(step, 0);
    else if (fraction && magnitude >= 1e-3) step = Math.max(step, 0);
    const scaled = COUNTS.has(unit) || SCALED.has(upper) || (per !== undefined && EVENTS.has(upper));
    if ((fraction && step < 0) || !scaled) {
      step = step >= 3 || step < -1 ? step : 0;
      const power = step ? "×10" + superscript(String(3 * step)) : "";
      return {factor: 10 ** (-3 * step), unit: `${power} ${COUNTS.has(unit) ? "" : unit}`.trim()};
    }
    step = Math.max(-4, Math.min(5, step));
    return {factor: 10 ** (-3 * step), unit: PREFIXES[step + 4] + (unit === "1" || unit === "count" ? "" : unit)};
  }

  // As Python rounds: a half to the even number.
  const whole = value => value.toLocaleString("en-US", {maximumFractionDigits: 0, roundingMode: "halfEven"});

  const EXACT = 100; // digits after the point, which no number shown here exceeds
  const odd = text => /[13579]\.?$/.test(text);
  const even = (rounded, exact, digits) => {
    const kept = exact.length - EXACT + digits;
    return /^50*$/.test(exact.slice(kept)) && !odd(exact.slice(0, kept)) ? exact.slice(0, kept).replace(/\.$/, "") : rounded;
  };
  const fixed = (value, digits) => even(value.toFixed(digits), value.toFixed(EXACT), digits);
  function exponential(value, digits) {
    const [rounded, power] = value.toExponential(digits).split("e"), [exact, own] = value.toExponential(EXACT).split("e");
    const mantissa = power === own ? even(rounded, exact, digits) : rounded; // 9.5 has become 1 of the next power
    return [mantissa, Number(power)];
  }
  const shortened = text => text.includes(".") ? text.replace(/\.?0+$/, "") : text;

  function powered(value, digits) {
    const [mantissa, power] = exponential(value, digits);
    return [mantissa, `e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`];
  }

  function plain(value) {
    if (!Number.isFinite(value)) return String(value);
    if (Math.abs(value) >= 1000) return Math.abs(value) < 1e15 ? whole(value) : powered(value, 3).join("");
    if (value === 0) return "0";
    if (Math.abs(value) < 1e-6) {
      const [mantissa, power] = powered(value, 3);
      return shortened(mantissa) + power;
    }
    return shortened(fixed(value, Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value))))));
  }

  function quantity(value, unit) {
    const chosen = scale(value, unit), name = chosen.unit;
    return `${plain(value * chosen.factor)} ${name.length > UNIT ? `${name.slice(0, UNIT - 1 - TAIL)}…${name.slice(-TAIL)}` : name}`.trim();
  }

  function percent(effect) {
    if (!Number.isFinite(effect)) return `${effect} %`;
    const value = 100 * effect, size = Math.abs(value), sign = value > 0 ? "+" : "";
    if (size < 0.005) return "0 %";
    if (size >= 1e7) return `${sign}${exponential(value, 0).join("e")} %`;
    if (size >= 100) return `${sign}${whole(value)} %`;
    return size >= 1 ? `${sign}${fixed(value, 1)} %` : `${sign}${Number(fixed(value, 1 - Math.floor(Math.log10(size))))} %`;
  }

  // Both ends have as many decimals, or one or two more where one would look like 0.
  const interval = (low, high) => {
    if (low == null || high == null) return "";
    if (low < 0 && high > 1 && 1 + high > 1000 * (1 + low)) return "(no bound)";
    const values = [100 * low, 100 * high], largest = Math.max(...values.map(Math.abs));
    if (!(largest >= 0.005 && largest < 1e7)) return `[${percent(low)}, ${percent(high)}]`;
    let digits = (percent(largest / 100).slice(0, -2).split(".")[1] || "").length;
    const gone = value => Number(fixed(value, digits)) === 0;
    while (digits < 2 && values.some(value => Math.abs(value) >= 0.005 && gone(value))) digits++;
    const texts = values.map(value => gone(value) ? "0"
      : (value > 0 ? "+" : "-") + (digits ? fixed(Math.abs(value), digits).replace(/\B(?=(\d{3})+\.)/g, ",") : whole(Math.abs(value))));
    return `[${texts[0]} %, ${texts[1]} %]`;
  };

  // Some `count` round values within low..high; on a logarithmic axis powers of ten with 2 and 5, where these are enough.
  function ticks(low, high, count, logarithmic = false) {
    if (!(high > low)) return [low];
    if (logarithmic && low > 0 && high / low > 8) {
      const found = [];
      for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
        for (const digit of high / low > 2000 ? [1] : [1, 2, 5]) found.push(digit * 10 ** power);
      }
      const inside = found.filter(value => value >= low && value <= high);
      if (inside.length > 1) return inside.filter((_, turn) => turn % Math.ceil(inside.length / (count + 2)) === 0);
    }
    const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
    const apart = step => Math.abs(count - (high - low) / step); // the nearest to so many, as bokeh chooses them
    const step = [0.5, 1, 2, 5, 10].map(digit => digit * power).reduce((best, one) => apart(one) < apart(best) ? one : best);
    const first = Math.ceil(low / step - 1e-9), found = [];
    for (let turn = first; turn * step <= high + step * 1e-9; turn++) found.push(Number((turn * step).toPrecision(12)));
    return found;
  }

  return {scale, plain, quantity, percent, interval, ticks};
})();
