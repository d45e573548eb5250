-- Version 10. A cut-off of everyone raises one number, however many families there are: those that began before it
-- have ended, and a purge removes them when they would have expired. Instances of a release that knows version 9
-- begin no families, since they write rows by all of their columns.
ALTER TABLE policy.meta ADD COLUMN family_cut bigint NOT NULL DEFAULT 0;
-- The newest revocation that the login knew.
ALTER TABLE policy.families ADD COLUMN began bigint NOT NULL DEFAULT 0;

CREATE OR REPLACE FUNCTION policy.create_family(
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
    family.began := began;
    UPDATE policy.families SET is_ended = true WHERE id IN (
        SELECT f.id FROM policy.families f, policy.meta m
        WHERE f.user_id = family.user_id AND NOT f.is_ended AND f.began >= m.family_cut
        ORDER BY f.authenticated DESC, f.id DESC OFFSET most - 1
    );
    INSERT INTO policy.families SELECT (family).*;
    INSERT INTO policy.refresh_tokens VALUES (token, family.id);
    RETURN true;
END $$;

-- Locks the family of a token.
CREATE OR REPLACE FUNCTION policy.family_of(token bytea) RETURNS policy.families LANGUAGE plpgsql AS $$
DECLARE
    family policy.families;
BEGIN
    SELECT f.* INTO family FROM policy.refresh_tokens t JOIN policy.families f ON f.id = t.family
    WHERE t.hash = token FOR UPDATE OF f;
    family.is_ended := family.is_ended OR family.began < (SELECT family_cut FROM policy.meta);
    RETURN family;
END $$;

-- The family as it was.
CREATE OR REPLACE FUNCTION policy.end_family(token bytea) RETURNS policy.families LANGUAGE plpgsql AS $$
DECLARE
    family policy.families := policy.family_of(token);
BEGIN
    UPDATE policy.families SET is_ended = true WHERE id = family.id AND NOT family.is_ended;
    IF NOT FOUND THEN RETURN NULL; END IF;
    RETURN family;
END $$;

CREATE OR REPLACE FUNCTION policy.revoke(
    new_kind text, new_subject text, of_user text, new_value bigint,
    OUT place bigint, OUT earlier bigint, OUT ended bytea[]
) LANGUAGE plpgsql AS $$
BEGIN
    ended := '{}';
    IF new_kind IN ('user', 'session') THEN
        PERFORM policy.lock_users('policy.families', of_user, NULL);
        WITH gone AS (
            UPDATE policy.families SET is_ended = true
            WHERE user_id = of_user AND NOT is_ended AND began >= (SELECT family_cut FROM policy.meta)
                AND (new_kind = 'user' OR encode(session, 'hex') = new_subject)
            RETURNING id
        )
        SELECT coalesce(array_agg(id), '{}') INTO ended FROM gone;
    ELSIF new_kind = 'everyone' THEN
        PERFORM policy.lock_everyone('policy.families');
    END IF;
    UPDATE policy.numbers SET revocation = revocation + 1 RETURNING revocation INTO place;
    IF new_kind = 'everyone' THEN
        UPDATE policy.meta SET family_cut = place;
    END IF;
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

UPDATE policy.meta SET version = 10;
