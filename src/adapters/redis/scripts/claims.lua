-- A batch of steps on claims, each atomic with all others. The table of transitions is in ../README.md.
--
-- KEYS[i]  key of the id of step i
-- ARGV[1]  now in epoch milliseconds, or '' for the server's own clock (tests give one)
-- ARGV[2]  takeovers after which a claim is DEAD
-- ARGV[2 + i]  step i in one text, for every argument costs its sender more than it costs here to take the text apart.
--   Between fields is one space. Only origin and result come from elsewhere: they stand last, so any text may be in them.
--   c nonce leaseMs ttlMs sent(0|1) round origin        claim
--   e fence leaseMs                                     extend
--   f nonce fence state(F|P|D) delayMs ttlMs nothingActed(0|1) result   finish
--   v                                                   view
--   x ttlMs                                             cancel
-- Reply: one flat list, per step
--   claim   0 (fence 1, as if nobody had ever asked) | 1 fence firstSentAgoMs(-1: never) takeovers cancelled(0|1)
--           | 2 origin result | 3 waitMs | 4 origin result | 5 waitMs
--   extend, finish   1 | 0
--   view    0 unknown | 1 pending | 2 failed | 3 origin result | 4 origin result
--   cancel  0 ended | 1 kept | 2 somebody may have sent it
--
-- A record is one string: state (char), fence (u32), round (u24), takeovers (u8), until, first sent (f64), nonce (u8 length +
-- bytes), origin (u16 length + bytes), result (W and F: 'c' when nobody wants the call any more). `until` is the end of the lease (W), or the not-before (F).
-- The nonce names the step that wrote the record last: a step that is repeated because its reply was lost
-- finds its own mark and gives the same answer again.

local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local maxTakeovers = tonumber(ARGV[2])
local unwanted = 'c'
local reply = {}
local n = 0

local function tell(value)
  n = n + 1
  reply[n] = value
end

