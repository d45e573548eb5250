-- Refresh tokens, revocations and tickets. The keys, each behind the common part:
--
--   numbers            hash    `revocation`: the position of the last one; `family_cut`: of the last
--                              cut-off of everyone; `revocation_era`: the first number since the last loss
--                              of numbers
--   marks:revocation   hash    position of a revocation -> its mark
--   f:<id>             hash    a family, with the position at which it began
--   fu:<user>          sorted  ids of the families of a user that did not end, by their login
--   ft:<id>            set     hashes of the tokens of a family
--   t:<hash>           hash    `family`, and of a used token `used` and `successor`
--   families           sorted  ids of all families by the time from which a purge may remove them
--   families:<number>  sorted  those that this cut-off of everyone ended; `families:ended` lists them
--   revocations        hash    <kind>:<subject> -> the second of a cut-off or the end of the row, a
--                              space and the user of a session
--   positions          sorted  <kind>:<subject> by position
--   revocation_ends    sorted  those of tokens and sessions by the end of the row
--   k:<hash>           text    a ticket
--   tickets            sorted  hashes of tickets by their end

-- A family; nil if there is none.
local function find(id)
    local row = redis.call('HMGET', P .. 'f:' .. id, 'user', 'roles', 'scopes', 'authenticated',
        'expires', 'session', 'refreshes', 'position', 'is_ended', 'tenant')
    if not row[1] then return nil end
    return {
        id = id,
        user = row[1],
        expires = tonumber(row[5]),
        session = row[6],
        refreshes = tonumber(row[7]),
        is_ended = row[9] or tonumber(row[8]) < counter('family_cut'),
        reply = { id, row[1], row[2], row[3], row[10], row[4], row[5], row[6] },
    }
end

local function find_of_token(hash)
    local id = redis.call('HGET', P .. 't:' .. hash, 'family')
    return id and find(id)
end

-- From then on a purge may remove it.
local function end_family(family)
    redis.call('HSET', P .. 'f:' .. family.id, 'is_ended', '1')
    redis.call('ZREM', P .. 'fu:' .. family.user, family.id)
    redis.call('ZADD', P .. 'families', 0, family.id)
end

local function position_of(kind, subject)
    return tonumber(redis.call('ZSCORE', P .. 'positions', kind .. ':' .. subject) or 0)
end

local function insert_token(hash, family)
    redis.call('HSET', P .. 't:' .. hash, 'family', family)
    redis.call('SADD', P .. 'ft:' .. family, hash)
end

-- The families of a user that did not end, the latest login first.
local function families_of(user)
    local found = {}
    for _, id in ipairs(redis.call('ZRANGE', P .. 'fu:' .. user, 0, -1)) do
        local family = find(id)
        if family and not family.is_ended then
            table.insert(found, 1, family)
        else
            redis.call('ZREM', P .. 'fu:' .. user, id)
        end
    end
    return found
end

-- The id of a family as its access tokens state it: base64url without padding.
local function name_of(id)
    local digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    local name = {}
    for at = 1, #id, 3 do
        local first, second, third = id:byte(at, at + 2)
        local bits = first * 65536 + (second or 0) * 256 + (third or 0)
        for place = 3, third and 0 or second and 1 or 2, -1 do
            local digit = math.floor(bits / 64 ^ place) % 64 + 1
            table.insert(name, digits:sub(digit, digit))
        end
    end
    return table.concat(name)
end

-- Adds a revocation in place of an earlier one of the same subject. Returns its position.
local function add_revocation(kind, subject, user, value, mark)
    local place = give_out('revocation', mark)
    local name = kind .. ':' .. subject
    local before = redis.call('HGET', P .. 'revocations', name)
    before = before and tonumber(before:match('^%d+')) or 0
    value = text(math.max(before, tonumber(value)))
    redis.call('HSET', P .. 'revocations', name, value .. ' ' .. user)
    redis.call('ZADD', P .. 'positions', text(place), name)
    if kind == 'token' or kind == 'session' then
        redis.call('ZADD', P .. 'revocation_ends', value, name)
    end
    tell('r')
    return place
