-- Version 4. Named values that instances share, such as lists of origins.
CREATE TABLE policy.shared_values (
    name text PRIMARY KEY,
    version bigint NOT NULL,
    value bytea NOT NULL
);

-- Whether the present version was the expected one, 0 if there is none.
CREATE FUNCTION policy.set_value(of_name text, expected bigint, new_value bytea) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    is_stored boolean;
BEGIN
    IF expected = 0 THEN
        INSERT INTO policy.shared_values VALUES (of_name, 1, new_value) ON CONFLICT DO NOTHING;
    ELSE
        UPDATE policy.shared_values SET version = expected + 1, value = new_value
        WHERE name = of_name AND version = expected;
    END IF;
    is_stored := FOUND;
    IF is_stored THEN PERFORM policy.tell('v' || of_name); END IF;
    RETURN is_stored;
END $$;

UPDATE policy.meta SET version = 4;
