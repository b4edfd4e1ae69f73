-- How many owners there have been, change by change. An epoch is settled when no owner holds anything that hashes elsewhere.
CREATE TABLE membership_epochs (
  epoch INTEGER PRIMARY KEY,
  owners INTEGER NOT NULL,
  settled INTEGER NOT NULL
);