end

-- Ends a family and revokes its access tokens. Returns the position of the revocation, which is needed until `last`.
local function end_with_access(family, last, mark)
    end_family(family)
    return add_revocation('token', name_of(family.id), '', last, mark)
end

-- Where numbers were lost, revocations were: access tokens and tickets of before count no more.
local function follow(known, known_mark, mark)
    local first = begin_era('revocation', known, known_mark, mark)
    if not first then return end
    local row = redis.call('HGET', P .. 'revocations', 'all:') or '0 '
    redis.call('HSET', P .. 'revocations', 'all:', row)
    redis.call('ZADD', P .. 'positions', text(first), 'all:')
end

function calls.secret(fresh)
    return once('token_secret', fresh)
end

-- The subject of a session is written as in a revocation.
function calls.create_family(id, user, roles, scopes, tenant, authenticated, expires, session, subject,
                             hash, began, mark, most, known, known_mark)
    local revoked = math.max(position_of('user', user), position_of('everyone', ''))
    if session ~= '' then revoked = math.max(revoked, position_of('session', subject)) end
    if tonumber(began) < revoked
        or not gave_out_both('revocation', began, mark, known, known_mark) then
        return 0
    end
    if redis.call('EXISTS', P .. 'f:' .. id, P .. 't:' .. hash) > 0 then
        return redis.error_reply('ERR the family or its token exists already')
    end
    for place, family in ipairs(families_of(user)) do
        if place >= tonumber(most) then end_family(family) end
    end
    redis.call('HSET', P .. 'f:' .. id, 'user', user, 'roles', roles, 'scopes', scopes,
        'authenticated', authenticated, 'expires', expires, 'refreshes', 0,
        'position', text(counter('revocation')))
    if session ~= '' then redis.call('HSET', P .. 'f:' .. id, 'session', session) end
    if tenant ~= '' then redis.call('HSET', P .. 'f:' .. id, 'tenant', tenant) end
    redis.call('ZADD', P .. 'fu:' .. user, authenticated, id)
    redis.call('ZADD', P .. 'families', expires, id)
    insert_token(hash, id)
    return 1
end

-- Returns the outcome, the position of the revocation or 0, the family, and the steps to the unused token.
function calls.refresh(hash, successor, grace, most, most_steps, now, last, known, known_mark, mark)
    if known ~= '0' and not gave_out('revocation', known, known_mark) then
        return { 'lost', 0 }
    end
    local family = find_of_token(hash)
    if not family then return { 'unknown', 0 } end
    if family.is_ended or tonumber(now) >= family.expires then return { 'dead', 0 } end
    local token = redis.call('HMGET', P .. 't:' .. hash, 'used', 'successor')
    local used = token[1]
    if not used then
        if most ~= '' and family.refreshes >= tonumber(most) then
            return { 'dead', end_with_access(family, last, mark) }
        end
        if redis.call('EXISTS', P .. 't:' .. successor) == 1 then
            return redis.error_reply('ERR the successor exists already')
        end
        insert_token(successor, family.id)
        redis.call('HSET', P .. 't:' .. hash, 'used', now, 'successor', successor)
        redis.call('HINCRBY', P .. 'f:' .. family.id, 'refreshes', 1)
        return { 'done', 0, family.reply }
    end
    if tonumber(now) - tonumber(used) < tonumber(grace) then
        local newest = token[2]
        for steps = 1, tonumber(most_steps) do
            local successor = redis.call('HGET', P .. 't:' .. newest, 'successor')
            if not successor then return { 'again', 0, family.reply, steps } end
            newest = successor
        end
        return { 'overtaken', 0 }
    end
    return { 'reused', end_with_access(family, last, mark), family.reply }
end

function calls.end_family(hash, last, known, known_mark, mark)
    local family = find_of_token(hash)
    if not family or family.is_ended then return false end
    follow(known, known_mark, mark)
    return { end_with_access(family, last, mark), family.reply }
