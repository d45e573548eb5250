-- Sessions. The keys, each behind the common part:
--
--   meta            hash      version and secrets
--   numbers         hash      `cut_off`: how many there were; `everyone`: the last one of everyone;
--                             `anonymous`: the bytes of the values of anonymous sessions
--                             `cut_off_era`: the first number since the last loss of numbers
--   marks:cut_off   hash      number of a cut-off -> its mark
--   marks:ended:<instance>  text  how many of its polls came after ends of single sessions; expires
--   epochs          hash      user -> the last cut-off
--   s:<key>         hash      a session; or, after a rotation, `moved_to` and `moved_until`
--   u:<user>        sorted    <handle><key> of the sessions of a user, in order of the handles
--   anonymous       sorted    keys of anonymous sessions by their creation
--   users           sorted    keys of sessions of users by their deadlines
--   others          sorted    keys of anonymous sessions and replaced keys, likewise
--   users:<number>  sorted    those that this cut-off of everyone ended; `users:ended` lists them

-- The fields that decide about a session; nil if there is no such key.
local function find(key)
    local row = redis.call('HMGET', P .. 's:' .. key, 'handle', 'user', 'epoch', 'version',
        'created', 'last_seen', 'idle_deadline', 'absolute_deadline', 'moved_to', 'moved_until')
    if not row[1] and not row[9] then return nil end
    return {
        key = key,
        handle = row[1],
        user = row[2],
        epoch = tonumber(row[3] or 0),
        version = tonumber(row[4] or 0),
        created = tonumber(row[5] or 0),
        last_seen = tonumber(row[6] or 0),
        idle_deadline = tonumber(row[7] or 0),
        absolute_deadline = tonumber(row[8] or 0),
        moved_to = row[9],
        moved_until = tonumber(row[10] or 0),
    }
end

-- The last cut-off of everyone, read once.
local last_of_everyone
local function everyone()
    last_of_everyone = last_of_everyone or counter('everyone')
    return last_of_everyone
end

local function is_live(one, now)
    return not one.moved_to and one.idle_deadline > now and one.absolute_deadline > now
        and (not one.user or one.epoch >= everyone())
end

-- The session that a key leads to. At 0, no grace period has ended.
local function current(key, now)
    -- This terminates: a rotation moves to a key that did not exist, so there is no cycle.
    while true do
        local one = find(key)
        if not one or not one.moved_to then return one end
        if one.moved_until <= now then return nil end
        key = one.moved_to
    end
end

-- Why there is no live session of this version; nil if there is one.
local function refusal(one, expected, now)
    if one and one.moved_to and one.moved_until > now then return 'conflict' end
    if not one or not is_live(one, now) then return 'gone' end
    if one.version ~= tonumber(expected) then return 'conflict' end
    return nil
end

local function epoch_of(user)
    local own = redis.call('HGET', P .. 'epochs', user)
    return math.max(everyone(), tonumber(own or 0))
end

local function index_deadline(one)
    local set = one.user and 'users' or 'others'
    local deadline = math.min(one.idle_deadline, one.absolute_deadline)
    redis.call('ZADD', P .. set, text(deadline), one.key)
end

local function data_size(one)
    return redis.call('HSTRLEN', P .. 's:' .. one.key, 'data')
end

local function count_bytes(bytes)
    redis.call('HINCRBY', P .. 'numbers', 'anonymous', text(bytes))
end

-- Removes a session from all sets, but not its row.
local function unlist(one)
    if one.user then
        redis.call('ZREM', P .. 'u:' .. one.user, one.handle .. one.key)
        redis.call('ZREM', P .. 'users', one.key)
    else
        if not one.moved_to and redis.call('ZREM', P .. 'anonymous', one.key) == 1 then
            count_bytes(-data_size(one))
        end
        redis.call('ZREM', P .. 'others', one.key)
    end
end

local function remove(one)
    unlist(one)
    redis.call('DEL', P .. 's:' .. one.key)
end

-- The sessions of a user, live or not.
local function all_of(user)
    local found = {}
    for _, member in ipairs(redis.call('ZRANGE', P .. 'u:' .. user, 0, -1)) do
        local one = find(member:sub(17))
        if one then table.insert(found, one) end
    end
    return found
end

-- The live sessions of a user besides one.
local function others(user, besides, now)
    local found = {}
    for _, one in ipairs(all_of(user)) do
        if one.key ~= besides and is_live(one, now) then table.insert(found, one) end
    end
    return found
end