local function store(key, state, fence, round, takeovers, untilMs, firstSent, nonce, origin, result, mode, ttl)
  local head = struct.pack('>c1I4I3BddB', state, fence, round, takeovers, untilMs, firstSent, #nonce)
  local value = head .. nonce .. struct.pack('>I2', #origin) .. origin .. result
  if ttl then redis.call('SET', key, value, mode, ttl) else redis.call('SET', key, value, mode) end
end

local function load(key)
  local value = redis.call('GET', key)
  if not value then return nil end
  local state, fence, round, takeovers, untilMs, firstSent, nonce, origin, rest =
    struct.unpack('>c1I4I3BddBc0I2c0', value)
  return state, fence, round, takeovers, untilMs, firstSent, nonce, origin, string.sub(value, rest)
end

local function grant(key, fence, round, takeovers, firstSent, nonce, origin, lease, ttl, sent, wish)
  if fence == 1 and firstSent == 0 and takeovers == 0 and wish == '' then
    tell(0)
  else
    tell(1)
    tell(fence)
    tell(firstSent == 0 and -1 or now - firstSent)
    tell(takeovers)
    tell(wish == unwanted and 1 or 0)
  end
  -- What nobody wants is not going to be sent.
  if firstSent == 0 and sent and wish ~= unwanted then firstSent = now end
  store(key, 'W', fence, round, takeovers, now + lease, firstSent, nonce, origin, wish, 'PX', math.max(ttl, lease))
end

local function claim(key, step)
  local nonce, lease, ttl, sent, asked, rest = string.match(step, '^c (%S+) (%S+) (%S+) (%S+) (%S+) ()')
  local origin = string.sub(step, rest)
  lease, ttl, sent, asked = tonumber(lease), tonumber(ttl), sent == '1', tonumber(asked)
  local state, fence, seen, takeovers, untilMs, firstSent, mark, owner, result = load(key)
  if not state then return grant(key, 1, asked, 0, 0, nonce, origin, lease, ttl, sent, '') end
  local round = math.max(seen, asked)
  -- A person sends it again: nothing of what was is held against it.
  if state == 'D' and asked > seen then return grant(key, fence + 1, round, 0, 0, nonce, origin, lease, ttl, sent, '') end
  if state == 'P' or state == 'D' then
    tell(state == 'P' and 2 or 4)
    tell(owner)
    return tell(result)
  end
  if state == 'F' then
    if untilMs > now then
      tell(5)
      return tell(untilMs - now)
    end
    return grant(key, fence + 1, round, takeovers, firstSent, nonce, origin, lease, ttl, sent, result)
  end
  if mark == nonce then
    -- Granted to this very request before. A first send that the grant itself noted is nobody's send yet.
    if firstSent == untilMs - lease then firstSent = 0 end
    return grant(key, fence, round, takeovers, firstSent, nonce, origin, lease, ttl, sent, result)
  end
  if untilMs > now then
    tell(3)
    return tell(untilMs - now)
  end
  if takeovers >= maxTakeovers then
    store(key, 'D', fence, seen, takeovers, 0, firstSent, nonce, owner, '', 'PX', ttl)
    tell(4)
    tell(owner)
    return tell('')
  end
  return grant(key, fence + 1, round, takeovers + 1, firstSent, nonce, origin, lease, ttl, sent, result)
end

local function extend(key, step)
  local mine, lease = string.match(step, '^e (%S+) (%S+)')
  mine, lease = tonumber(mine), tonumber(lease)
  local state, fence, round, takeovers, _, firstSent, mark, origin, wish = load(key)
  if state ~= 'W' or fence ~= mine then return tell(0) end
  store(key, state, fence, round, takeovers, now + lease, firstSent, mark, origin, wish, 'KEEPTTL')
  if redis.call('PTTL', key) < lease then redis.call('PEXPIRE', key, lease) end
  tell(1)
end

local function finish(key, step)
  local nonce, mine, ending, delay, ttl, nothingActed, rest =
    string.match(step, '^f (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) ()')
  mine, delay, ttl, nothingActed = tonumber(mine), tonumber(delay), tonumber(ttl), nothingActed == '1'
  local state, fence, round, takeovers, _, firstSent, mark, origin, wish = load(key)
  if state == ending and fence == mine and mark == nonce then return tell(1) end
  if state ~= 'W' or fence ~= mine then return tell(0) end
  if ending == 'F' then
    if nothingActed then firstSent = 0 end
    -- What nobody wants has nothing to wait for.
    if nothingActed and wish == unwanted then delay = 0 end
    store(key, 'F', fence, round, takeovers, now + delay, firstSent, nonce, origin, wish, 'PX', math.max(ttl, delay))
  else
    store(key, ending, fence, round, takeovers, 0, firstSent, nonce, origin, string.sub(step, rest), 'PX', ttl)
  end
  tell(1)
end

local function view(key)
  local state, _, _, _, _, _, _, origin, result = load(key)
  if not state then return tell(0) end
  if state == 'W' then return tell(1) end
  if state == 'F' then return tell(2) end
  tell(state == 'P' and 3 or 4)
  tell(origin)
  tell(result)
end

-- Nobody wants the call any more: whoever is granted it next is told so.
local function cancel(key, step)
  local ttl = tonumber(string.match(step, '^x (%S+)'))
  local state, fence, round, takeovers, untilMs, firstSent, mark, origin = load(key)
  if state == 'P' or state == 'D' then return tell(0) end
  if not state then
    store(key, 'F', 0, 0, 0, 0, 0, '', '', unwanted, 'PX', ttl)
    return tell(1)
  end
  -- It has nothing to wait for any more, unless it may have acted.
  local kept = state == 'F' and firstSent == 0
  store(key, state, fence, round, takeovers, kept and 0 or untilMs, firstSent, mark, origin, unwanted, 'KEEPTTL')
  if redis.call('PTTL', key) < ttl then redis.call('PEXPIRE', key, ttl) end
  tell(kept and 1 or 2)
end

local steps = { c = claim, e = extend, f = finish, v = view, x = cancel }
for i, key in ipairs(KEYS) do
  local step = ARGV[2 + i]
  steps[string.sub(step, 1, 1)](key, step)
end
return reply
