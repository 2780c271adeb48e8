-- A batch of steps on buckets of quota, each atomic with all others. `operators/limit/quota-book.ts` has the same rules in
-- TypeScript, and the layout of the keys is in ../README.md.
--
-- KEYS     per step and bucket: the bucket's hash, then one list per window
-- ARGV[1]  now in epoch milliseconds, or '' for the server's own clock (tests give one)
-- ARGV[2]  what is added to every window, in milliseconds
-- ARGV[3...9]  floor, most lost, unexplained, first step, longest step, every (ms) of the factor; life of a bucket (ms)
-- ARGV[10...12]  least limit for which it is kept when a bucket was full, for how long (ms), how often it is noted (ms)
-- ARGV[13...]  per step its word and arguments; a bucket is: windows, then per window limit and milliseconds
--   t want buckets bucket...               take
--   b stamp count buckets bucket...        give back
--   w bucket grants agoMs...               write down
--   r bucket coolMs                        refused
-- Reply: one flat list, per step
--   take      granted stamp(us) waitUs decidingBucket(from 1, 0: none), then per bucket coolUs factor(millionths) fullUsAgo taken...
--   refused   coolUs factor(millionths) fullUsAgo taken...
--
-- Times are whole microseconds: a double holds them exactly, and two grants of one millisecond stay apart.

local now = tonumber(ARGV[1])
if now then
  now = now * 1000
else
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local stretch = tonumber(ARGV[2]) * 1000
local floor, mostLost, unexplained = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local firstStep, longestStep, every = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]) * 1000
local life = tonumber(ARGV[9])
local leastShared, fullKept, fullEvery = tonumber(ARGV[10]), tonumber(ARGV[11]) * 1000, tonumber(ARGV[12]) * 1000
local at, key, reply, n = 13, 1, {}, 0

local function tell(value)
  n = n + 1
  reply[n] = value
end

local function whole(value) return string.format('%.0f', value) end

local function number()
  at = at + 1
  return tonumber(ARGV[at - 1])
end

local function bucket()
  local b = { hash = KEYS[key], windows = {} }
  key = key + 1
  for i = 1, number() do
    local limit, window = number(), number() * 1000
    b.windows[i] = { list = KEYS[key], limit = limit, ms = window / 1000, us = window + stretch }
    key = key + 1
  end
  return b
end

local function buckets()
  local all = {}
  for i = 1, number() do all[i] = bucket() end
  return all
end

local function load(b)
  local state = redis.call('HMGET', b.hash, 'cool', 'factor', 'before', 'refused', 'step', 'changed', 'full')
  b.cool, b.factor = tonumber(state[1]) or 0, tonumber(state[2]) or 1
  b.before, b.refused = tonumber(state[3]) or 1, tonumber(state[4]) or 0
  b.step, b.changed = tonumber(state[5]) or firstStep, tonumber(state[6]) or now
  b.full = tonumber(state[7]) or 0
  b.fullAgo = now - b.full < fullKept and now - b.full or -1
end

local function noteFull(b)
  if now - b.full < fullEvery then return end
  for _, w in ipairs(b.windows) do
    if w.limit < leastShared then return end
  end
  redis.call('HSET', b.hash, 'full', whole(now))
  if redis.call('PTTL', b.hash) < fullKept / 1000 then redis.call('PEXPIRE', b.hash, fullKept / 1000) end
end

local function store(b)
  redis.call('HSET', b.hash, 'cool', whole(b.cool), 'factor', string.format('%.9f', b.factor),
    'before', string.format('%.9f', b.before), 'refused', b.refused, 'step', string.format('%.9f', b.step),
    'changed', whole(b.changed))
  redis.call('PEXPIRE', b.hash, whole(life + math.max(0, b.cool - now) / 1000))
end

-- Starts in a window at present.
local function taken(w)
  local head = redis.call('LINDEX', w.list, 0)
  while head and tonumber(head) + w.us <= now do
    redis.call('LPOP', w.list)
    head = redis.call('LINDEX', w.list, 0)
  end
  return redis.call('LLEN', w.list)
