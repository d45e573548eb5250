-- Version 6. A token that was used within the grace period yields the valid one, however many were used since. A
-- release that knows version 5 reads the same columns as before.
DROP FUNCTION policy.refresh(bytea, bytea, bigint, bigint, bigint);
CREATE FUNCTION policy.refresh(
    token bytea, next_token bytea, grace bigint, most bigint, clock bigint,
    OUT outcome text, OUT family policy.families, OUT steps integer
) LANGUAGE plpgsql AS $$
DECLARE
    row_of policy.refresh_tokens;
    newest bytea;
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
    IF clock - row_of.used >= grace THEN
        UPDATE policy.families SET is_ended = true WHERE id = family.id;
        outcome := 'reused';
        RETURN;
    END IF;
    newest := row_of.successor;
    -- `Refreshed::MAX_STEPS`.
    FOR step IN 1..32 LOOP
        SELECT * INTO row_of FROM policy.refresh_tokens WHERE hash = newest;
        IF row_of.successor IS NULL THEN outcome := 'again'; steps := step; RETURN; END IF;
        newest := row_of.successor;
    END LOOP;
    outcome := 'overtaken';
END $$;

UPDATE policy.meta SET version = 6;
