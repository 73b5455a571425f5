-- Makes a state to be rebuilt, where there is none. ARGV: epoch, how long it lives, how long others are kept away (ms).
-- Answers how it stands otherwise: COMPLETE, INCOMPLETE when another one is at work.
local user = load_user()
local now = redis.call('TIME')
local now_ms = now[1] * 1000 + math.floor(now[2] / 1000)
if user and user[IS_COMPLETE] then
  return { COMPLETE }
end
if user and user[EPOCH] == ARGV[1] then
  return { MISSING } -- This same call was made before, and its answer was lost.
end
if user and now_ms < user[LEASE_UNTIL_MS] then
  return { INCOMPLETE }
end
redis.call('UNLINK', USER, CONVERSATIONS, STREAM, TALLIES, TALLY_ORDER)
user = { reign(), ARGV[1], false, 0, 0, 0, 0, 0, 0, 0, 0, now_ms + ARGV[3] }
redis.call('SET', USER, cmsgpack.pack(user), 'PX', ARGV[2])
return { MISSING }