end

-- The small excess keeps a share that was learned from whole starts whole.
local function allowed(b, w) return math.max(1, math.floor(w.limit * b.factor + 1e-6)) end

local function push(w, times)
  for from = 1, #times, 1000 do
    redis.call('RPUSH', w.list, unpack(times, from, math.min(#times, from + 999)))
  end
  redis.call('PEXPIRE', w.list, whole(w.us / 1000 + 1000))
end

local function grow(b)
  if b.factor >= 1 or b.cool > now or now - b.changed < every then return end
  b.factor = math.min(1, b.factor + b.step)
  b.step = math.min(longestStep, b.step * 2)
  b.changed = now
  store(b)
end

local function tellBucket(b)
  tell(math.max(0, b.cool - now))
  tell(math.floor(b.factor * 1e6 + 0.5))
  tell(b.fullAgo)
  for _, w in ipairs(b.windows) do tell(w.taken) end
end

local function take()
  local granted = number()
  local all = buckets()
  for _, b in ipairs(all) do
    load(b)
    if b.cool > now then granted = 0 end
    for _, w in ipairs(b.windows) do
      w.taken = taken(w)
      granted = math.max(0, math.min(granted, allowed(b, w) - w.taken))
    end
  end
  local times = {}
  for i = 1, granted do times[i] = whole(now) end
  local wait, deciding = 0, 0
  for i, b in ipairs(all) do
    local untilUs, full = b.cool, false
    for _, w in ipairs(b.windows) do
      if granted > 0 then push(w, times) end
      w.taken = w.taken + granted
      local over = w.taken - allowed(b, w)
      if over >= 0 then
        full = true
        untilUs = math.max(untilUs, tonumber(redis.call('LINDEX', w.list, over)) + w.us)
      end
    end
    if untilUs - now > wait then wait, deciding = untilUs - now, i end
    if full then
      grow(b)
      noteFull(b)
    end
  end
  tell(granted)
  tell(now)
  tell(wait)
  tell(deciding)
  for _, b in ipairs(all) do tellBucket(b) end
end

local function giveBack()
  local stamp, count = whole(number()), number()
  for _, b in ipairs(buckets()) do
    for _, w in ipairs(b.windows) do redis.call('LREM', w.list, -count, stamp) end
  end
end

local function writeDown()
  local b = bucket()
  local ago = {}
  for i = 1, number() do ago[i] = number() * 1000 end
  for _, w in ipairs(b.windows) do
    local times = {}
    for _, us in ipairs(ago) do
      if us < w.us then times[#times + 1] = now - us end
    end
    local newest = #times > 0 and redis.call('LINDEX', w.list, -1)
    if newest and tonumber(newest) > times[1] then
      for _, time in ipairs(redis.call('LRANGE', w.list, 0, -1)) do times[#times + 1] = tonumber(time) end
      table.sort(times)
      redis.call('DEL', w.list)
    end
    if #times > 0 then
      for i = 1, #times do times[i] = whole(times[i]) end
      push(w, times)
    end
  end
end

local function refused()
  local b = bucket()
  local cool = number() * 1000
  load(b)
  if b.cool <= now then b.refused, b.before = 0, b.factor end
  b.refused = b.refused + 1
  b.cool = math.max(b.cool, now + cool)
  local letThrough = 0
  for _, w in ipairs(b.windows) do
    w.taken = taken(w)
    letThrough = math.max(letThrough, (w.taken - b.refused) / w.limit)
  end
  if #b.windows > 0 then
    local lower = letThrough < b.before * 0.99 and letThrough or b.before * unexplained
    b.factor = math.min(b.factor, math.max(floor, b.before * mostLost, lower))
  end
  b.step, b.changed = firstStep, now
  store(b)
  tellBucket(b)
end

local steps = { t = take, b = giveBack, w = writeDown, r = refused }
while at <= #ARGV do
  at = at + 1
  steps[ARGV[at - 1]]()
end
return reply
