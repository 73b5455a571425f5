-- What every script begins with: the keys of one user, and the user's record.
-- Keys come from outside, all with the user's hash tag; no script builds one.
local USER, CONVERSATIONS, STREAM = KEYS[1], KEYS[2], KEYS[3]
local TALLIES, TALLY_ORDER, WAKE = KEYS[4], KEYS[5], KEYS[6]

-- Answers begin with one of these.
local MISSING, INCOMPLETE, COMPLETE = 0, 1, 2

-- The fields of the record under USER.
local REIGN, EPOCH, IS_COMPLETE, VERSION = 1, 2, 3, 4
local TOTAL, TOTAL_MENTIONS = 5, 6 -- each { low, high }
local CONVERSATION_COUNT, FROZEN_COUNT, TALLY_COUNT, LEASE_UNTIL_MS = 7, 8, 9, 10

-- Every master has an id of its own: one that was restarted, and one that took over, has another than before. Both may
-- have lost writes, so what was made under another id is missing.
local function reign()
  local info = redis.call('INFO', 'replication')
  if not string.find(info, 'role:master', 1, true) then
    error(redis.error_reply('READONLY this server is a replica'))
  end
  return string.match(info, 'master_replid:(%x+)')
end

-- The record; nil when it is missing, or when any other key that must be there is.
local function load_user()
  local text = redis.call('GET', USER)
  if not text then
    return nil
  end
  local is_read, user = pcall(cmsgpack.unpack, text)
  if not is_read or type(user) ~= 'table' or user[REIGN] ~= reign()
    or redis.call('HLEN', CONVERSATIONS) ~= user[CONVERSATION_COUNT]
    or redis.call('EXISTS', STREAM) ~= (user[VERSION] > 0 and 1 or 0) then
    return nil
  end
  return user
end

local function save_user(user)
  redis.call('SET', USER, cmsgpack.pack(user), 'KEEPTTL')
end

-- A key that was just made lives as long as the user's record.
local function live_as_long(key)
  local left_ms = redis.call('PTTL', USER)
  if left_ms > 0 then
    redis.call('PEXPIRE', key, left_ms)
  end
end

local function status(user)
  return user == nil and MISSING or user[IS_COMPLETE] and COMPLETE or INCOMPLETE
end

-- Appends an entry, but while the state is being rebuilt: then a snapshot will follow.
local function append(user, entry)
  if not user[IS_COMPLETE] then
    return 0
  end
  local version = user[VERSION] + 1
  user[VERSION] = version
  redis.call('XADD', STREAM, 'MAXLEN', '~', STREAM_ENTRIES, string.format('%.0f-0', version), 'e', entry)
  if version == 1 then
    live_as_long(STREAM)
  end
  return 1
end

local function wake()
  redis.call(PUBLISH, WAKE, '')
end
