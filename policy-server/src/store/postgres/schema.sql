-- Version 1. `policy.` stands for the schema of the store, and is replaced by its name.
--
-- Each call of the store is one statement, most of them one function. Times are milliseconds since
-- 1970 by the clock of the instances, which pass in the current one.
--
-- Locks are taken in this order, so that calls cannot deadlock: everyone, users, rows, numbers.
-- Everyone and users are advisory locks of a transaction: a cut-off takes what it ends exclusively,
-- and what grants rights to a user takes that user exclusively and everyone shared.

CREATE TABLE policy.meta (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    version integer NOT NULL,
    session_secret bytea,
    token_secret bytea,
    -- The newest cut-off of everyone. Each load of a session reads it, so it has no row that changes
    -- more often.
    everyone bigint NOT NULL DEFAULT 0
);
INSERT INTO policy.meta (version) VALUES (1);

-- Counters. Whoever changes one keeps its row locked until the end of the transaction, so that
-- numbers become visible in their order.
CREATE TABLE policy.numbers (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    cut_off bigint NOT NULL DEFAULT 0,
    revocation bigint NOT NULL DEFAULT 0
);
INSERT INTO policy.numbers DEFAULT VALUES;

-- The newest cut-off of each user who was cut off. The key is a digest, since an index takes no text
-- of any length.
CREATE TABLE policy.epochs (
    user_key bytea PRIMARY KEY,
    user_id text NOT NULL,
    epoch bigint NOT NULL
);

