-- Replaces one shard of the rules, unless a later export stands there.
--
-- KEYS[1]  the shard: a hash of buckets, and under '' what it was written by: "<fence> <exported at> <rules>"
-- ARGV     fence, time to live in milliseconds, the value under '', then bucket and text in turn
-- Reply    1 | 0

local standing = redis.call('HGET', KEYS[1], '')
if standing and tonumber(string.match(standing, '^%d+')) > tonumber(ARGV[1]) then return 0 end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], '', ARGV[3])
for at = 4, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1]) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
