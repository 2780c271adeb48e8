-- A batch of steps on the registers of calls that wait outside, one hash per partition of `calls`; ../README.md has the
-- layout.
--
-- KEYS     per step the hash of its partition
-- ARGV     per step its word and arguments:
--   o                       open: whoever opened before can change nothing any more
--   p fence offset value    put
--   r fence offset          remove
-- Reply: one flat list, per step: open -> fence, put and remove -> 1, or 0 when somebody else has opened it since
--
-- A register without a fence has lost its data: who still knows it goes on under the fence that it has.

local at, reply = 1, {}

local function word()
  at = at + 1
  return ARGV[at - 1]
end

local function ours(key, fence)
  local now = redis.call('HGET', key, '')
  if not now then
    redis.call('HSET', key, '', fence)
    return true
  end
  return now == fence
end

for step, key in ipairs(KEYS) do
  local op = word()
  if op == 'o' then
    reply[step] = redis.call('HINCRBY', key, '', 1)
  else
    local fence, offset = word(), word()
    local value = op == 'p' and word()
    if not ours(key, fence) then
      reply[step] = 0
    else
      if value then redis.call('HSET', key, offset, value) else redis.call('HDEL', key, offset) end
      reply[step] = 1
    end
  end
end

return reply
