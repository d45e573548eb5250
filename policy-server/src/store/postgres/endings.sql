-- Version 8. Each process leaves a count of its own. Counts that no poll has stated for 30 days are removed, since
-- their processes are gone. A process that was suspended for longer finds none, and begins an era.
ALTER TABLE policy.marks ADD COLUMN used timestamptz;
UPDATE policy.marks SET used = now() WHERE area = 'ended';

CREATE OR REPLACE FUNCTION policy.cut_offs(
    known bigint, with_mark bigint, of_instance bigint, ended bigint, has_ended boolean,
    OUT cut_off bigint, OUT mark bigint, OUT endings bigint
) LANGUAGE plpgsql AS $$
DECLARE
    is_old boolean;
BEGIN
    SELECT m.mark, m.used < now() - interval '1 day' INTO endings, is_old FROM policy.marks m
    WHERE m.area = 'ended' AND m.number = of_instance;
    IF NOT FOUND THEN endings := 0; END IF;
    IF endings < ended THEN
        -- By a mark that the number does not have.
        PERFORM policy.begin_era('cut_off', greatest(known, 1), coalesce(with_mark, 0) # 1);
    ELSE
        PERFORM policy.begin_era('cut_off', known, with_mark);
    END IF;
    IF has_ended OR endings < ended THEN
        IF endings = 0 THEN
            DELETE FROM policy.marks m WHERE m.area = 'ended' AND m.used < now() - interval '30 days';
        END IF;
        INSERT INTO policy.marks AS m VALUES ('ended', of_instance, greatest(endings, ended) + 1, now())
        ON CONFLICT (area, number) DO UPDATE SET mark = greatest(m.mark + 1, EXCLUDED.mark), used = now()
        RETURNING m.mark INTO endings;
    ELSIF is_old THEN
        UPDATE policy.marks m SET used = now() WHERE m.area = 'ended' AND m.number = of_instance;
    END IF;
    SELECT n.cut_off INTO cut_off FROM policy.numbers n;
    mark := policy.mark_of('cut_off', cut_off);
END $$;

UPDATE policy.meta SET version = 8;
