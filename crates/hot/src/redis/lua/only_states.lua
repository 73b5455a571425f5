-- Most calls are for users who have no state: they end here.
if not record then
  return { MISSING }
end
