# frozen_string_literal: true

# A program under test reports its own measurements to perfvcs. One file, for Ruby 2.7 and newer.
#
#     require_relative "perfvcs"
#     Perfvcs.measure("parse", size: text.size) { parse(text) } # or without a size
#     Perfvcs.declare("throughput", "op/s", "higher")
#     Perfvcs.record("parse", throughput: 1e6)
#
# Where the variable PERFVCS_SAMPLES is not set, nothing is written.

require "json"

module Perfvcs
  module_function

  # Reports the wall and CPU time of a block in seconds, and returns what it returns.
  def measure(uid, size: nil)
    cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    result = yield
    wall = Process.clock_gettime(Process::CLOCK_MONOTONIC) - start
    record(uid, size: size, wall: wall, cpu: Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - cpu)
    result
  end

  # Reports values that were measured in another way, by metric.
  def record(uid, size: nil, **values)
    append({ uid: uid, size: size, **values })
  end

  # Says the unit of a metric, and which direction is better: lower, higher or none.
  def declare(metric, unit, better = "lower")
    append({ metric: metric, unit: unit, better: better })
  end

  # Appends a line by one write, so that those of several threads and processes do not mix.
  def append(fields)
    path = ENV.fetch("PERFVCS_SAMPLES", "")
    return if path.empty?

    File.open(path, "a") { |file| file.syswrite("#{JSON.generate(fields)}\n") }
  rescue SystemCallError, JSON::GeneratorError => e
    warn "perfvcs.rb: a sample is lost: #{e.message}"
  end
end
