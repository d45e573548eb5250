-- Version 2: rates and permits that instances share. Times are microseconds since 1970 by the clock of
-- the server. Nothing here has to outlive a crash, so the tables are not logged.

-- Accounts of clients, as policy_core::limits::gcra::Account describes them.
CREATE UNLOGGED TABLE policy.rates (
    key bytea PRIMARY KEY,
    start bigint NOT NULL,
    due bigint NOT NULL,
    due_before bigint NOT NULL,
    free_at bigint NOT NULL,
    taken bigint NOT NULL,
    taken_before bigint NOT NULL
) WITH (fillfactor = 50);

-- How many permits each instance holds.
CREATE UNLOGGED TABLE policy.permits (
    key bytea,
    instance bytea,
    held integer NOT NULL,
    ends bigint NOT NULL,
    PRIMARY KEY (key, instance)
);

CREATE FUNCTION policy.micros() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
$$;

CREATE FUNCTION policy.time_to_wait(
    account policy.rates, count bigint, per bigint, pace bigint, at bigint
) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT greatest(0, least(
        account.due,
        account.free_at,
        CASE WHEN account.taken < count THEN least(
            greatest(0, account.due_before + per - pace * (count - account.taken)),
            account.start + per
        ) END
    ) - at)
$$;

CREATE FUNCTION policy.take_rate(
    client bytea, count bigint, per bigint, wanted bigint,
    OUT granted bigint, OUT remaining bigint, OUT wait bigint, OUT at bigint
) LANGUAGE plpgsql AS $$
DECLARE
    account policy.rates;
    pace bigint := (per + count - 1) / count;
    still_counted bigint;
    free bigint;
BEGIN
    INSERT INTO policy.rates VALUES (client, 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING;
    SELECT * INTO account FROM policy.rates WHERE key = client FOR UPDATE;
    -- After the lock, so that times of one client never go back.
    at := policy.micros();
    -- The clock of the server may be set back.
    IF account.free_at <= at OR account.start > at THEN
        account := ROW(client, at, 0, 0, 0, 0, 0);
    ELSIF at >= account.start + per THEN
        account := ROW(client, at, account.due, account.due, account.free_at, 0, account.taken);
    END IF;
    still_counted := CASE WHEN account.due_before + per > at
        THEN least((account.due_before + per - at - 1) / pace, account.taken_before)
        ELSE 0
    END;
    free := greatest(count - account.taken - still_counted, 0);
    -- One that is due is granted, also where the count is used up.
    granted := CASE WHEN free = 0 AND account.due > at THEN 0
        ELSE greatest(least(wanted, free), 1) END;
    remaining := greatest(free - granted, 0);
    IF granted > 0 THEN
        account.taken := account.taken + granted;
        account.due := greatest(account.due, at) + pace * granted;
        account.free_at := greatest(account.free_at, at + per);
    END IF;
    UPDATE policy.rates SET start = account.start, due = account.due,
        due_before = account.due_before, free_at = account.free_at, taken = account.taken,
        taken_before = account.taken_before
    WHERE key = client;
    -- The wait for the next one after all that remain.
    account.taken := account.taken + remaining;
    account.due := account.due + pace * remaining;
    wait := policy.time_to_wait(account, count, per, pace, at);
END $$;

CREATE FUNCTION policy.lease_permits(
    name bytea, most bigint, holder bytea, wish bigint, lifetime bigint
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    at bigint;
    granted bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(
        hashtextextended(encode(name, 'hex'), 'policy.permits'::regclass::oid::bigint)
    );
    at := policy.micros();
    -- A lease that ends later than one that begins now: the clock of the server was set back.
    DELETE FROM policy.permits
    WHERE key = name AND (instance = holder OR ends <= at OR ends > at + 2 * lifetime);
    SELECT least(wish, greatest(0, most - coalesce(sum(held), 0))) INTO granted
    FROM policy.permits WHERE key = name;
    IF granted > 0 THEN
        INSERT INTO policy.permits VALUES (name, holder, granted, at + lifetime);
    END IF;
    RETURN granted;
END $$;

CREATE FUNCTION policy.purge_limits(most bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    purged bigint;
BEGIN
    IF NOT pg_try_advisory_xact_lock(
        hashtextextended('purge', 'policy.rates'::regclass::oid::bigint)
    ) THEN
        RETURN 0;
    END IF;
    DELETE FROM policy.rates WHERE key IN (
        SELECT key FROM policy.rates WHERE free_at <= policy.micros()
        LIMIT most FOR UPDATE SKIP LOCKED
    );
    GET DIAGNOSTICS purged = ROW_COUNT;
    RETURN purged;
END $$;

UPDATE policy.meta SET version = 2;
