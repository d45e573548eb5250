-- The beginning of all scripts. Each call of the store is one run of a script, atomic, with the name of the call as
-- its first argument. Times are milliseconds since 1970 by the clock of the instances, which pass in the current
-- time.
--
-- All keys of an app have the same hash tag, so that a cluster keeps them in one slot.

local P = KEYS[1]
local calls = {}

-- Numbers are at most 2^53 - 1, which Lua counts exactly.
local function text(number)
    return string.format('%d', number)
end

local function counter(name)
    return tonumber(redis.call('HGET', P .. 'numbers', name) or 0)
end

local function count_up(name)
    return redis.call('HINCRBY', P .. 'numbers', name, 1)
end

-- Each number has a mark, which the instance drew, and the last marks are kept. An instance that states a number
-- with its mark learns whether this server has lost the number, or assigned it again, as after a restored copy or
-- a failover to a replica that lagged behind.
local KEPT = 100000
local ERA = 4294967296

local function marks(area)
    return P .. 'marks:' .. area
end

local function mark_of(area, number)
    return redis.call('HGET', marks(area), text(number)) or ''
end

local function give_out(area, mark)
    local number = count_up(area)
    redis.call('HSET', marks(area), text(number), mark)
    redis.call('HDEL', marks(area), text(number - KEPT))
    return number
end

-- Whether this server has assigned a number, or was copied from one that has.
local function gave_out(area, number, mark)
    number = tonumber(number)
    if mark == '' then
        return counter(area .. '_era') <= number and number <= counter(area)
    end
    return mark_of(area, number) == mark
end

-- The same for the number that a request knows and the newest one of its instance: another request may have read
-- a cut-off that this server lost.
local function gave_out_both(area, began, mark, known, known_mark)
    return gave_out(area, began, mark) and (known == '0' or gave_out(area, known, known_mark))
end

-- Begins an era, unless this server has the number of the instance, or noticed its loss before. All earlier marks
-- are removed, so every instance reads everything again. Returns the first number of a new era.
local function begin_era(area, known, mark, fresh)
    known = tonumber(known)
    if known == 0 or gave_out(area, known, mark) or counter(area .. '_era') > known then
        return nil
    end
    local first = (math.floor(math.max(known, counter(area)) / ERA) + 1) * ERA
    redis.call('HSET', P .. 'numbers', area, text(first), area .. '_era', text(first))
    redis.call('DEL', marks(area))
    redis.call('HSET', marks(area), text(first), fresh)
    redis.call('PUBLISH', P .. 'news', 'm')
    return first
end

local function hex(bytes)
    return (bytes:gsub('.', function(byte) return string.format('%02x', byte:byte()) end))
end

local function tell(news)
    redis.call('PUBLISH', P .. 'news', news)
end

-- The stored value, or else this one, which is stored. It writes only once, so it succeeds on a server whose memory
-- is full.
local function once(name, value)
    local stored = redis.call('HGET', P .. 'meta', name)
    if stored then return stored end
    redis.call('HSET', P .. 'meta', name, value)
    return value
end

-- A cut-off of everyone ends all members of a sorted set at once: it renames the set, and a purge removes the
-- members later.
local function set_aside(name, number)
    if redis.call('EXISTS', P .. name) == 1 then
        redis.call('RENAME', P .. name, P .. name .. ':' .. number)
        redis.call('RPUSH', P .. name .. ':ended', number)
    end
end

-- Passes up to `most` members of the renamed sets to `remove`. Returns their number.
local function purge_aside(name, most, remove)
    local seen = 0
    while seen < most do
        local number = redis.call('LINDEX', P .. name .. ':ended', 0)
        if not number then break end
        local aside = P .. name .. ':' .. number
        local members = redis.call('ZRANGE', aside, 0, most - seen - 1)
        for _, member in ipairs(members) do
            remove(member)
            redis.call('ZREM', aside, member)
        end
        seen = seen + #members
        if redis.call('EXISTS', aside) == 0 then redis.call('LPOP', P .. name .. ':ended') end
    end
    return seen
end

-- Passes up to `most` members that are due to `remove`. Returns their number.
local function purge_due(name, now, most, remove)
    if most <= 0 then return 0 end
    local members = redis.call('ZRANGEBYSCORE', P .. name, '-inf', now, 'LIMIT', 0, most)
    for _, member in ipairs(members) do
        remove(member)
        redis.call('ZREM', P .. name, member)
    end
    return #members
end