-- Ends the oldest sessions of a user, so that there is room for one. Returns their handles.
local function make_room(user, own, most, now)
    local found = others(user, own, now)
    table.sort(found, function(a, b)
        if a.created ~= b.created then return a.created > b.created end
        return a.handle > b.handle
    end)
    local ended = {}
    for place = math.max(most, 1), #found do
        local one = found[place]
        remove(one)
        tell('s' .. hex(one.handle))
        table.insert(ended, one.handle)
    end
    return ended
end

-- Ends the oldest anonymous sessions above a number or bytes of values, but not this one. At most 256 at once, in
-- case the limit was lowered.
local function trim(own, sessions, bytes)
    for _ = 1, 256 do
        local count = redis.call('ZCARD', P .. 'anonymous')
        if count <= tonumber(sessions) and counter('anonymous') <= tonumber(bytes) then return end
        local oldest = redis.call('ZRANGE', P .. 'anonymous', 0, 1)
        local key = oldest[1] ~= own and oldest[1] or oldest[2]
        if not key then return end
        local one = find(key)
        if one then remove(one) else redis.call('ZREM', P .. 'anonymous', key) end
    end
end

-- The arguments of a new row: a table of its fields, and the rest.
local function new_row(key, handle, user, roles, scopes, tenant, created, authenticated, rotated,
                       last_seen, idle_deadline, absolute_deadline, idle, is_remembered, binding, data,
                       ...)
    local row = {
        'handle', handle, 'created', created, 'rotated', rotated, 'last_seen', last_seen,
        'idle_deadline', idle_deadline, 'absolute_deadline', absolute_deadline, 'idle', idle,
        'is_remembered', is_remembered, 'binding', binding, 'data', data,
    }
    local one = {
        key = key,
        handle = handle,
        -- Behind a sign that there is one.
        user = user ~= '' and user:sub(2),
        created = created,
        idle_deadline = tonumber(idle_deadline),
        absolute_deadline = tonumber(absolute_deadline),
        size = #data,
        row = row,
    }
    local function also(name, value)
        table.insert(row, name)
        table.insert(row, value)
    end
    if one.user then
        also('user', one.user)
        also('roles', roles)
        also('scopes', scopes)
        if tenant ~= '' then also('tenant', tenant) end
    end
    if authenticated ~= '' then also('authenticated', authenticated) end
    return one, also, ...
end

-- Why this user gets no session, or nil, and their epoch.
local function check_user(user, besides, most, denies, began, mark, known, known_mark, now)
    if not user then return nil, 0 end
    local epoch = epoch_of(user)
    if began ~= '' and (tonumber(began) < epoch
        or not gave_out_both('cut_off', began, mark, known, known_mark)) then
        return 'cut off', epoch
    end
    if denies == '1' and #others(user, besides, now) >= tonumber(most) then
        return 'limit', epoch
    end
    return nil, epoch
end

local function insert(one)
    redis.call('HSET', P .. 's:' .. one.key, unpack(one.row))
    index_deadline(one)
    if one.user then
        redis.call('ZADD', P .. 'u:' .. one.user, 0, one.handle .. one.key)
    else
        redis.call('ZADD', P .. 'anonymous', one.created, one.key)
        count_bytes(one.size)
    end
end

-- Evicts sessions for a new one. Returns the handles of its user's evicted sessions.
local function bound(one, most, denies, now, sessions, bytes)
    if not one.user then
        trim(one.key, sessions, bytes)
    elseif most ~= '' and denies ~= '1' then
        return make_room(one.user, one.key, tonumber(most), now)
    end
    return {}
end

-- The commands of both scripts that the user of the connection may not run on these keys.
function calls.lacking()
    local key, other = P .. 'probe', P .. 'probe:other'
    local tries = {
        { 'HSET', key, 'a', 1 }, { 'HINCRBY', key, 'a', 1 },
        { 'HGET', key, 'a' }, { 'HGETALL', key }, { 'HMGET', key, 'a' }, { 'HSTRLEN', key, 'a' },
        { 'HEXISTS', key, 'a' }, { 'HDEL', key, 'a' },
        { 'EXISTS', key }, { 'DEL', key },
        { 'ZADD', key, 1, 'a' }, { 'ZCARD', key }, { 'ZCOUNT', key, 0, 1 }, { 'ZSCORE', key, 'a' },
        { 'ZRANGE', key, 0, 1 }, { 'ZRANGEBYSCORE', key, 0, 1 }, { 'ZRANGEBYLEX', key, '-', '+' },
        { 'RENAME', key, other }, { 'ZREM', other, 'a' }, { 'DEL', key, other },
        { 'RPUSH', key, 'a' }, { 'LINDEX', key, 0 }, { 'LPOP', key }, { 'DEL', key },
        { 'SADD', key, 'a' }, { 'SMEMBERS', key }, { 'DEL', key },
        { 'SET', key, 'a' }, { 'GET', key }, { 'EXPIRE', key, 1 }, { 'TTL', key }, { 'DEL', key },
        { 'PUBLISH', P .. 'news', '' }, { 'TIME' },
    }
    local lacking, known = {}, {}
    for _, try in ipairs(tries) do
        local answer = redis.pcall(unpack(try))
        local refused = type(answer) == 'table' and answer.err
        -- Servers word it differently, and with another code for scripts.
        if refused and refused:lower():find('user') and not known[try[1]] then
            known[try[1]] = true
            table.insert(lacking, try[1])
        end
    end
    return lacking
