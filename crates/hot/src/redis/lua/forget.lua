-- Removes a user's state, whatever it is.
redis.call('UNLINK', USER, CONVERSATIONS, STREAM, TALLIES, TALLY_ORDER)
wake()
return { MISSING }
