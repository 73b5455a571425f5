-- Ends a rebuild. ARGV: epoch. Answers the version; or, for each conversation whose numbers are missing, its name,
-- floor and head.
local user = load_user()
if not user or user[EPOCH] ~= ARGV[1] then
  return { MISSING }
end
if not user[IS_COMPLETE] and user[FROZEN_COUNT] > 0 then
  local to_count = {}
  local all = redis.call('HGETALL', CONVERSATIONS)
  for i = 1, #all, 2 do
    local registers = load_registers(all[i + 1])
    if registers[FROZEN] then
      to_count[#to_count + 1] = { all[i], registers[FLOOR], registers[HEAD] }
    end
  end
  return { INCOMPLETE, to_count }
end
if not user[IS_COMPLETE] then
  user[IS_COMPLETE] = true
  save_user(user)
  wake()
end
return { COMPLETE, user[VERSION] }
