-- The user's record.
-- The fields of the record under USER. Totals may pass what a number holds exactly, so they have two parts: low below
-- 10^15, and high.
local REIGN, EPOCH, IS_COMPLETE, VERSION = 1, 2, 3, 4
local TOTAL_LOW, TOTAL_HIGH, MENTIONS_LOW, MENTIONS_HIGH = 5, 6, 7, 8
local CONVERSATION_COUNT, FROZEN_COUNT, TALLY_COUNT, LEASE_UNTIL_MS = 9, 10, 11, 12

-- Every master has an id of its own: one that was restarted, and one that took over, has another than before. Both may
-- have lost writes, so what was made under another id is missing.
local function reign()
  local info = redis.call('INFO', 'replication')
  if not string.find(info, 'role:master', 1, true) then
    error(redis.error_reply('READONLY this server is a replica'))
  end
  return string.match(info, 'master_replid:(%x+)')
end

-- The record, unless it can't be read or is of another reign.
local function read_record()
  if not record then
    return nil
  end
  local is_read, user = pcall(cmsgpack.unpack, record)
  if is_read and type(user) == 'table' and user[REIGN] == reign() then
    return user
  end
end

-- The record; nil also when a key is missing that it counts on. Scripts that find out otherwise need not ask.
local function load_user()
  local user = read_record()
  if user and redis.call('HLEN', CONVERSATIONS) == user[CONVERSATION_COUNT]
    and redis.call('EXISTS', STREAM) == (user[VERSION] > 0 and 1 or 0) then
    return user
  end
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

-- Appends an entry to a complete state. False when the stream is missing; so this is the first write of a script, which
-- ends then.
local function append(user, entry)
  local version = user[VERSION] + 1
  local id = string.format('%d-0', version)
  if version == 1 then
    redis.call('XADD', STREAM, 'MAXLEN', '~', STREAM_ENTRIES, id, 'e', entry)
    live_as_long(STREAM)
  elseif not redis.call('XADD', STREAM, 'NOMKSTREAM', 'MAXLEN', '~', STREAM_ENTRIES, id, 'e', entry) then
    return false
  end
  user[VERSION] = version
  return true
end

local function wake()
  redis.call(PUBLISH, WAKE, '')
end
