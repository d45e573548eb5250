CREATE TABLE teams (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL
);

-- People and machines. Who leaves stays as `former`, since tasks name their author.
CREATE TABLE members (
    id TEXT PRIMARY KEY,
    team TEXT NOT NULL REFERENCES teams (id),
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('lead', 'member', 'machine', 'former')),
    -- Of people only.
    login TEXT UNIQUE,
    password TEXT,
    -- Of machines only.
    scopes TEXT,
    author TEXT REFERENCES members (id),
    created BIGINT NOT NULL
);

CREATE INDEX members_of_team ON members (team);

-- The digest of a code, not the code.
CREATE TABLE invitations (
    digest TEXT PRIMARY KEY,
    team TEXT NOT NULL REFERENCES teams (id),
    role TEXT NOT NULL CHECK (role IN ('lead', 'member')),
    author TEXT NOT NULL REFERENCES members (id),
    expires BIGINT NOT NULL,
    used BIGINT
);

CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    team TEXT NOT NULL REFERENCES teams (id),
    title TEXT NOT NULL,
    note TEXT NOT NULL,
    done BIGINT NOT NULL DEFAULT 0,
    assignee TEXT REFERENCES members (id),
    author TEXT NOT NULL REFERENCES members (id),
    created BIGINT NOT NULL,
    version BIGINT NOT NULL DEFAULT 1
);

CREATE INDEX tasks_of_team ON tasks (team, created, id);

CREATE TABLE attachments (
    id TEXT PRIMARY KEY,
    task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    size BIGINT NOT NULL,
    content BLOB NOT NULL,
    author TEXT NOT NULL REFERENCES members (id),
    created BIGINT NOT NULL
);

CREATE INDEX attachments_of_task ON attachments (task);
