-- Merges a change of one conversation. ARGV: conversation, change, endpoint ('' when unknown).
local IS_READ = 15 -- of a change: the user has read or cleared

-- Entries of these kinds; their fields are those of the codec.
local CONVERSATION_READ, UNREAD_CHANGED = 1, 2

-- Totals may pass what a number holds exactly, so they have two parts: low below 10^15, and high.
local PART = 1e15

local function add(total, before, after)
  local low = total[1] + after - before
  local carry = math.floor(low / PART)
  total[1], total[2] = low - carry * PART, total[2] + carry
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

local user = load_user()
if not user then
  return { MISSING }
end
local conversation, change = ARGV[1], cmsgpack.unpack(ARGV[2])
local text = redis.call('HGET', CONVERSATIONS, conversation)
local registers = load_registers(text)
local before, was_frozen = row(registers), registers[FROZEN]
local floor, head = merge(registers, change)
local after, is_frozen = row(registers), registers[FROZEN]

local packed = pack_registers(registers)
local is_user_changed = false
if packed ~= text then
  redis.call('HSET', CONVERSATIONS, conversation, packed)
end
if not text then
  user[CONVERSATION_COUNT] = user[CONVERSATION_COUNT] + 1
  if user[CONVERSATION_COUNT] == 1 then
    live_as_long(CONVERSATIONS)
  end
  is_user_changed = true
end
if (was_frozen and true) ~= (is_frozen and true) then
  user[FROZEN_COUNT] = user[FROZEN_COUNT] + (is_frozen and 1 or -1)
  is_user_changed = true
end

local appended = 0
if not are_equal(before, after) then
  local old_unread, old_mentions = in_totals(before)
  local unread, mentions = in_totals(after)
  local total, total_mentions = user[TOTAL], user[TOTAL_MENTIONS]
  add(total, old_unread, unread)
  add(total_mentions, old_mentions, mentions)
  -- What decides the kinds, and what a row that is gone is told as: `news` of the domain.
  local is_mark, is_other = after[1] and after[ROW_READ] > 0, true
  if before[1] and after[1] then
    is_mark = change[IS_READ] or after[ROW_READ] ~= before[ROW_READ]
    is_other = not is_mark or after[ROW_HEAD] ~= before[ROW_HEAD] or after[ROW_MUTED] ~= before[ROW_MUTED]
  end
  local seen = after
  if not after[1] then
    seen = { before[ROW_HEAD], before[ROW_READ], before[ROW_FLOOR], 0, 0, false, before[ROW_MUTED] }
  end
  if is_mark then
    appended = appended + append(user, cmsgpack.pack({
      CONVERSATION_READ, conversation, seen[ROW_READ], seen[ROW_FLOOR], change[IS_READ] and ARGV[3] or '',
      seen[ROW_UNREAD], seen[ROW_MENTIONS], seen[ROW_MARKED],
      total[1], total[2], total_mentions[1], total_mentions[2],
    }))
  end
  if is_other then
    appended = appended + append(user, cmsgpack.pack({
      UNREAD_CHANGED, conversation, seen[ROW_HEAD], seen[ROW_FLOOR],
      seen[ROW_UNREAD], seen[ROW_MENTIONS], seen[ROW_MARKED], seen[ROW_MUTED],
      total[1], total[2], total_mentions[1], total_mentions[2],
    }))
  end
  is_user_changed = true
end
if is_user_changed then
  save_user(user)
end
if appended > 0 then
  wake()
end
return { status(user), user[VERSION], appended, floor or -1, head or -1 }
