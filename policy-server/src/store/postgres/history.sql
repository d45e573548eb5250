-- Version 7. Each number has a random mark, of which the last 100,000 are kept. An instance that states a number
-- with its mark learns whether this database has lost the number, or assigned it again, as after a restored copy
-- or a failover to a standby that lagged behind.
ALTER TABLE policy.numbers
    -- The first numbers since the last loss.
    ADD COLUMN cut_off_era bigint NOT NULL DEFAULT 0,
    ADD COLUMN revocation_era bigint NOT NULL DEFAULT 0;

CREATE TABLE policy.marks (
    area text NOT NULL,
    number bigint NOT NULL,
    mark bigint NOT NULL,
    PRIMARY KEY (area, number)
);

CREATE FUNCTION policy.mark_number(of_area text, given bigint) RETURNS void LANGUAGE sql AS $$
    INSERT INTO policy.marks VALUES (
        of_area, given, ('x' || right(replace(gen_random_uuid()::text, '-', ''), 16))::bit(64)::bigint
    );
    DELETE FROM policy.marks WHERE area = of_area AND number = given - 100000;
$$;

CREATE FUNCTION policy.mark_numbers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.cut_off > OLD.cut_off THEN PERFORM policy.mark_number('cut_off', NEW.cut_off); END IF;
    IF NEW.revocation > OLD.revocation THEN
        PERFORM policy.mark_number('revocation', NEW.revocation);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER numbers_are_marked AFTER UPDATE ON policy.numbers
    FOR EACH ROW EXECUTE FUNCTION policy.mark_numbers();

-- In PL/pgSQL, so that it sees the changes of the calling statement.
CREATE FUNCTION policy.mark_of(of_area text, given bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT mark FROM policy.marks WHERE area = of_area AND number = given);
END $$;

