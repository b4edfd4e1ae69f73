-- Rows that left the log or the delayed messages while an eject still needed them. Emptied at every start.
CREATE TABLE kept (
  -- Which eject, counted since the start.
  moment INTEGER NOT NULL,
  -- 0 = a row of the log; otherwise when a delayed row was due.
  due INTEGER NOT NULL,
  -- The first message's number in the log, or the number of the delayed row.
  number INTEGER NOT NULL,
  head TEXT NOT NULL,
  bodies BLOB NOT NULL,
  PRIMARY KEY (moment, due, number)
) WITHOUT ROWID;
