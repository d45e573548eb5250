-- Version 11. The end of a family and the revocation of its access tokens are one transaction. A release that knows
-- version 10 makes two calls, of the functions that these call.

-- The id of a family as its access tokens state it: base64url without padding.
CREATE OR REPLACE FUNCTION policy.name_of(family bytea) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT rtrim(translate(encode(family, 'base64'), '+/', '-_'), '=')
$$;

-- The family as it was, and the position of the revocation.
CREATE OR REPLACE FUNCTION policy.end_family(
    token bytea, needed_until bigint, known bigint, with_mark bigint,
    OUT family policy.families, OUT place bigint, OUT mark bigint
) LANGUAGE plpgsql AS $$
BEGIN
    family := policy.end_family(token);
    IF family.id IS NULL THEN RETURN; END IF;
    SELECT r.place, r.mark INTO place, mark
    FROM policy.revoke('token', policy.name_of(family.id), '', needed_until, known, with_mark) r;
END $$;

CREATE OR REPLACE FUNCTION policy.refresh(
    token bytea, next_token bytea, grace bigint, most bigint, clock bigint, needed_until bigint,
    known bigint, with_mark bigint,
    OUT outcome text, OUT family policy.families, OUT steps integer, OUT place bigint, OUT mark bigint
) LANGUAGE plpgsql AS $$
DECLARE
    done record;
BEGIN
    SELECT * INTO done FROM policy.refresh(token, next_token, grace, most, clock, known, with_mark);
    outcome := done.outcome;
    family := done.family;
    steps := done.steps;
    -- A family is dead that was live before the call: at its limit.
    IF outcome = 'reused' OR outcome = 'dead' AND NOT family.is_ended AND clock < family.expires THEN
        SELECT r.place, r.mark INTO place, mark
        FROM policy.revoke('token', policy.name_of(family.id), '', needed_until, known, with_mark) r;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION policy.revoke_with_access(
    new_kind text, new_subject text, of_user text, new_value bigint, known bigint, with_mark bigint,
    OUT place bigint, OUT earlier bigint, OUT ended bytea[], OUT mark bigint
) LANGUAGE plpgsql AS $$
BEGIN
    SELECT * INTO place, earlier, ended, mark
    FROM policy.revoke(new_kind, new_subject, of_user, new_value, known, with_mark);
    IF new_kind = 'session' THEN
        PERFORM policy.revoke('token', policy.name_of(id), '', new_value) FROM unnest(ended) AS id;
    END IF;
END $$;

UPDATE policy.meta SET version = 11;