end

-- The version of these keys; this one, if there are none.
function calls.version(version)
    return once('version', version)
end

function calls.secret(fresh)
    return once('session_secret', fresh)
end

function calls.create(...)
    local one, also, most, denies, began, mark, known, known_mark, now, sessions, bytes = new_row(...)
    now = tonumber(now)
    local refused, epoch = check_user(one.user, one.key, most, denies, began, mark,
        known, known_mark, now)
    if refused then return { refused, {} } end
    if redis.call('EXISTS', P .. 's:' .. one.key) == 1 then return { 'taken', {} } end
    also('version', '1')
    also('epoch', text(epoch))
    insert(one)
    return { 'done', bound(one, most, denies, now, sessions, bytes) }
end

function calls.update(key, expected, data, now, sessions, bytes)
    local one = find(key)
    local refused = refusal(one, expected, tonumber(now))
    if refused then return { refused, {} } end
    local before = data_size(one)
    redis.call('HSET', P .. 's:' .. key, 'data', data, 'version', text(one.version + 1))
    if not one.user then
        count_bytes(#data - before)
        trim(key, sessions, bytes)
    end
    return { 'done', {} }
end

function calls.touch(key, deadline, now)
    now = tonumber(now)
    local one = current(key, now)
    if not one or not is_live(one, now) then return 0 end
    one.idle_deadline = math.max(one.idle_deadline, tonumber(deadline))
    redis.call('HSET', P .. 's:' .. one.key, 'idle_deadline', text(one.idle_deadline),
        'last_seen', text(math.max(one.last_seen, now)))
    index_deadline(one)
    return 1
end

function calls.rotate(...)
    local one, also, old_key, expected, ends, grace, most, denies, began, mark, known, known_mark, now,
        sessions, bytes = new_row(...)
    now = tonumber(now)
    local old = find(old_key)
    local refused = refusal(old, expected, now)
    if refused then return { refused, {} } end
    local epoch
    refused, epoch = check_user(one.user, old_key, most, denies, began, mark,
        known, known_mark, now)
    if refused then return { refused, {} } end
    if redis.call('EXISTS', P .. 's:' .. one.key) == 1 then return { 'conflict', {} } end
    also('version', text(old.version + 1))
    also('epoch', text(epoch))
    remove(old)
    if grace ~= '' and tonumber(grace) > now then
        redis.call('HSET', P .. 's:' .. old_key, 'moved_to', one.key, 'moved_until', grace)
        redis.call('ZADD', P .. 'others', grace, old_key)
    end
    insert(one)
    if ends == '1' then tell('s' .. hex(old.handle)) end
    return { 'done', bound(one, most, denies, now, sessions, bytes) }
end

local function end_one(one)
    local was_live = is_live(one, 0)
    remove(one)
    if one.user then tell('s' .. hex(one.handle)) end
    return was_live and 1 or 0
end

function calls.delete(key)
    local one = current(key, 0)
    if not one then return 0 end
    return end_one(one)
end

function calls.list(user, most, now)
    local found = others(user, '', tonumber(now))
    table.sort(found, function(a, b)
        if a.last_seen ~= b.last_seen then return a.last_seen > b.last_seen end
        if a.created ~= b.created then return a.created > b.created end
        return a.handle > b.handle
    end)
    local listed = {}
    for place = 1, math.min(#found, tonumber(most)) do
        listed[place] = redis.call('HMGET', P .. 's:' .. found[place].key, 'handle', 'created',
            'last_seen', 'authenticated', 'data')
    end
    return listed
end

-- The sessions of a user with this handle: one, except in tests.
local function with_handle(user, handle)
    local members = redis.call('ZRANGEBYLEX', P .. 'u:' .. user, '[' .. handle,
        '(' .. handle .. string.rep('\255', 33))
    local found = {}
    for _, member in ipairs(members) do
        local one = find(member:sub(17))
        if one then table.insert(found, one) end
    end
    return found
end

function calls.identity(user, handle, now)
    for _, one in ipairs(with_handle(user, handle)) do
        if is_live(one, tonumber(now)) then
            return redis.call('HMGET', P .. 's:' .. one.key, 'user', 'roles', 'scopes', 'tenant')
        end
    end
    return nil
end

function calls.delete_by_handle(user, handle)
    local was_live = 0
    for _, one in ipairs(with_handle(user, handle)) do
        was_live = math.max(was_live, end_one(one))
    end
    return was_live
end

-- Without `roles`, ends the sessions of a user. A number from before an era says nothing about the cut-offs before
-- that era.
function calls.revoke_user(user, keep, roles, scopes, tenant, now, known, known_mark, mark)
    now = tonumber(now)
    begin_era('cut_off', known, known_mark, mark)
    local before, sessions = math.max(epoch_of(user), counter('cut_off_era')), 0
    local number = give_out('cut_off', mark)
    redis.call('HSET', P .. 'epochs', user, text(number))
    local kept = keep ~= '' and current(keep, now)
    if roles ~= '' or not kept or kept.user ~= user or not is_live(kept, now) then kept = nil end
    for _, one in ipairs(all_of(user)) do
        local row = P .. 's:' .. one.key
        if kept and one.key == kept.key then
            redis.call('HSET', row, 'epoch', text(number))
        elseif roles == '' then
            if is_live(one, now) then sessions = sessions + 1 end
            remove(one)
        elseif is_live(one, now) then
            -- So that no request that read the old rights writes them again.
            redis.call('HSET', row, 'epoch', text(number), 'roles', roles, 'scopes', scopes,
                'version', text(one.version + 1))
            if tenant ~= '' then
                redis.call('HSET', row, 'tenant', tenant)
            else
                redis.call('HDEL', row, 'tenant')
            end
            sessions = sessions + 1
        end
    end
    tell('u' .. (kept and hex(kept.handle) or '-') .. ' ' .. user)
    return { sessions, before, number }
end

-- The rows are dead by their epoch, and a purge removes them.
function calls.revoke_everyone(now, known, known_mark, mark)
    begin_era('cut_off', known, known_mark, mark)
    local number = give_out('cut_off', mark)
    local sessions = redis.call('ZCOUNT', P .. 'users', '(' .. now, '+inf')
    redis.call('HSET', P .. 'numbers', 'everyone', text(number))
    set_aside('users', text(number))
    tell('a')
    return { sessions, number - 1, number }
end

-- Each process leaves a count of its own, which expires when no poll has stated it for 30 days. A process that was
-- suspended for longer finds none, and begins an era.
local DAY = 86400
local COUNT_KEPT = 30 * DAY

local function count_key(instance)
    return P .. 'marks:ended:' .. instance
end

-- How many polls of an instance came after ends of single sessions.
local function count_of(instance)
    return tonumber(redis.call('GET', count_key(instance)) or 0)
end

-- The last cut-off, and its mark. `ended` is the count that the instance has left.
function calls.cut_offs(instance, ended, known, known_mark, mark)
    local key = count_key(instance)
    if count_of(instance) < tonumber(ended) then
        -- By a mark that no number has.
        begin_era('cut_off', math.max(tonumber(known), 1), 'lost', mark)
        redis.call('SET', key, ended, 'EX', COUNT_KEPT)
    else
        begin_era('cut_off', known, known_mark, mark)
        if tonumber(ended) > 0 and redis.call('TTL', key) < COUNT_KEPT - DAY then
            redis.call('EXPIRE', key, COUNT_KEPT)
        end
    end
    local number = counter('cut_off')
    return { number, mark_of('cut_off', number) }
end

function calls.leave_mark(instance, ended)
    local left = math.max(count_of(instance), tonumber(ended)) + 1
    redis.call('SET', count_key(instance), text(left), 'EX', COUNT_KEPT)
    return left
end

function calls.count(now)
    return redis.call('ZCOUNT', P .. 'users', '(' .. now, '+inf')
        + redis.call('ZCARD', P .. 'anonymous')
end

function calls.time()
    local now = redis.call('TIME')
    return tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000)
end

-- Returns the number of removed sessions, and of examined keys.
function calls.purge(now, most)
    now, most = tonumber(now), tonumber(most)
    local removed = 0
    local function purge_one(key)
        local one = find(key)
        if not one or is_live(one, now) or one.moved_to and one.moved_until > now then return end
        if not one.moved_to then removed = removed + 1 end
        remove(one)
    end
    local seen = purge_aside('users', most, purge_one)
    seen = seen + purge_due('users', text(now), most - seen, purge_one)
    seen = seen + purge_due('others', text(now), most - seen, purge_one)
    return { removed, seen }
end

return calls[ARGV[1]](unpack(ARGV, 2))
