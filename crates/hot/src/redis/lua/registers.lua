-- The registers of one conversation, as `Registers` of the domain has them, and what is seen of them.

-- The fields; a change has them too. The first nine are maxima. Flags and presence are stored as their order key plus
-- one, zero when never written: so the greatest wins and its parity is its value.
local HEAD, NEWEST_SENT_AT, READ, FLOOR = 1, 2, 3, 4
local PRESENCE, CLOSED, MARKED_UNREAD, MUTED, IS_LARGE = 5, 6, 7, 8, 9
local UNCOUNTED, MENTIONS = 10, 11 -- seqs, ascending
local BASE, COUNTED, FROZEN = 12, 13, 14 -- { floor, head, uncounted, mentions, uncounted mentions }; a row, {} or false

-- The fields of a row; {} is no row.
local ROW_HEAD, ROW_READ, ROW_FLOOR, ROW_UNREAD, ROW_MENTIONS, ROW_MARKED, ROW_MUTED = 1, 2, 3, 4, 5, 6, 7
local NO_ROW = {}

local function is_on(flag)
  return flag > 0 and flag % 2 == 0
end

local function is_open(r)
  return r[PRESENCE] % 2 == 1 and not is_on(r[CLOSED])
end

local function load_registers(text)
  if not text then
    return { 0, 0, 0, 0, 0, 0, 0, 0, 0, {}, {}, 0, {}, false }
  end
  local r = cmsgpack.unpack(text)
  if not r[BASE] then
    r[BASE], r[COUNTED], r[FROZEN] = 0, {}, false
  end
  return r
end

-- Most conversations need no numbers: then the last three fields are left out.
local function pack_registers(r)
  if r[BASE] == 0 and not r[FROZEN] then
    r[BASE], r[COUNTED], r[FROZEN] = nil, nil, nil
  end
  return cmsgpack.pack(r)
end

local function counts(r)
  local head, floor = r[HEAD], r[FLOOR]
  if head <= floor then
    return 0, 0
  end
  local counted = r[COUNTED]
  local uncounted, mentions = counted[3] or 0, math.max((counted[4] or 0) - (counted[5] or 0), 0)
  local is_uncounted = {}
  for _, seq in ipairs(r[UNCOUNTED]) do
    if seq <= head then
      uncounted = uncounted + 1
      is_uncounted[seq] = true
    end
  end
  for _, seq in ipairs(r[MENTIONS]) do
    if seq <= head and not is_uncounted[seq] then
      mentions = mentions + 1
    end
  end
  return math.max(head - floor - uncounted, 0), mentions
end

local function row(r)
  if r[FROZEN] then
    return r[FROZEN]
  end
  if not is_open(r) then
    return NO_ROW
  end
  local unread, mentions = counts(r)
  return { r[HEAD], r[READ], r[FLOOR], unread, mentions, is_on(r[MARKED_UNREAD]), is_on(r[MUTED]) }
end

-- The seqs of both, ascending, each once, without those up to `from`.
local function union(a, b, from)
  if #b == 0 and (#a == 0 or a[1] > from) then
    return a
  end
  local all, i, j = {}, 1, 1
  while a[i] or b[j] do
    local seq
    if not b[j] or (a[i] and a[i] <= b[j]) then
      seq = a[i]
      i = i + 1
    else
      seq = b[j]
      j = j + 1
    end
    if seq > from and seq ~= all[#all] then
      all[#all + 1] = seq
    end
  end
  return all
end

local function any_between(seqs, floor, base)
  for _, seq in ipairs(seqs) do
    if floor < seq and seq <= base then
      return true
    end
  end
  return false
end

-- Says whether the change named seqs that only numbers hold by now.
local function merge_seqs(r, change)
  local head, floor, base = r[HEAD], r[FLOOR], math.max(r[BASE], change[BASE])
  local below_base = any_between(change[UNCOUNTED], floor, base) or any_between(change[MENTIONS], floor, base)
  local from = math.max(floor, base)
  local uncounted = union(r[UNCOUNTED], change[UNCOUNTED], from)
  local mentions = union(r[MENTIONS], change[MENTIONS], from)
  if #uncounted > SEQS_MAX or #mentions > SEQS_MAX then
    base = math.max(base, head)
    uncounted, mentions = union(uncounted, {}, base), union(mentions, {}, base)
  end
  if #uncounted > SEQS_MAX or #mentions > SEQS_MAX then
    base = math.max(uncounted[#uncounted] or 0, mentions[#mentions] or 0)
    uncounted, mentions = {}, {}
  end
  if base <= floor then
    base = 0
  end
  local counted = r[COUNTED]
  if counted[1] and not (base > 0 and counted[1] == floor and (counted[2] == head or counted[2] == base)) then
    counted = {}
  end
  r[UNCOUNTED], r[MENTIONS], r[BASE], r[COUNTED] = uncounted, mentions, base, counted
  return below_base
end

-- Says whether the numbers must be counted again: they were refused, or told something new.
local function merge_counted(r, told)
  local head, floor, base, known = r[HEAD], r[FLOOR], r[BASE], r[COUNTED]
  if base == 0 then
    return false
  end
  if known[1] then
    if known[1] ~= told[1] or known[2] ~= told[2] then
      return true
    end
    local is_more = false
    for i = 3, 5 do
      if told[i] > known[i] then
        known[i] = told[i]
        is_more = true
      end
    end
    return is_more
  end
  local covers_dropped = told[2] == head or (base <= told[2] and told[2] < head)
  if told[1] == floor and told[1] < told[2] and covers_dropped then
    base = math.max(base, told[2])
    r[BASE], r[COUNTED] = base, told
    r[UNCOUNTED], r[MENTIONS] = union(r[UNCOUNTED], {}, base), union(r[MENTIONS], {}, base)
  end
  return true
end

local function needs_numbers(r)
  return r[BASE] > 0 and r[HEAD] > r[FLOOR]
end

local function lacks_numbers(r)
  return is_open(r) and not r[COUNTED][1] and needs_numbers(r)
end

-- Merges a change; answers the range to be counted in the store, floor and head, when there is one.
local function merge(r, change)
  local before = row(r)
  for i = HEAD, IS_LARGE do
    r[i] = math.max(r[i], change[i])
  end
  r[FLOOR] = math.max(r[FLOOR], r[READ])
  local below_base = merge_seqs(r, change)
  local counted_more = change[COUNTED][1] and merge_counted(r, change[COUNTED])
  if below_base and not is_open(r) then
    r[COUNTED] = {}
  end
  r[FROZEN] = lacks_numbers(r) and before
  if r[FROZEN] or (is_open(r) and (below_base or counted_more)) then
    if r[COUNTED][1] then
      return r[COUNTED][1], r[COUNTED][2]
    elseif needs_numbers(r) then
      return r[FLOOR], r[HEAD]
    end
  end
end
