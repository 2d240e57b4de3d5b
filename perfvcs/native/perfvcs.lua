-- A program under test reports its own measurements to perfvcs. One file, for Lua 5.1 and newer and
-- LuaJIT.
--
--     local perfvcs = require("perfvcs")
--     local tree = perfvcs.measure("parse", function() return parse(text) end, #text) -- or without a size
--     perfvcs.declare("throughput", "op/s", "higher")
--     perfvcs.record("parse", { throughput = 1e6 }, #text)
--
-- Lua itself has no clock finer than a second but that of the processor: wall time is reported where
-- luaposix or luasocket is installed. Where the variable PERFVCS_SAMPLES is not set, nothing is written.

local perfvcs = {}

local function wall_clock()
  local found, posix = pcall(require, "posix.time")
  if found then
    return function()
      local now = posix.clock_gettime(posix.CLOCK_MONOTONIC)
      return now.tv_sec + now.tv_nsec / 1e9
    end
  end
  local has_socket, socket = pcall(require, "socket")
  return has_socket and socket.gettime or nil
end

local clock = wall_clock()

local function quoted(text)
  local escaped = tostring(text):gsub('[%z\1-\31\\"]', function(character)
    return string.format("\\u%04x", character:byte())
  end)
  return '"' .. escaped .. '"'
end

-- Appends a line by one write, so that those of several processes do not mix.
local function append(line)
  local path = os.getenv("PERFVCS_SAMPLES")
  if not path or path == "" then
    return
  end
  local file, reason = io.open(path, "a")
  if file then
    file:setvbuf("full", #line + 1)
    local written, why = file:write(line, "\n")
    reason = not written and why or nil
    file:close()
  end
  if reason then
    io.stderr:write("perfvcs.lua: a sample is lost: ", reason, "\n")
  end
end

-- Reports values that were measured in another way, by metric.
function perfvcs.record(uid, values, size)
  local parts = { '"uid":' .. quoted(uid) }
  local fields = { size = size }
  for name, value in pairs(values) do
    fields[name] = value
  end
  for name, value in pairs(fields) do
    if value ~= value or value == math.huge or value == -math.huge then
      io.stderr:write("perfvcs.lua: a sample is lost: a value is not finite\n")
      return
    end
    local number = string.format("%.17g", value):gsub(",", ".")
    parts[#parts + 1] = quoted(name) .. ":" .. number
  end
  append("{" .. table.concat(parts, ",") .. "}")
end

-- Says the unit of a metric, and which direction is better: lower, higher or none.
function perfvcs.declare(metric, unit, better)
  append(string.format('{"metric":%s,"unit":%s,"better":%s}', quoted(metric), quoted(unit), quoted(better or "lower")))
end

-- Calls a function, reports its wall and CPU time in seconds, and returns the first value that it returns.
function perfvcs.measure(uid, work, size)
  local cpu, start = os.clock(), clock and clock()
  local result = work()
  local values = { wall = clock and clock() - start or nil, cpu = os.clock() - cpu }
  perfvcs.record(uid, values, size)
  return result
end

return perfvcs
