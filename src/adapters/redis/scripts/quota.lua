-- A batch of steps on buckets of quota, each atomic with all others. `operators/limit/quota-book.ts` has the same rules in
-- TypeScript, and the layout of the keys is in ../README.md.
--
-- KEYS     per step and bucket: the bucket's hash, then one list per window
-- ARGV[1]  now in epoch milliseconds, or '' for the server's own clock (tests give one)
-- ARGV[2]  what is added to every window (ms)
-- ARGV[3]  life of a bucket that learned something (ms)
-- ARGV[4]  the channel on which a rest is told
-- ARGV[5...8]  how starts are spread, `spreadRule` in operators/limit/options.ts
-- ARGV[9...10]  which windows are stretched more, and how much, `longWindow` there
-- ARGV[11...24]  how the learned factor moves, `factorRule` there
-- ARGV[25...]  per step its word and arguments; a bucket is: windows, then per window limit and milliseconds
--   t want ahead(ms, -1: none is spread) buckets bucket...   take
--   b stamps stamp... buckets bucket...                      give back
--   w bucket grants agoMs...                                 write down
--   r bucket coolMs agoMs                                        refused
-- Reply: one flat list, per step
--   take      granted now(us) waitUs decidingBucket(from 1, 0: none) stamp(us)..., then per bucket coolUs factor(millionths) taken...
--   refused   coolUs factor(millionths) taken...
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
local life = tonumber(ARGV[3])
local restChannel = ARGV[4]
local leastSpread, longestSpread, atOnce, evenness = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local longFrom, longTimes = tonumber(ARGV[9]) * 1000, tonumber(ARGV[10])
local rule = {}
for i, name in ipairs({ 'floor', 'leastKept', 'leastUsed', 'unexplained', 'manyRefusals', 'manyShare', 'manySince', 'promptMs',
  'believedInARow', 'vainInARow', 'firstStep', 'longestStep', 'everyMs', 'longestEveryMs' }) do
  rule[name] = tonumber(ARGV[10 + i])
end
local every, longestEvery = rule.everyMs * 1000, rule.longestEveryMs * 1000
local at, key, reply, n = 25, 1, {}, 0

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
    b.windows[i] = { list = KEYS[key], limit = limit, ms = window / 1000, us = window + stretch * (window >= longFrom and longTimes or 1) }
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
  local state = redis.call('HMGET', b.hash, 'cool', 'factor', 'before', 'row', 'proven', 'refused', 'inarow',
    'step', 'every', 'changed', 'first')
  b.cool, b.factor = tonumber(state[1]) or 0, tonumber(state[2]) or 1
  b.before, b.beforeRow, b.proven = tonumber(state[3]) or 1, tonumber(state[4]) or 1, tonumber(state[5]) or 1
  b.refusals, b.inARow = tonumber(state[6]) or 0, tonumber(state[7]) or 0
  b.step, b.every, b.changed = tonumber(state[8]) or rule.firstStep, tonumber(state[9]) or every, tonumber(state[10]) or now
  b.first = tonumber(state[11]) or now
end

local function share(value) return string.format('%.9f', value) end

local function store(b)
  redis.call('HSET', b.hash, 'cool', whole(b.cool), 'factor', share(b.factor), 'before', share(b.before),
    'row', share(b.beforeRow), 'proven', share(b.proven), 'refused', b.refusals, 'inarow', b.inARow,
    'step', share(b.step), 'every', whole(b.every), 'changed', whole(b.changed), 'first', whole(b.first))
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
  redis.call('PEXPIRE', w.list, whole(w.us / 1000 + 5000))
end

-- When one more may start in all buckets, never before what was granted last, and which bucket decides; 0: none waits.
local function nextStart(all, spread)
  local nextUs, deciding = now, 0
  for i, b in ipairs(all) do
    local startUs = b.cool
    for _, w in ipairs(b.windows) do
      if w.taken > 0 then
        local most = allowed(b, w)
        local last = tonumber(redis.call('LINDEX', w.list, -1))
        startUs = math.max(startUs, last)
        if w.taken >= most then startUs = math.max(startUs, tonumber(redis.call('LINDEX', w.list, -most)) + w.us) end
        if spread and w.ms <= longestSpread and most >= leastSpread and w.taken >= most * atOnce then
          startUs = math.max(startUs, last + math.floor(w.us * evenness / most))
        end
      end
    end
    if startUs > nextUs then nextUs, deciding = startUs, i end
  end
  return nextUs, deciding
end

-- Somebody would use more than there is: a little more is tried, then ever more. A rest has tried nothing. Where a refusal
-- is costly nothing is tried before two steps have gone well, and the time does not count.
local function wanted(b, costly)
  if b.factor >= 1 or b.cool > now then return end
  if costly and b.step < 4 * rule.firstStep then
    b.changed = now
    return store(b)
  end
  local tried = now - math.max(b.changed, b.cool)
  local proven = tried >= every and b.factor > b.proven
  if proven then b.proven, b.every = b.factor, every end
  if tried >= b.every then
    b.factor = math.min(1, b.factor + b.step)
    b.step = math.min(rule.longestStep, b.step * 2)
    b.changed = now
  elseif not proven then
    return
  end
  store(b)
