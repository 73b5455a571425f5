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

local user = load_user()
if not user or redis.call('HLEN', TALLIES) ~= user[TALLY_COUNT]
  or redis.call('LLEN', TALLY_ORDER) ~= user[TALLY_COUNT] then
  return { MISSING }
end
local message, register = ARGV[1], ARGV[2]
local last = redis.call('HGET', TALLIES, message)
local is_news = false
if not last then
  is_news = true
  redis.call('HSET', TALLIES, message, register)
  redis.call('RPUSH', TALLY_ORDER, message)
  local count = user[TALLY_COUNT] + 1
  if count == 1 then
    live_as_long(TALLIES)
    live_as_long(TALLY_ORDER)
  elseif count > TALLIES_MAX then
    redis.call('HDEL', TALLIES, redis.call('LPOP', TALLY_ORDER))
    count = count - 1
  end
  user[TALLY_COUNT] = count
elseif is_newer(register, last) then
  redis.call('HSET', TALLIES, message, register)
  is_news = string.sub(register, VERSION_BYTES + 1) ~= string.sub(last, VERSION_BYTES + 1)
end
local appended = 0
if is_news then
  appended = append(user, ARGV[3])
  save_user(user)
end
if appended > 0 then
  wake()
end
return { status(user), user[VERSION], appended, -1, -1 }
