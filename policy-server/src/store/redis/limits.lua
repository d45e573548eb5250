
-- Rates and permits that instances share. Times are microseconds by the clock of the server, which
-- Lua counts exactly. The keys, each behind the common part:
--
--   rate:<key>      text  the account of a client (policy_core::limits::gcra::Account): start, due,
--                         due_before, free_at, taken, taken_before
--   permits:<key>   hash  instance -> how many permits it holds, a space and until when

local LONGEST = 2 ^ 51

local function clock()
    local now = redis.call('TIME')
    return tonumber(now[1]) * 1000000 + tonumber(now[2])
end

local function expire_in(key, micros)
    redis.call('PEXPIRE', key, text(math.ceil(micros / 1000)))
end

function calls.take_rate(name, count, per, wanted)
    count, per, wanted = tonumber(count), math.min(tonumber(per), LONGEST), tonumber(wanted)
    local key, now, interval = P .. 'rate:' .. name, clock(), math.ceil(per / count)
    local start, due, due_before, free_at, taken, taken_before = now, 0, 0, 0, 0, 0
    local stored = redis.call('GET', key)
    if stored then
        local words = {}
        for word in stored:gmatch('%d+') do table.insert(words, tonumber(word)) end
        -- The clock of the server may be set back.
        if words[4] > now and words[1] <= now then
            start, due, due_before, free_at, taken, taken_before = unpack(words)
            if now >= start + per then
                start, due_before, taken, taken_before = now, due, 0, taken
            end
        end
    end

    local still_counted = 0
    if due_before + per > now then
        still_counted = math.min(math.floor((due_before + per - now - 1) / interval), taken_before)
    end
    local free, granted = math.max(count - taken - still_counted, 0), 0
    -- One that is due is granted, also where the count is used up.
    if free > 0 or due <= now then
        granted = math.max(math.min(wanted, free), 1)
        taken = taken + granted
        due = math.max(due, now) + interval * granted
        free_at = math.max(free_at, now + per)
    end
    local account = { text(start), text(due), text(due_before), text(free_at), text(taken),
        text(taken_before) }
    redis.call('SET', key, table.concat(account, ' '))
    expire_in(key, free_at - now)

    -- The wait for the next one after all that remain.
    local remaining = math.max(free - granted, 0)
    taken = taken + remaining
    due = due + interval * remaining
    local next = math.min(due, free_at)
    if taken < count then
        local counted_until = due_before + per - interval * (count - taken)
        next = math.min(next, math.max(counted_until, 0), start + per)
    end
    return { granted, remaining, text(math.max(next - now, 0)), text(now) }
end

function calls.lease_permits(name, most, instance, wish, lifetime)
    most, wish, lifetime = tonumber(most), tonumber(wish), tonumber(lifetime)
    local key, now, others = P .. 'permits:' .. name, clock(), 0
    local rows = redis.call('HGETALL', key)
    for index = 1, #rows, 2 do
        local held, ends = rows[index + 1]:match('(%d+) (%d+)')
        -- A lease that ends later than one that begins now: the clock of the server was set back.
        local is_live = tonumber(ends) > now and tonumber(ends) <= now + 2 * lifetime
        if rows[index] == instance or not is_live then
            redis.call('HDEL', key, rows[index])
        else
            others = others + tonumber(held)
        end
    end
    local held = math.min(wish, math.max(most - others, 0))
    if held > 0 then
        redis.call('HSET', key, instance, text(held) .. ' ' .. text(now + lifetime))
        expire_in(key, 2 * lifetime)
    end
    return held
end

return calls[ARGV[1]](unpack(ARGV, 2))