CREATE TABLE policy.sessions (
    key bytea PRIMARY KEY,
    handle bytea NOT NULL,
    user_id text,
    roles text[] NOT NULL,
    scopes text[] NOT NULL,
    epoch bigint NOT NULL,
    version bigint NOT NULL,
    created bigint NOT NULL,
    authenticated bigint,
    rotated bigint NOT NULL,
    last_seen bigint NOT NULL,
    idle_deadline bigint NOT NULL,
    absolute_deadline bigint NOT NULL,
    idle bigint NOT NULL,
    is_remembered boolean NOT NULL,
    binding bytea NOT NULL,
    data bytea NOT NULL,
    -- A rotation replaced the key: until then, it loads the session of this one.
    moved_to bytea,
    moved_until bigint
) WITH (fillfactor = 80);
-- No index has a column that a use of the session changes, so that it writes no index (HOT).
CREATE INDEX sessions_of_user ON policy.sessions USING hash (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX anonymous_sessions ON policy.sessions (created)
    WHERE user_id IS NULL AND moved_to IS NULL;

CREATE TABLE policy.families (
    id bytea PRIMARY KEY,
    user_id text NOT NULL,
    roles text[] NOT NULL,
    scopes text[] NOT NULL,
    authenticated bigint NOT NULL,
    expires bigint NOT NULL,
    session bytea,
    refreshes bigint NOT NULL,
    is_ended boolean NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX families_of_user ON policy.families USING hash (user_id);

CREATE TABLE policy.refresh_tokens (
    hash bytea PRIMARY KEY,
    family bytea NOT NULL REFERENCES policy.families ON DELETE CASCADE,
    used bigint,
    successor bytea
);
CREATE INDEX tokens_of_family ON policy.refresh_tokens (family);

CREATE TABLE policy.revocations (
    kind text NOT NULL,
    subject_key bytea NOT NULL,
    -- A `jti`, the handle of a session or a user, and the user of the session.
    subject text NOT NULL,
    user_id text NOT NULL,
    -- A second of a cut-off, or the end of the row.
    value bigint NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (kind, subject_key)
);
CREATE UNIQUE INDEX revocations_in_order ON policy.revocations (position);

CREATE TABLE policy.tickets (
    hash bytea PRIMARY KEY,
    user_id text NOT NULL,
    roles text[] NOT NULL,
    scopes text[] NOT NULL,
    authenticated bigint,
    session bytea,
    token text,
    token_expires bigint,
    cut_offs bigint NOT NULL,
    expires bigint NOT NULL
);

-- A payload that is too long for a notification is one that was missed.
CREATE FUNCTION policy.tell(news text) RETURNS void LANGUAGE sql AS $$
    SELECT pg_notify('channel of policy', CASE WHEN octet_length(news) < 7900 THEN news ELSE 'm' END)
$$;

CREATE FUNCTION policy.digest(name text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT sha256(convert_to(name, 'UTF8'))
$$;

-- Locks up to two users, and everyone shared. `area` tells sessions and families apart.
CREATE FUNCTION policy.lock_users(area regclass, a text, b text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    of_a bigint := hashtextextended('user ' || a, area::oid::bigint);
    of_b bigint := hashtextextended('user ' || b, area::oid::bigint);
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('everyone', area::oid::bigint));
    -- Without NULL, `least` and `greatest` are the other one.
    IF of_a IS NOT NULL OR of_b IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock(least(of_a, of_b));
        PERFORM pg_advisory_xact_lock(greatest(of_a, of_b));
    END IF;
END $$;

CREATE FUNCTION policy.lock_everyone(area regclass) RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(hashtextextended('everyone', area::oid::bigint))
$$;

-- Sessions -----------------------------------------------------------------------------------------

CREATE FUNCTION policy.is_live(row_of policy.sessions, clock bigint) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT row_of.moved_to IS NULL
        AND row_of.idle_deadline > clock AND row_of.absolute_deadline > clock
        AND (row_of.user_id IS NULL OR row_of.epoch >= (SELECT everyone FROM policy.meta))
$$;

CREATE FUNCTION policy.epoch_of(of_user text) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT greatest(
        (SELECT everyone FROM policy.meta),
        (SELECT epoch FROM policy.epochs WHERE user_key = policy.digest(of_user))
    )
$$;

-- Locks the row under which a session is stored now. At 0, no grace period has ended.
CREATE FUNCTION policy.current(at_key bytea, clock bigint) RETURNS policy.sessions
LANGUAGE plpgsql AS $$
DECLARE
    row_of policy.sessions;
BEGIN
    -- This terminates: a rotation moves to a key without a row, so there is no cycle.
    LOOP
        SELECT * INTO row_of FROM policy.sessions WHERE key = at_key FOR UPDATE;
        IF NOT FOUND OR row_of.moved_until <= clock THEN RETURN NULL; END IF;
        IF row_of.moved_to IS NULL THEN RETURN row_of; END IF;
        at_key := row_of.moved_to;
    END LOOP;
END $$;

-- Locks the row of a key. NULL if it is a live session of this version.
CREATE FUNCTION policy.refusal(at_key bytea, expected bigint, clock bigint) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    row_of policy.sessions;
BEGIN
    SELECT * INTO row_of FROM policy.sessions WHERE key = at_key FOR UPDATE;
    IF row_of.moved_until > clock THEN RETURN 'conflict'; END IF;
    IF NOT FOUND OR NOT policy.is_live(row_of, clock) THEN RETURN 'gone'; END IF;
    IF row_of.version <> expected THEN RETURN 'conflict'; END IF;
    RETURN NULL;
END $$;

-- How many live sessions a user has, without one.
CREATE FUNCTION policy.others(of_user text, besides bytea, clock bigint) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT count(*) FROM policy.sessions s
    WHERE user_id = of_user AND key <> besides AND policy.is_live(s, clock)
$$;

-- Ends the oldest sessions of a user, so that there is room for one.
CREATE FUNCTION policy.make_room(of_user text, own bytea, most bigint, clock bigint)
RETURNS bytea[] LANGUAGE plpgsql AS $$
DECLARE
    ended bytea[];
    one bytea;
BEGIN
    WITH old AS (
        SELECT key FROM policy.sessions s
        WHERE user_id = of_user AND key <> own AND policy.is_live(s, clock)
        ORDER BY created DESC, handle DESC OFFSET most - 1
    ), gone AS (
        DELETE FROM policy.sessions USING old WHERE sessions.key = old.key RETURNING handle
    )
    SELECT coalesce(array_agg(handle), '{}') INTO ended FROM gone;
    FOREACH one IN ARRAY ended LOOP
        PERFORM policy.tell('s' || encode(one, 'hex'));
    END LOOP;
    RETURN ended;
END $$;

CREATE FUNCTION policy.create_session(
    new_row policy.sessions, most bigint, denies boolean, began bigint, clock bigint,
    OUT outcome text, OUT evicted bytea[]
) LANGUAGE plpgsql AS $$
BEGIN
    evicted := '{}';
    new_row.version := 1;
    new_row.epoch := 0;
    IF new_row.user_id IS NOT NULL THEN
        PERFORM policy.lock_users('policy.sessions', new_row.user_id, NULL);
        new_row.epoch := policy.epoch_of(new_row.user_id);
        IF began < new_row.epoch THEN outcome := 'cut off'; RETURN; END IF;
        IF denies AND policy.others(new_row.user_id, new_row.key, clock) >= most THEN
            outcome := 'limit';
            RETURN;
        END IF;
    END IF;
    INSERT INTO policy.sessions SELECT (new_row).* ON CONFLICT (key) DO NOTHING;
    IF NOT FOUND THEN outcome := 'taken'; RETURN; END IF;
    IF new_row.user_id IS NOT NULL AND most IS NOT NULL AND NOT denies THEN
        evicted := policy.make_room(new_row.user_id, new_row.key, most, clock);
    END IF;
    outcome := 'done';
END $$;

-- Whether it was an anonymous one is told too, since those are bounded.
CREATE FUNCTION policy.update_session(
    at_key bytea, expected bigint, new_data bytea, clock bigint,
    OUT outcome text, OUT was_anonymous boolean
) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE policy.sessions s SET data = new_data, version = expected + 1
    WHERE key = at_key AND version = expected AND policy.is_live(s, clock)
    RETURNING user_id IS NULL INTO was_anonymous;
    outcome := CASE WHEN FOUND THEN 'done'
        ELSE coalesce(policy.refusal(at_key, expected, clock), 'conflict') END;
END $$;

CREATE FUNCTION policy.touch_session(at_key bytea, deadline bigint, clock bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    now_at policy.sessions := policy.current(at_key, clock);
BEGIN
    IF now_at.key IS NULL OR NOT policy.is_live(now_at, clock) THEN RETURN false; END IF;
    UPDATE policy.sessions SET idle_deadline = greatest(idle_deadline, deadline),
        last_seen = greatest(last_seen, clock)
    WHERE key = now_at.key;
    RETURN true;
END $$;

CREATE FUNCTION policy.rotate_session(
    old_key bytea, expected bigint, new_row policy.sessions, grace bigint, most bigint,
    denies boolean, began bigint, clock bigint, OUT outcome text, OUT evicted bytea[]
) LANGUAGE plpgsql AS $$
BEGIN
    evicted := '{}';
    -- The user of a key never changes.
    PERFORM policy.lock_users('policy.sessions', s.user_id, new_row.user_id)
    FROM policy.sessions s WHERE key = old_key;
    outcome := policy.refusal(old_key, expected, clock);
    IF outcome IS NOT NULL THEN RETURN; END IF;
    new_row.version := expected + 1;
    new_row.epoch := 0;
    IF new_row.user_id IS NOT NULL THEN
        new_row.epoch := policy.epoch_of(new_row.user_id);
        IF began < new_row.epoch THEN outcome := 'cut off'; RETURN; END IF;
        IF denies AND policy.others(new_row.user_id, old_key, clock) >= most THEN
            outcome := 'limit';
            RETURN;
        END IF;
    END IF;
    INSERT INTO policy.sessions SELECT (new_row).* ON CONFLICT (key) DO NOTHING;
    IF NOT FOUND THEN outcome := 'conflict'; RETURN; END IF;
    IF grace > clock THEN
        UPDATE policy.sessions SET moved_to = new_row.key, moved_until = grace, user_id = NULL,
            roles = '{}', scopes = '{}', data = ''
        WHERE key = old_key;
    ELSE
        DELETE FROM policy.sessions WHERE key = old_key;
    END IF;
    IF new_row.user_id IS NOT NULL AND most IS NOT NULL AND NOT denies THEN
        evicted := policy.make_room(new_row.user_id, new_row.key, most, clock);
    END IF;
    outcome := 'done';
END $$;

CREATE FUNCTION policy.delete_session(at_key bytea) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    now_at policy.sessions := policy.current(at_key, 0);
BEGIN
    IF now_at.key IS NULL THEN RETURN false; END IF;
    DELETE FROM policy.sessions WHERE key = now_at.key;
    IF now_at.user_id IS NOT NULL THEN
        PERFORM policy.tell('s' || encode(now_at.handle, 'hex'));
    END IF;
    RETURN policy.is_live(now_at, 0);
END $$;

CREATE FUNCTION policy.delete_by_handle(of_user text, by_handle bytea) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    was_live boolean;
BEGIN
    -- So that no rotation gives it another key meanwhile.
    PERFORM policy.lock_users('policy.sessions', of_user, NULL);
    DELETE FROM policy.sessions s WHERE user_id = of_user AND handle = by_handle
    RETURNING policy.is_live(s, 0) INTO was_live;
    IF FOUND THEN PERFORM policy.tell('s' || encode(by_handle, 'hex')); END IF;
    RETURN coalesce(was_live, false);
END $$;

-- Without `new_roles`, ends the sessions of a user.
CREATE FUNCTION policy.revoke_user(
    of_user text, keep bytea, new_roles text[], new_scopes text[], clock bigint,
    OUT sessions bigint, OUT before bigint, OUT number bigint
) LANGUAGE plpgsql AS $$
DECLARE
    kept policy.sessions;
BEGIN
    PERFORM policy.lock_users('policy.sessions', of_user, NULL);
    before := policy.epoch_of(of_user);
    IF new_roles IS NULL THEN
        kept := policy.current(keep, clock);
        IF kept.user_id IS DISTINCT FROM of_user OR NOT policy.is_live(kept, clock) THEN
            kept := NULL;
        END IF;
        WITH gone AS (
            DELETE FROM policy.sessions s
            WHERE user_id = of_user AND key IS DISTINCT FROM kept.key
            RETURNING policy.is_live(s, clock) AS was_live
        )
        SELECT count(*) FILTER (WHERE was_live) INTO sessions FROM gone;
    ELSE
        PERFORM FROM policy.sessions WHERE user_id = of_user FOR UPDATE;
    END IF;
    UPDATE policy.numbers SET cut_off = cut_off + 1 RETURNING cut_off INTO number;
    INSERT INTO policy.epochs VALUES (policy.digest(of_user), of_user, number)
    ON CONFLICT (user_key) DO UPDATE SET epoch = number;
    IF new_roles IS NULL THEN
        UPDATE policy.sessions SET epoch = number WHERE key = kept.key;
    ELSE
        -- So that no request that read the old rights writes them again.
        UPDATE policy.sessions s SET epoch = number, roles = new_roles, scopes = new_scopes,
            version = version + 1
        WHERE user_id = of_user AND policy.is_live(s, clock);
        GET DIAGNOSTICS sessions = ROW_COUNT;
    END IF;
    PERFORM policy.tell('u' || coalesce(encode(kept.handle, 'hex'), '-') || ' ' || of_user);
END $$;

-- The rows are dead by their epoch, however many they are; a purge removes them.
CREATE FUNCTION policy.revoke_everyone(OUT before bigint, OUT number bigint, OUT last_of_everyone bigint)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM policy.lock_everyone('policy.sessions');
    UPDATE policy.numbers SET cut_off = cut_off + 1 RETURNING cut_off INTO number;
    before := number - 1;
    SELECT everyone INTO last_of_everyone FROM policy.meta;
    UPDATE policy.meta SET everyone = number;
    PERFORM policy.tell('a');
END $$;

-- One instance at a time; the others find nothing to do.
CREATE FUNCTION policy.purge_sessions(clock bigint, most bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    purged bigint;
BEGIN
    IF NOT pg_try_advisory_xact_lock(
        hashtextextended('purge', 'policy.sessions'::regclass::oid::bigint)
    ) THEN
        RETURN 0;
    END IF;
    DELETE FROM policy.sessions WHERE key IN (
        SELECT key FROM policy.sessions WHERE moved_until <= clock
        LIMIT most FOR UPDATE SKIP LOCKED
    );
    DELETE FROM policy.sessions WHERE key IN (
        SELECT key FROM policy.sessions s WHERE moved_to IS NULL AND NOT policy.is_live(s, clock)
        LIMIT most FOR UPDATE SKIP LOCKED
    );
    GET DIAGNOSTICS purged = ROW_COUNT;
    RETURN purged;
END $$;

-- Ends the oldest anonymous sessions beyond a number, and beyond so many bytes of values.
CREATE FUNCTION policy.trim_anonymous(most bigint, bytes numeric) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    ended bigint;
BEGIN
    IF NOT pg_try_advisory_xact_lock(
        hashtextextended('trim', 'policy.sessions'::regclass::oid::bigint)
    ) THEN
        RETURN 0;
    END IF;
    DELETE FROM policy.sessions WHERE key IN (
        SELECT key FROM (
            SELECT key, row_number() OVER newest AS place, sum(octet_length(data)) OVER newest AS size
            FROM policy.sessions WHERE user_id IS NULL AND moved_to IS NULL
            WINDOW newest AS (ORDER BY created DESC, key)
        ) anonymous WHERE place > most OR size > bytes
    );
    GET DIAGNOSTICS ended = ROW_COUNT;
    RETURN ended;
END $$;

-- Tokens -------------------------------------------------------------------------------------------

CREATE FUNCTION policy.position_of(of_kind text, of_subject text) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT coalesce((
        SELECT position FROM policy.revocations
        WHERE kind = of_kind AND subject_key = policy.digest(of_subject)
    ), 0)
$$;

CREATE FUNCTION policy.create_family(
    family policy.families, token bytea, began bigint, most bigint
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM policy.lock_users('policy.families', family.user_id, NULL);
    IF began < greatest(
        policy.position_of('user', family.user_id),
        policy.position_of('everyone', ''),
        policy.position_of('session', encode(family.session, 'hex'))
    ) THEN
        RETURN false;
    END IF;
    family.refreshes := 0;
    family.is_ended := false;
    UPDATE policy.families SET is_ended = true WHERE id IN (
        SELECT id FROM policy.families WHERE user_id = family.user_id AND NOT is_ended
        ORDER BY authenticated DESC, id DESC OFFSET most - 1
    );
    INSERT INTO policy.families SELECT (family).*;
    INSERT INTO policy.refresh_tokens VALUES (token, family.id);
    RETURN true;
END $$;

-- Locks the family of a token.
CREATE FUNCTION policy.family_of(token bytea) RETURNS policy.families LANGUAGE plpgsql AS $$
DECLARE
    family policy.families;
BEGIN
    SELECT f.* INTO family FROM policy.refresh_tokens t JOIN policy.families f ON f.id = t.family
    WHERE t.hash = token FOR UPDATE OF f;
    RETURN family;
END $$;

CREATE FUNCTION policy.refresh(
    token bytea, next_token bytea, grace bigint, most bigint, clock bigint,
    OUT outcome text, OUT family policy.families
) LANGUAGE plpgsql AS $$
DECLARE
    row_of policy.refresh_tokens;
    is_next_used boolean;
BEGIN
    family := policy.family_of(token);
    IF family.id IS NULL THEN outcome := 'unknown'; RETURN; END IF;
    IF family.is_ended OR clock >= family.expires THEN outcome := 'dead'; RETURN; END IF;
    SELECT * INTO row_of FROM policy.refresh_tokens WHERE hash = token;
    IF row_of.used IS NULL THEN
        IF family.refreshes >= most THEN
            UPDATE policy.families SET is_ended = true WHERE id = family.id;
            outcome := 'dead';
            RETURN;
        END IF;
        INSERT INTO policy.refresh_tokens VALUES (next_token, family.id);
        UPDATE policy.refresh_tokens SET used = clock, successor = next_token WHERE hash = token;
        UPDATE policy.families SET refreshes = refreshes + 1 WHERE id = family.id;
        outcome := 'done';
        RETURN;
    END IF;
    SELECT used IS NOT NULL INTO is_next_used FROM policy.refresh_tokens
    WHERE hash = row_of.successor;
    IF NOT is_next_used AND clock - row_of.used < grace THEN
        outcome := 'again';
    ELSE
        UPDATE policy.families SET is_ended = true WHERE id = family.id;
        outcome := 'reused';
    END IF;
END $$;

-- The family as it was.
CREATE FUNCTION policy.end_family(token bytea) RETURNS policy.families LANGUAGE plpgsql AS $$
DECLARE
    family policy.families := policy.family_of(token);
BEGIN
    UPDATE policy.families SET is_ended = true WHERE id = family.id AND NOT is_ended;
    IF NOT FOUND THEN RETURN NULL; END IF;
    RETURN family;
END $$;

CREATE FUNCTION policy.revoke(
    new_kind text, new_subject text, of_user text, new_value bigint,
    OUT place bigint, OUT earlier bigint, OUT ended bytea[]
) LANGUAGE plpgsql AS $$
BEGIN
    ended := '{}';
    IF new_kind IN ('user', 'session') THEN
        PERFORM policy.lock_users('policy.families', of_user, NULL);
        WITH gone AS (
            UPDATE policy.families SET is_ended = true
            WHERE user_id = of_user AND NOT is_ended
                AND (new_kind = 'user' OR encode(session, 'hex') = new_subject)
            RETURNING id
        )
        SELECT coalesce(array_agg(id), '{}') INTO ended FROM gone;
    ELSIF new_kind = 'everyone' THEN
        PERFORM policy.lock_everyone('policy.families');
        WITH gone AS (
            UPDATE policy.families SET is_ended = true WHERE NOT is_ended RETURNING id
        )
        SELECT coalesce(array_agg(id), '{}') INTO ended FROM gone;
    END IF;
    UPDATE policy.numbers SET revocation = revocation + 1 RETURNING revocation INTO place;
    earlier := CASE new_kind
        WHEN 'user' THEN
            greatest(policy.position_of('user', of_user), policy.position_of('everyone', ''))
        WHEN 'everyone' THEN place - 1
        WHEN 'all' THEN place - 1
        ELSE 0
    END;
    INSERT INTO policy.revocations AS r
    VALUES (new_kind, policy.digest(new_subject), new_subject, of_user, new_value, place)
    ON CONFLICT (kind, subject_key)
    DO UPDATE SET position = place, value = greatest(r.value, new_value);
    PERFORM policy.tell('r');
END $$;

CREATE FUNCTION policy.purge_tokens(clock bigint, most bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    purged bigint;
    step bigint;
BEGIN
    IF NOT pg_try_advisory_xact_lock(
        hashtextextended('purge', 'policy.families'::regclass::oid::bigint)
    ) THEN
        RETURN 0;
    END IF;
    DELETE FROM policy.tickets WHERE hash IN (
        SELECT hash FROM policy.tickets WHERE expires <= clock LIMIT most FOR UPDATE SKIP LOCKED
    );
    GET DIAGNOSTICS purged = ROW_COUNT;
    DELETE FROM policy.families WHERE id IN (
        SELECT id FROM policy.families WHERE is_ended OR expires <= clock
        LIMIT most - purged FOR UPDATE SKIP LOCKED
    );
    GET DIAGNOSTICS step = ROW_COUNT;
    purged := purged + step;
    DELETE FROM policy.revocations WHERE position IN (
        SELECT position FROM policy.revocations WHERE kind IN ('token', 'session') AND value <= clock
        LIMIT most - purged FOR UPDATE SKIP LOCKED
    );
    GET DIAGNOSTICS step = ROW_COUNT;
    RETURN purged + step;
END $$;
