-- Entries after a token. ARGV: epoch, version, limit. Answers the newest version and the entries, none when too old.
local user = load_user()
if status(user) ~= COMPLETE then
  return { status(user) }
end
local since, version = tonumber(ARGV[2]), user[VERSION]
if ARGV[1] ~= user[EPOCH] or since > version then
  return { COMPLETE }
end
if since == version then
  return { COMPLETE, version, {} }
end
local found = redis.call('XRANGE', STREAM, string.format('%.0f-0', since + 1), '+', 'COUNT', ARGV[3])
-- Trimmed: what follows the token is gone.
if not found[1] or found[1][1] ~= string.format('%.0f-0', since + 1) then
  return { COMPLETE }
end
local entries = {}
for i, entry in ipairs(found) do
  entries[i] = entry[2][2]
end
return { COMPLETE, version, entries }
