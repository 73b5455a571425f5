-- The user has called. ARGV: how long the state lives from now on, and by how much it may fall short of that, both in
-- milliseconds: a write at every call would be for nothing.
local user = load_user()
if user and redis.call('PTTL', USER) < ARGV[1] - ARGV[2] then
  for _, key in ipairs({ USER, CONVERSATIONS, STREAM, TALLIES, TALLY_ORDER }) do
    redis.call('PEXPIRE', key, ARGV[1])
  end
end
return { status(user) }
