/** What goes over the wire for a message of one partition: the text around what changes from one to the next is made once. */
export class WireText {
  readonly #beforeSeq: string;
  readonly #afterSeq: string;
  /** What follows the number of a first delivery, which most are. */
  readonly #first: string;

  constructor(incarnation: string, partition: string) {
    const id = JSON.stringify(`e:${incarnation}:${partition}:`);
    this.#beforeSeq = `{"id":${id.slice(0, -1)}`;
    this.#afterSeq = `","partition":${JSON.stringify(partition)},"attempts":`;
    this.#first = this.#upToPayload(1);
  }

  /** A delivery as the JSON text of an answer's item. */
  item(seq: number, attempts: number, payload: string): string {
    const middle = attempts === 1 ? this.#first : this.#upToPayload(attempts);
    return `${this.#beforeSeq}${seq}${middle}${payload}}`;
  }

  #upToPayload(attempts: number): string {
    return `${this.#afterSeq}${attempts},"payload":`;
  }
}
