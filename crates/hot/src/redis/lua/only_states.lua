-- Most calls are for users who have no state: they end here, if it is a master that says so: a replica may not have it
-- yet. On a replica any command that writes fails; here it is one that finds nothing to do.
if not record then
  redis.call('UNLINK', USER)
  return { MISSING }
end
