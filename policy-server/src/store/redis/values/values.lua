-- Named values that instances share, such as lists of origins. The key of each, behind the common
-- part:
--
--   v:<name>  hash  `version` and `value`

function calls.value(name)
    local stored = redis.call('HMGET', P .. 'v:' .. name, 'version', 'value')
    if not stored[1] then return false end
    return stored
end

-- Whether the present version was the expected one, 0 if there is none.
function calls.set_value(name, expected, value)
    local key = P .. 'v:' .. name
    local version = tonumber(redis.call('HGET', key, 'version') or 0)
    if version ~= tonumber(expected) then return 0 end
    redis.call('HSET', key, 'version', text(version + 1), 'value', value)
    tell('v' .. name)
    return 1
end

return calls[ARGV[1]](unpack(ARGV, 2))
