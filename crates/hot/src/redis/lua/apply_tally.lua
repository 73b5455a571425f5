-- Merges the tally of a message. ARGV: message, register (16 bytes of version, then what is seen), entry.
local VERSION_BYTES = 16

-- Versions are compared as numbers: comparing texts would follow the server's locale.
local function is_newer(a, b)
  local a1, a2, a3, a4 = struct.unpack('>I4I4I4I4', a)
  local b1, b2, b3, b4 = struct.unpack('>I4I4I4I4', b)
  if a1 ~= b1 then return a1 > b1 end
  if a2 ~= b2 then return a2 > b2 end
  if a3 ~= b3 then return a3 > b3 end
  return a4 > b4
end

local user = read_record()
if not user then
  return { MISSING }
end
local message, register = ARGV[1], ARGV[2]
local last = redis.call('HGET', TALLIES, message)
if last and not is_newer(register, last) then
  return { status(user), user[VERSION], 0, -1, -1 }
end
local count = user[TALLY_COUNT]
if not last and (redis.call('HLEN', TALLIES) ~= count or redis.call('LLEN', TALLY_ORDER) ~= count) then
  return { MISSING }
end
-- One that says the same as the last is kept, and not told. Nothing is told while the state is being rebuilt: a snapshot
-- will follow, after which devices ask for the tallies they show.
local is_news = not last or string.sub(register, VERSION_BYTES + 1) ~= string.sub(last, VERSION_BYTES + 1)
local appended = is_news and user[IS_COMPLETE] and 1 or 0
if appended > 0 and not append(user, ARGV[3]) then
  return { MISSING }
end
redis.call('HSET', TALLIES, message, register)
if not last then
  redis.call('RPUSH', TALLY_ORDER, message)
  if count == 0 then
    live_as_long(TALLIES)
    live_as_long(TALLY_ORDER)
  end
  if count < TALLIES_MAX then
    user[TALLY_COUNT] = count + 1
  else
    redis.call('HDEL', TALLIES, redis.call('LPOP', TALLY_ORDER))
  end
end
if is_news then
  save_user(user)
end
if appended > 0 then
  wake()
end
return { status(user), user[VERSION], appended, -1, -1 }