end

local function tellBucket(b)
  tell(math.max(0, b.cool - now))
  tell(math.floor(b.factor * 1e6 + 0.5))
  for _, w in ipairs(b.windows) do tell(w.taken) end
end

local function take()
  local want, ahead = number(), number() * 1000
  local all = buckets()
  for _, b in ipairs(all) do
    load(b)
    for _, w in ipairs(b.windows) do w.taken = taken(w) end
  end
  local starts = {}
  local nextUs, deciding = nextStart(all, ahead >= 0)
  while #starts < want and (nextUs <= now or deciding == 1 and nextUs - now <= ahead) do
    starts[#starts + 1] = nextUs
    for _, b in ipairs(all) do
      for _, w in ipairs(b.windows) do
        push(w, { whole(nextUs) })
        w.taken = w.taken + 1
      end
    end
    nextUs, deciding = nextStart(all, ahead >= 0)
  end
  for _, b in ipairs(all) do
    local shortest, full
    for _, w in ipairs(b.windows) do
      if not shortest or w.ms < shortest.ms then shortest = w end
      full = full or w.taken >= allowed(b, w)
    end
    -- A refusal costs a rest about as long as the window.
    if full then wanted(b, shortest.taken < allowed(b, shortest)) end
  end
  tell(#starts)
  tell(now)
  tell(nextUs - now)
  tell(deciding)
  for _, start in ipairs(starts) do tell(start) end
  for _, b in ipairs(all) do tellBucket(b) end
end

local function giveBack()
  local stamps = {}
  for i = 1, number() do stamps[i] = whole(number()) end
  for _, b in ipairs(buckets()) do
    for _, w in ipairs(b.windows) do
      for _, stamp in ipairs(stamps) do redis.call('LREM', w.list, -1, stamp) end
    end
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

local function change(b, factor)
  b.factor, b.proven, b.step, b.changed = factor, factor, rule.firstStep, now
end

local function restBegins(b, started)
  b.refusals, b.first = 0, started
  if b.factor > b.proven and now - b.changed < every then
    change(b, b.proven)
    b.every = math.min(longestEvery, b.every * 2)
  end
  b.before = b.factor
  b.inARow = now - b.cool < rule.promptMs * 1000 and b.inARow + 1 or 1
  if b.inARow == 1 then b.beforeRow = b.factor end
end

local function learn(b, started)
  b.refusals = b.refusals + 1
  b.first = math.min(b.first, started)
  local starts, since = math.huge, math.huge
  for _, w in ipairs(b.windows) do
    w.started, w.since = 0, 0
    for _, time in ipairs(redis.call('LRANGE', w.list, 0, -1)) do
      time = tonumber(time)
      if time <= now then
        w.started = w.started + 1
        if time >= b.first then w.since = w.since + 1 end
      end
    end
    starts, since = math.min(starts, w.started), math.min(since, w.since)
  end
  local many = b.refusals >= rule.manyRefusals
    and (b.refusals >= rule.manyShare * starts or b.refusals >= rule.manySince * since)
  if b.inARow >= rule.vainInARow and b.refusals * 2 <= starts then
    if b.factor < b.beforeRow then change(b, b.beforeRow) end
    return
  end
  if not many and b.inARow ~= rule.believedInARow then return end
  local used, explained, kept, less = false, -1, false, false
  for _, w in ipairs(b.windows) do
    local letThrough = w.started - b.refusals
    used = used or w.started >= w.limit * b.before * rule.leastUsed
    if letThrough < w.limit * b.before - 0.5 then
      explained, less = math.max(explained, letThrough / w.limit), true
    else
      kept = true
    end
  end
  -- One let through all that it did before the step that was refused: the step was too much, and nothing else is.
  if not used or kept and less then return end
  local lower = explained >= 0 and explained or many and b.before * rule.unexplained or b.before
  local factor = math.max(rule.floor, b.before * rule.leastKept, lower)
  if factor >= b.factor then return end
  change(b, factor)
  b.every = every
end

local function refused()
  local b = bucket()
  local cool = number() * 1000
  local started = now - number() * 1000
  load(b)
  for _, w in ipairs(b.windows) do w.taken = taken(w) end
  if b.cool <= now then restBegins(b, started) end
  b.cool = math.max(b.cool, now + cool)
  learn(b, started)
  store(b)
  redis.call('PUBLISH', restChannel, whole(b.cool - now) .. ' ' .. b.hash)
  tellBucket(b)
end

local steps = { t = take, b = giveBack, w = writeDown, r = refused }
while at <= #ARGV do
  at = at + 1
  steps[ARGV[at - 1]]()
end
return reply
