-- Durable queues and what is declared of them. Times are in ms.
CREATE TABLE queues (
  queue_id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  -- Grows with every change that the queue's objects must hear of.
  version INTEGER NOT NULL,
  delivery_delay INTEGER NOT NULL,
  delivery_paused INTEGER NOT NULL,
  retention INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  -- The last purge; NULL = there was none.
  purge_started_at INTEGER,
  purge_completed INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE consumers (
  consumer_id TEXT PRIMARY KEY,
  queue_id TEXT NOT NULL REFERENCES queues ON DELETE CASCADE,
  name TEXT NOT NULL,
  dead_letter_queue TEXT REFERENCES queues,
  -- Its type and everything else that it is configured with, as JSON.
  config TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  -- The Worker whose manifest declared it; NULL = it was declared by itself.
  declared_by TEXT,
  UNIQUE (queue_id, name)
) WITHOUT ROWID;
CREATE INDEX consumers_by_dead_letter_queue ON consumers (dead_letter_queue);

-- Who sends to which queue, as manifests say.
CREATE TABLE producers (
  worker TEXT NOT NULL,
  binding TEXT NOT NULL,
  queue_id TEXT NOT NULL REFERENCES queues ON DELETE CASCADE,
  PRIMARY KEY (worker, binding)
) WITHOUT ROWID;
CREATE INDEX producers_by_queue ON producers (queue_id);

-- Every object of a queue, and the last version that it has confirmed.
CREATE TABLE partitions (
  queue_id TEXT NOT NULL REFERENCES queues ON DELETE CASCADE,
  partition TEXT NOT NULL,
  heard INTEGER NOT NULL,
  tries INTEGER NOT NULL DEFAULT 0,
  retry_at INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (queue_id, partition)
) WITHOUT ROWID;

-- Objects of deleted queues that have not confirmed yet that they are empty.
CREATE TABLE destroyed_partitions (
  queue_id TEXT NOT NULL,
  partition TEXT NOT NULL,
  tries INTEGER NOT NULL DEFAULT 0,
  retry_at INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (queue_id, partition)
) WITHOUT ROWID;

-- Where the messages of Cloudflare Queues go.
CREATE TABLE bridges (
  source TEXT PRIMARY KEY,
  -- One of the two is NULL: a durable queue is named by its id, an ephemeral one by its name.
  queue_id TEXT REFERENCES queues,
  ephemeral_queue TEXT,
  partition TEXT,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX bridges_by_queue ON bridges (queue_id);
