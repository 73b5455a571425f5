-- What every script begins with: the keys of one user, and what is under the first of them.
-- Keys come from outside, all with the user's hash tag; no script builds one.
local USER, CONVERSATIONS, STREAM = KEYS[1], KEYS[2], KEYS[3]
local TALLIES, TALLY_ORDER, WAKE = KEYS[4], KEYS[5], KEYS[6]

-- Answers begin with one of these.
local MISSING, INCOMPLETE, COMPLETE = 0, 1, 2

local record = redis.call('GET', USER)
