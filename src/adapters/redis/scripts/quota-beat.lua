-- A sign of life of one process, and who else gave one.
--
-- KEYS[1]  sorted set: process -> time of its last sign, epoch milliseconds
-- KEYS[2]  string: the epoch, a name that is made anew when the data were lost
-- ARGV[1]  now in epoch milliseconds, or '' for the server's own clock
-- ARGV[2]  process
-- ARGV[3]  name of the epoch if there is none
-- ARGV[4]  for how long a sign counts, milliseconds
-- Reply: processes, epoch

local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[4])
redis.call('ZADD', KEYS[1], now, ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('SET', KEYS[2], ARGV[3], 'NX')
return { redis.call('ZCARD', KEYS[1]), redis.call('GET', KEYS[2]) }