-- Whether this database has assigned a number, or was copied from one that has.
CREATE FUNCTION policy.gave_out(of_area text, given bigint, with_mark bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    IF with_mark IS NOT NULL THEN RETURN with_mark IS NOT DISTINCT FROM policy.mark_of(of_area, given); END IF;
    RETURN (
        SELECT CASE of_area
            WHEN 'cut_off' THEN given BETWEEN cut_off_era AND cut_off
            ELSE given BETWEEN revocation_era AND revocation
        END FROM policy.numbers
    );
END $$;

-- The number that a request knows, or -1 if this database has lost it or the newest number that its instance
-- knows: another request may have read a cut-off that was lost.
CREATE FUNCTION policy.known(
    of_area text, began bigint, with_mark bigint, by_now bigint, mark_by_now bigint
) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    IF began IS NULL OR policy.gave_out(of_area, began, with_mark)
        AND (by_now = 0 OR policy.gave_out(of_area, by_now, mark_by_now)) THEN
        RETURN began;
    END IF;
    RETURN -1;
END $$;

-- Begins an era, unless this database has the number of the instance, or noticed its loss before. All earlier
-- marks are removed, so every instance reads everything again. If numbers of revocations were lost, so were
-- revocations: earlier access tokens and tickets are revoked.
CREATE FUNCTION policy.begin_era(of_area text, given bigint, with_mark bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    last policy.numbers;
    first bigint;
BEGIN
    IF given = 0 OR policy.gave_out(of_area, given, with_mark) THEN RETURN; END IF;
    SELECT * INTO last FROM policy.numbers FOR UPDATE;
    IF of_area = 'cut_off' AND last.cut_off_era <= given THEN
        first := ((greatest(given, last.cut_off) >> 32) + 1) << 32;
        DELETE FROM policy.marks WHERE area = of_area;
        UPDATE policy.numbers SET cut_off = first, cut_off_era = first;
    ELSIF of_area = 'revocation' AND last.revocation_era <= given THEN
        first := ((greatest(given, last.revocation) >> 32) + 1) << 32;
        DELETE FROM policy.marks WHERE area = of_area;
        UPDATE policy.numbers SET revocation = first, revocation_era = first;
        INSERT INTO policy.revocations VALUES ('all', policy.digest(''), '', '', 0, first)
        ON CONFLICT (kind, subject_key) DO UPDATE SET position = first;
    ELSE
        RETURN;
    END IF;
    PERFORM policy.tell('m');
END $$;

-- `ended` is the count that the instance has left: how many of its polls came after ends of single sessions.
CREATE FUNCTION policy.cut_offs(
    known bigint, with_mark bigint, of_instance bigint, ended bigint, has_ended boolean,
    OUT cut_off bigint, OUT mark bigint, OUT endings bigint
) LANGUAGE plpgsql AS $$
BEGIN
    SELECT coalesce(max(m.mark), 0) INTO endings FROM policy.marks m
    WHERE m.area = 'ended' AND m.number = of_instance;
    IF endings < ended THEN
        -- By a mark that the number does not have.
        PERFORM policy.begin_era('cut_off', greatest(known, 1), coalesce(with_mark, 0) # 1);
    ELSE
        PERFORM policy.begin_era('cut_off', known, with_mark);
    END IF;
    IF has_ended OR endings < ended THEN
        INSERT INTO policy.marks AS m VALUES ('ended', of_instance, greatest(endings, ended) + 1)
        ON CONFLICT (area, number) DO UPDATE SET mark = greatest(m.mark + 1, EXCLUDED.mark)
        RETURNING m.mark INTO endings;
    END IF;
    SELECT n.cut_off INTO cut_off FROM policy.numbers n;
    mark := policy.mark_of('cut_off', cut_off);
END $$;

-- A number from before an era says nothing about the cut-offs before that era.
CREATE FUNCTION policy.revoke_user(
    of_user text, keep bytea, new_roles text[], new_scopes text[], clock bigint, known bigint,
    with_mark bigint, OUT sessions bigint, OUT before bigint, OUT number bigint, OUT mark bigint
) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM policy.lock_users('policy.sessions', of_user, NULL);
    PERFORM policy.begin_era('cut_off', known, with_mark);
    SELECT * INTO sessions, before, number
    FROM policy.revoke_user(of_user, keep, new_roles, new_scopes, clock);
    SELECT greatest(before, cut_off_era) INTO before FROM policy.numbers;
    mark := policy.mark_of('cut_off', number);
END $$;

CREATE FUNCTION policy.revoke_everyone(
    known bigint, with_mark bigint,
    OUT before bigint, OUT number bigint, OUT last_of_everyone bigint, OUT mark bigint
) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM policy.lock_everyone('policy.sessions');
    PERFORM policy.begin_era('cut_off', known, with_mark);
    SELECT * INTO before, number, last_of_everyone FROM policy.revoke_everyone();
    mark := policy.mark_of('cut_off', number);
END $$;

CREATE FUNCTION policy.revoke(
    new_kind text, new_subject text, of_user text, new_value bigint, known bigint, with_mark bigint,
    OUT place bigint, OUT earlier bigint, OUT ended bytea[], OUT mark bigint
) LANGUAGE plpgsql AS $$
BEGIN
    IF new_kind IN ('user', 'session') THEN
        PERFORM policy.lock_users('policy.families', of_user, NULL);
    ELSIF new_kind = 'everyone' THEN
        PERFORM policy.lock_everyone('policy.families');
    END IF;
    PERFORM policy.begin_era('revocation', known, with_mark);
    SELECT * INTO place, earlier, ended
    FROM policy.revoke(new_kind, new_subject, of_user, new_value);
    IF new_kind = 'user' THEN
        SELECT greatest(earlier, revocation_era) INTO earlier FROM policy.numbers;
    END IF;
    mark := policy.mark_of('revocation', place);
END $$;

-- The last position and its mark, with each revocation after `since`, of one snapshot.
CREATE FUNCTION policy.revocations_after(since bigint, known bigint, with_mark bigint)
RETURNS TABLE (
    revocation bigint, mark bigint, kind text, subject text, user_id text, value bigint, "position" bigint
) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM policy.begin_era('revocation', known, with_mark);
    RETURN QUERY SELECT n.revocation, m.mark, r.kind, r.subject, r.user_id, r.value, r.position
    FROM policy.numbers n
    LEFT JOIN policy.marks m ON m.area = 'revocation' AND m.number = n.revocation
    LEFT JOIN policy.revocations r ON r.position > since
    ORDER BY r.position;
END $$;

CREATE FUNCTION policy.refresh(
    token bytea, next_token bytea, grace bigint, most bigint, clock bigint, known bigint, with_mark bigint,
    OUT outcome text, OUT family policy.families, OUT steps integer
) LANGUAGE plpgsql AS $$
DECLARE
    done record;
BEGIN
    IF known <> 0 AND NOT policy.gave_out('revocation', known, with_mark) THEN
        outcome := 'lost';
        RETURN;
    END IF;
    SELECT * INTO done FROM policy.refresh(token, next_token, grace, most, clock);
    outcome := done.outcome;
    family := done.family;
    steps := done.steps;
END $$;

UPDATE policy.meta SET version = 7;
