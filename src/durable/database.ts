type Value = SqlStorageValue;

/** The SQLite of one object. Counts rows written, which are what storage costs. */
export class Database {
  readonly #sql: SqlStorage;
  rowsWritten = 0;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Runs a statement that changes something. Answers how many rows it wrote. */
  run(statement: string, ...values: Value[]): number {
    const { rowsWritten } = this.#sql.exec(statement, ...values);
    this.rowsWritten += rowsWritten;
    return rowsWritten;
  }

  /** The rows of a query, one at a time: whoever has had enough stops. Nothing may be written meanwhile. */
  rows<Row extends Record<string, Value>>(query: string, ...values: Value[]): Iterable<Row> {
    return this.#sql.exec<Row>(query, ...values);
  }

  all<Row extends Record<string, Value>>(query: string, ...values: Value[]): Row[] {
    return this.#sql.exec<Row>(query, ...values).toArray();
  }

  first<Row extends Record<string, Value>>(query: string, ...values: Value[]): Row | undefined {
    for (const row of this.#sql.exec<Row>(query, ...values)) return row;
    return undefined;
  }
}
