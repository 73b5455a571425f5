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
local total, mentions = user[TOTAL], user[TOTAL_MENTIONS]
return { COMPLETE, user[EPOCH], user[VERSION], total[1], total[2], mentions[1], mentions[2], registers }