end

function calls.end_family_by_id(id)
    local family = find(id)
    if family and not family.is_ended then end_family(family) end
end

-- Returns the position, that of an earlier cut-off, how many families it ended, and, except for everyone, their ids.
function calls.revoke(kind, subject, user, value, known, known_mark, mark)
    local ended, count = {}, nil
    follow(known, known_mark, mark)
    local earlier = 0
    if kind == 'user' then
        -- What was known before an era began says nothing about the cut-offs before it.
        earlier = math.max(position_of('user', user), position_of('everyone', ''),
            counter('revocation_era'))
    elseif kind == 'everyone' or kind == 'all' then
        earlier = counter('revocation')
    end
    if kind == 'user' or kind == 'session' then
        for _, family in ipairs(families_of(user)) do
            if kind == 'user' then
                end_family(family)
                table.insert(ended, family.id)
            elseif family.session and hex(family.session) == subject then
                end_with_access(family, value, mark)
                table.insert(ended, family.id)
            end
        end
    end
    local place = add_revocation(kind, subject, user, value, mark)
    if kind == 'everyone' then
        -- However many there are, this reads and writes one key.
        count = redis.call('ZCOUNT', P .. 'families', '(0', '+inf')
        redis.call('HSET', P .. 'numbers', 'family_cut', text(place))
        set_aside('families', text(place))
    end
    return { place, earlier, count or #ended, ended }
end

-- The last position and its mark, and for each revocation after `since` its position, name and row.
function calls.revocations(since, known, known_mark, mark)
    follow(known, known_mark, mark)
    local found = redis.call('ZRANGEBYSCORE', P .. 'positions', '(' .. since, '+inf', 'WITHSCORES')
    local last = counter('revocation')
    local reply = { last, mark_of('revocation', last) }
    for at = 1, #found, 2 do
        table.insert(reply, found[at + 1])
        table.insert(reply, found[at])
        table.insert(reply, redis.call('HGET', P .. 'revocations', found[at]))
    end
    return reply
end

function calls.put_ticket(hash, expires, ticket)
    redis.call('SET', P .. 'k:' .. hash, ticket)
    redis.call('ZADD', P .. 'tickets', expires, hash)
end

function calls.take_ticket(hash)
    local ticket = redis.call('GET', P .. 'k:' .. hash)
    redis.call('DEL', P .. 'k:' .. hash)
    redis.call('ZREM', P .. 'tickets', hash)
    return ticket
end

-- Removes a family that is over, with its tokens. Returns how many.
local function remove_family(id, now)
    local family = find(id)
    if family and not family.is_ended and family.expires > now then return 0 end
    local tokens = redis.call('SMEMBERS', P .. 'ft:' .. id)
    for _, hash in ipairs(tokens) do redis.call('DEL', P .. 't:' .. hash) end
    redis.call('DEL', P .. 'f:' .. id, P .. 'ft:' .. id)
    if not family then return 0 end
    redis.call('ZREM', P .. 'fu:' .. family.user, id)
    redis.call('ZREM', P .. 'families', id)
    return 1
end

-- Returns how many rows it removed, and how many keys it looked at.
function calls.purge(now, most)
    now, most = tonumber(now), tonumber(most)
    local removed = 0
    local function ticket(hash)
        removed = removed + redis.call('DEL', P .. 'k:' .. hash)
    end
    local function family(id)
        removed = removed + remove_family(id, now)
    end
    local function revocation(name)
        removed = removed + redis.call('HDEL', P .. 'revocations', name)
        redis.call('ZREM', P .. 'positions', name)
    end
    local seen = purge_due('tickets', text(now), most, ticket)
    seen = seen + purge_aside('families', most - seen, family)
    seen = seen + purge_due('families', text(now), most - seen, family)
    seen = seen + purge_due('revocation_ends', text(now), most - seen, revocation)
    return { removed, seen }
end

return calls[ARGV[1]](unpack(ARGV, 2))
