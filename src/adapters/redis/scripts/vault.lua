-- Writes an entry if it still has the version that its writer has read.
--
-- KEYS[1]  the entry: "<version>\n<text>"
-- ARGV     version it must have (0: none), text, time to live in milliseconds
-- Reply    1 | 0. A write that is repeated because its reply was lost finds its own text, and is told 1 again.

local value = redis.call('GET', KEYS[1])
local version, text = 0, nil
if value then
  local at = string.find(value, '\n', 1, true)
  version, text = tonumber(string.sub(value, 1, at - 1)), string.sub(value, at + 1)
end
local wanted = tonumber(ARGV[1])
if text == ARGV[2] and version == wanted + 1 then return 1 end
if version ~= wanted then return 0 end
redis.call('SET', KEYS[1], (wanted + 1) .. '\n' .. ARGV[2], 'PX', ARGV[3])
return 1
