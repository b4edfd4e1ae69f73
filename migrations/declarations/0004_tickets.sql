-- Tickets that were not used yet, with the claims of the tokens that they were bought with, as JSON. Times are in ms.
CREATE TABLE tickets (
  ticket TEXT PRIMARY KEY,
  bearer TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX tickets_by_expiry ON tickets (expires_at);
