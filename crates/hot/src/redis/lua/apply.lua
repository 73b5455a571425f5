-- Merges a change of one conversation. ARGV: conversation, change, endpoint ('' when unknown).
local IS_READ = 15 -- of a change: the user has read or cleared

-- Entries of these kinds; their fields are those of the codec.
local CONVERSATION_READ, UNREAD_CHANGED = 1, 2

-- The low part of a total is below this.
local PART = 1e15

local function add(user, low_field, high_field, difference)
  local low = user[low_field] + difference
  local carry = math.floor(low / PART)
  user[low_field], user[high_field] = low - carry * PART, user[high_field] + carry
end

local function in_totals(seen)
  if not seen[1] or seen[ROW_MUTED] then
    return 0, 0
  end
  return seen[ROW_UNREAD], seen[ROW_MENTIONS]
end

local function are_equal(a, b)
  for i = ROW_HEAD, ROW_MUTED do
    if a[i] ~= b[i] then
      return false
    end
  end
  return true
end

-- The entries that tell how the row went from `before` to `after`: `news` of the domain.
local function entries(user, conversation, before, after, is_read, endpoint)
  local is_mark, is_other = after[1] and after[ROW_READ] > 0, true
  if before[1] and after[1] then
    is_mark = is_read or after[ROW_READ] ~= before[ROW_READ]
    is_other = not is_mark or after[ROW_HEAD] ~= before[ROW_HEAD] or after[ROW_MUTED] ~= before[ROW_MUTED]
  end
  local seen = after
  if not after[1] then
    -- Of a row that is gone, where it was: with nothing unread.
    seen = { before[ROW_HEAD], before[ROW_READ], before[ROW_FLOOR], 0, 0, false, before[ROW_MUTED] }
  end
  return is_mark and cmsgpack.pack({
    CONVERSATION_READ, conversation, seen[ROW_READ], seen[ROW_FLOOR], is_read and endpoint or '',
    seen[ROW_UNREAD], seen[ROW_MENTIONS], seen[ROW_MARKED],
    user[TOTAL_LOW], user[TOTAL_HIGH], user[MENTIONS_LOW], user[MENTIONS_HIGH],
  }), is_other and cmsgpack.pack({
    UNREAD_CHANGED, conversation, seen[ROW_HEAD], seen[ROW_FLOOR],
    seen[ROW_UNREAD], seen[ROW_MENTIONS], seen[ROW_MARKED], seen[ROW_MUTED],
    user[TOTAL_LOW], user[TOTAL_HIGH], user[MENTIONS_LOW], user[MENTIONS_HIGH],
  })
end

local user = read_record()
if not user then
  return { MISSING }
end
local conversation, change = ARGV[1], cmsgpack.unpack(ARGV[2])
local text = redis.call('HGET', CONVERSATIONS, conversation)
if not text and redis.call('HLEN', CONVERSATIONS) ~= user[CONVERSATION_COUNT] then
  return { MISSING }
end
local registers = load_registers(text)
local before, was_frozen = row(registers), registers[FROZEN] and 1 or 0
local floor, head = merge(registers, change)
local after, is_frozen = row(registers), registers[FROZEN] and 1 or 0

local is_changed, appended = is_frozen ~= was_frozen, 0
user[FROZEN_COUNT] = user[FROZEN_COUNT] + is_frozen - was_frozen
if not are_equal(before, after) then
  is_changed = true
  local old_unread, old_mentions = in_totals(before)
  local unread, mentions = in_totals(after)
  add(user, TOTAL_LOW, TOTAL_HIGH, unread - old_unread)
  add(user, MENTIONS_LOW, MENTIONS_HIGH, mentions - old_mentions)
  if user[IS_COMPLETE] then
    local mark, other = entries(user, conversation, before, after, change[IS_READ], ARGV[3])
    for _, entry in ipairs({ mark or other, mark and other or nil }) do
      if not append(user, entry) then
        return { MISSING }
      end
      appended = appended + 1
    end
  end
end
local packed = pack_registers(registers)
if packed ~= text then
  redis.call('HSET', CONVERSATIONS, conversation, packed)
end
if not text then
  is_changed = true
  user[CONVERSATION_COUNT] = user[CONVERSATION_COUNT] + 1
  if user[CONVERSATION_COUNT] == 1 then
    live_as_long(CONVERSATIONS)
  end
end
if is_changed then
  save_user(user)
end
if appended > 0 then
  wake()
end
return { status(user), user[VERSION], appended, floor or -1, head or -1 }
