-- The picture. ARGV: the conversations asked for; none: all. Answers the user's record, then names and registers.
local user = load_user()
if status(user) ~= COMPLETE then
  return { status(user) }
end
local registers
if ARGV[1] then
  registers = {}
  for i, text in ipairs(redis.call('HMGET', CONVERSATIONS, unpack(ARGV))) do
    if text then
      registers[#registers + 1] = ARGV[i]
      registers[#registers + 1] = text
    end
  end
else
  registers = redis.call('HGETALL', CONVERSATIONS)
end
return {
  COMPLETE, user[EPOCH], user[VERSION],
  user[TOTAL_LOW], user[TOTAL_HIGH], user[MENTIONS_LOW], user[MENTIONS_HIGH], registers,
}
