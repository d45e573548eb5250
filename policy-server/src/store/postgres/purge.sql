-- Version 5. A purge finds expired rows without reading everything: sessions in parts of the table, since an
-- index of deadlines would change with each use of a session, and rows of tokens by an index.
CREATE INDEX IF NOT EXISTS families_by_end ON policy.families (expires);
CREATE INDEX IF NOT EXISTS ended_families ON policy.families (id) WHERE is_ended;
CREATE INDEX IF NOT EXISTS tickets_by_end ON policy.tickets (expires);
CREATE INDEX IF NOT EXISTS revocations_by_end ON policy.revocations (value)
    WHERE kind IN ('token', 'session');

-- Removes up to `most` rows from `pages` pages of the table. Returns the page at which to continue: 0 at the end,
-- null if another instance is purging.
CREATE FUNCTION policy.purge_part_of_sessions(
    clock bigint, most bigint, first_page bigint, pages bigint, OUT purged bigint, OUT next_page bigint
) LANGUAGE plpgsql AS $$
DECLARE
    behind bigint := first_page + pages;
    last_of_everyone bigint;
    removed bigint;
BEGIN
    purged := 0;
    IF NOT pg_try_advisory_xact_lock(
        hashtextextended('purge', 'policy.sessions'::regclass::oid::bigint)
    ) THEN
        RETURN;
    END IF;
    SELECT everyone INTO last_of_everyone FROM policy.meta;
    WITH gone AS (
        DELETE FROM policy.sessions WHERE key IN (
            SELECT key FROM policy.sessions
            WHERE ctid >= format('(%s,0)', first_page)::tid AND ctid < format('(%s,0)', behind)::tid
                AND CASE
                    WHEN moved_to IS NOT NULL THEN moved_until <= clock
                    ELSE idle_deadline <= clock OR absolute_deadline <= clock
                        OR user_id IS NOT NULL AND epoch < last_of_everyone
                END
            LIMIT most FOR UPDATE SKIP LOCKED
        ) RETURNING moved_to
    )
    SELECT count(*), count(*) FILTER (WHERE moved_to IS NULL) INTO removed, purged FROM gone;
    next_page := CASE
        WHEN removed >= most THEN first_page
        WHEN behind * current_setting('block_size')::bigint < pg_relation_size('policy.sessions') THEN behind
        ELSE 0
    END;
END $$;

UPDATE policy.meta SET version = 5;
