// A program under test reports its own measurements to perfvcs. One file, for Node.js 16 and newer.
//
//     const perfvcs = require("./perfvcs.js");
//     perfvcs.measure("parse", () => parse(text), text.length); // or without a size
//     perfvcs.declare("throughput", "op/s", "higher");
//     perfvcs.record("parse", { throughput: 1e6 }, text.length);
//
// Where the variable PERFVCS_SAMPLES is not set, nothing is written.
"use strict";

const { appendFileSync } = require("node:fs");

function append(fields) {
  const path = process.env.PERFVCS_SAMPLES;
  if (!path) return;
  // JSON writes null where there is no number
  const odd = Object.values(fields).some((value) => typeof value === "number" && !Number.isFinite(value));
  if (odd) {
    console.error("perfvcs.js: a sample is lost: a value is not finite");
    return;
  }
  try {
    appendFileSync(path, `${JSON.stringify(fields)}\n`);
  } catch (error) {
    console.error(`perfvcs.js: a sample is lost: ${error.message}`);
  }
}

/** Reports values that were measured in another way, by metric; without a size, size is undefined. */
function record(uid, values, size) {
  append({ uid, size, ...values });
}

/** Says the unit of a metric, and which direction is better: lower, higher or none. */
function declare(metric, unit, better = "lower") {
  append({ metric, unit, better });
}

/** Calls a function, reports its wall and CPU time in seconds, and returns what it returns. */
function measure(uid, work, size) {
  const cpu = process.cpuUsage();
  const start = process.hrtime.bigint();
  const done = (wall) => {
    const { user, system } = process.cpuUsage(cpu);
    record(uid, { wall: Number(wall - start) / 1e9, cpu: (user + system) / 1e6 }, size);
  };
  const result = work();
  const end = process.hrtime.bigint();
  if (typeof result?.then !== "function") {
    done(end);
    return result;
  }
  return result.then((value) => {
    done(process.hrtime.bigint());
    return value;
  });
}

module.exports = { declare, measure, record };
