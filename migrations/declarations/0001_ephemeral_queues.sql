-- Declared ephemeral queues: what `configure` stored, as JSON.
CREATE TABLE ephemeral_queues (
  queue TEXT PRIMARY KEY,
  options TEXT NOT NULL
) WITHOUT ROWID;
