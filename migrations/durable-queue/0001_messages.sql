-- One partition of a durable queue. Messages that were sent together are stored together.

-- Messages in the order of their first delivery. A row holds `count` messages, numbered from `seq` on.
CREATE TABLE log (
  seq INTEGER PRIMARY KEY,
  count INTEGER NOT NULL,
  -- Bytes of all bodies ever logged before this row: two of them tell how much lies between.
  bytes_before INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  ready_at INTEGER NOT NULL,
  sent_at INTEGER NOT NULL,
  -- The cursor that was handed the whole row in the turn of its insert; null = nobody.
  handed_to INTEGER,
  -- Ids, content types and lengths, as JSON.
  head TEXT NOT NULL,
  bodies BLOB NOT NULL
);

-- Messages that were sent with a delay and are not due yet.
CREATE TABLE delayed (
  due INTEGER NOT NULL,
  number INTEGER NOT NULL,
  count INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  sent_at INTEGER NOT NULL,
  head TEXT NOT NULL,
  bodies BLOB NOT NULL,
  PRIMARY KEY (due, number)
) WITHOUT ROWID;

-- Messages of the log that a cursor has passed and not settled: they wait to be delivered again, are leased to a pull
-- client until they are due, or were given up and are on their way to the dead-letter queue.
CREATE TABLE pending (
  seq INTEGER NOT NULL,
  cursor INTEGER NOT NULL,
  -- Deliveries so far.
  attempts INTEGER NOT NULL,
  -- In ms; for a dead letter its place in the line, beyond any time.
  due INTEGER NOT NULL,
  -- 0 = waits, 1 = leased, 2 = dead.
  kind INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  -- Why a dead letter was given up.
  error TEXT,
  PRIMARY KEY (seq, cursor)
) WITHOUT ROWID;

CREATE INDEX pending_due ON pending (cursor, due, seq);

-- Messages of the log that were purged one by one, until their row goes.
CREATE TABLE holes (
  seq INTEGER PRIMARY KEY,
  bytes INTEGER NOT NULL
);

-- The last dead letter that arrived from each source.
CREATE TABLE sources (
  source TEXT PRIMARY KEY,
  number INTEGER NOT NULL
) WITHOUT ROWID;

-- Where every cursor stands, and totals; one row, as JSON.
CREATE TABLE state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  json TEXT NOT NULL
);

-- What Declarations said last; one row, as JSON.
CREATE TABLE config (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  json TEXT NOT NULL
);
