-- Version 3. For a moment, sessions have one handle while instances move a session to this store.
CREATE OR REPLACE FUNCTION policy.delete_by_handle(of_user text, by_handle bytea) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    were_live boolean[];
BEGIN
    -- So that no rotation gives it another key meanwhile.
    PERFORM policy.lock_users('policy.sessions', of_user, NULL);
    WITH gone AS (
        DELETE FROM policy.sessions s WHERE user_id = of_user AND handle = by_handle
        RETURNING policy.is_live(s, 0) AS was_live
    )
    SELECT array_agg(was_live) INTO were_live FROM gone;
    IF were_live IS NULL THEN RETURN false; END IF;
    PERFORM policy.tell('s' || encode(by_handle, 'hex'));
    RETURN true = ANY (were_live);
END $$;

UPDATE policy.meta SET version = 3;
