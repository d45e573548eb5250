-- Version 9. A user may have a tenant. Instances of a release that knows version 8 still load sessions, but begin
-- and renew none, since they write rows by all of their columns.
ALTER TABLE policy.sessions ADD COLUMN tenant text;
ALTER TABLE policy.families ADD COLUMN tenant text;
ALTER TABLE policy.tickets ADD COLUMN tenant text;

-- The tenant is one of the rights, and the call that it adds to locks the user.
CREATE FUNCTION policy.revoke_user(
    of_user text, keep bytea, new_roles text[], new_scopes text[], new_tenant text, clock bigint,
    known bigint, with_mark bigint,
    OUT sessions bigint, OUT before bigint, OUT number bigint, OUT mark bigint
) LANGUAGE plpgsql AS $$
BEGIN
    SELECT * INTO sessions, before, number, mark
    FROM policy.revoke_user(of_user, keep, new_roles, new_scopes, clock, known, with_mark);
    IF new_roles IS NOT NULL THEN
        UPDATE policy.sessions SET tenant = new_tenant
        WHERE user_id = of_user AND tenant IS DISTINCT FROM new_tenant;
    END IF;
END $$;

UPDATE policy.meta SET version = 9;
