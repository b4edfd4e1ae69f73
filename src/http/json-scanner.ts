/** Text that is not JSON, and where it stops being so. */
export class JsonSyntaxProblem extends Error {
  override name = "JsonSyntaxProblem";
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Walks JSON text without building values, so that a payload's exact text can be cut out and hostile nesting costs a bit
 * a level instead of an object a level. It accepts what `JSON.parse` accepts, and nothing else.
 */
export class JsonScanner {
  at = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  fail(what: string): never {
    const found = this.at < this.#text.length ? JSON.stringify(this.#text.charAt(this.at)) : "the end";
    throw new JsonSyntaxProblem(`${what} at character ${this.at}, found ${found}`);
  }

  /** Skips white space and answers the next character's code, NaN at the end. */
  peek(): number {
    const text = this.#text;
    for (;;) {
      const code = text.charCodeAt(this.at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code;
      this.at++;
    }
  }

  /** Takes one character of punctuation if it comes next. */
  take(char: string): boolean {
    if (this.peek() !== char.charCodeAt(0)) return false;
    this.at++;
    return true;
  }

  expect(char: string): void {
    if (!this.take(char)) this.fail(`expected ${JSON.stringify(char)}`);
  }

  /** Nothing but white space may follow. */
  end(): void {
    if (!Number.isNaN(this.peek())) this.fail("expected the end");
  }

  /** The members of an object: calls `member` with each key, which must consume the value. */
  object(member: (key: string) => void): void {
    this.expect("{");
    if (this.take("}")) return;
    do {
      member(this.#key());
    } while (this.take(","));
    this.expect("}");
  }

  /** The elements of an array: calls `element` at each, which must consume it. */
  array(element: (index: number) => void): void {
    this.expect("[");
    if (this.take("]")) return;
    let index = 0;
    do {
      element(index++);
    } while (this.take(","));
    this.expect("]");
  }

  #key(): string {
    if (this.peek() !== QUOTE) this.fail("expected a key");
    const from = this.at;
    this.#string();
    const key = this.#text.slice(from + 1, this.at - 1);
    if (!key.includes("\\")) {
      this.expect(":");
      return key;
    }
    const unescaped = JSON.parse(this.#text.slice(from, this.at)) as string;
    this.expect(":");
    return unescaped;
  }

  /** Consumes one value of any depth and answers its exact text, without the white space around it. */
  value(): string {
    this.peek();
    const from = this.at;
    this.skip();
    return this.#text.slice(from, this.at);
  }

  /** Consumes one value. Without recursion: nesting must not exhaust the stack. */
  skip(maxDepth = Infinity): void {
    const nesting = new Nesting();
    for (;;) {
      const code = this.peek();
      if (code === 0x7b || code === 0x5b) {
        const isObject = code === 0x7b;
        this.at++;
        if (!this.take(isObject ? "}" : "]")) {
          if (nesting.depth >= maxDepth) this.fail(`expected at most ${maxDepth} levels of nesting`);
          nesting.push(isObject);
          if (isObject) this.#skipKey();
          continue;
        }
      } else {
        this.#scalar(code);
      }
      // A value is complete: close what ends with it, or go on to the next one beside it.
      for (;;) {
        if (nesting.depth === 0) return;
        if (this.take(",")) {
          if (nesting.isObject) this.#skipKey();
          break;
        }
        this.expect(nesting.isObject ? "}" : "]");
        nesting.pop();
      }
    }
  }

  #skipKey(): void {
    if (this.peek() !== QUOTE) this.fail("expected a key");
    this.#string();
    this.expect(":");
  }

  #scalar(code: number): void {
    if (code === QUOTE) this.#string();
    else if (code === 0x74) this.#word("true");
    else if (code === 0x66) this.#word("false");
    else if (code === 0x6e) this.#word("null");
    else this.#number();
  }

  #word(word: string): void {
    if (!this.#text.startsWith(word, this.at)) this.fail("expected a value");
    this.at += word.length;
  }

  #string(): void {
    const text = this.#text;
    let at = this.at + 1;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) break;
      if (code === BACKSLASH) {
        const escaped = text.charCodeAt(++at);
        if (escaped === 0x75) {
          for (let digit = 0; digit < 4; digit++)
            if (!isHex(text.charCodeAt(++at))) this.#failAt(at, "expected a hex digit");
        } else if (!isEscape(escaped)) {
          this.#failAt(at, "expected an escape");
        }
      } else if (!(code >= 0x20)) {
        this.#failAt(at, "expected a character of a string");
      }
      at++;
    }
    this.at = at + 1;
  }

  #failAt(at: number, what: string): never {
    this.at = at;
    this.fail(what);
  }

  #number(): void {
    const text = this.#text;
    let at = this.at;
    if (text.charCodeAt(at) === 0x2d) at++;
    const first = text.charCodeAt(at);
    if (!isDigit(first)) this.fail("expected a value");
    at++;
    if (first !== 0x30) while (isDigit(text.charCodeAt(at))) at++;
    if (text.charCodeAt(at) === 0x2e) {
      if (!isDigit(text.charCodeAt(++at))) this.#failAt(at, "expected a digit");
      while (isDigit(text.charCodeAt(at))) at++;
    }
    const exponent = text.charCodeAt(at);
    if (exponent === 0x65 || exponent === 0x45) {
      const sign = text.charCodeAt(++at);
      if (sign === 0x2b || sign === 0x2d) at++;
      if (!isDigit(text.charCodeAt(at))) this.#failAt(at, "expected a digit");
      while (isDigit(text.charCodeAt(at))) at++;
    }
    this.at = at;
  }
}

/** Which of the open brackets are braces, one bit each. */
class Nesting {
  depth = 0;
  isObject = false;
  #bits = new Uint8Array(16);

  push(isObject: boolean): void {
    const byte = this.depth >> 3;
    if (byte >= this.#bits.length) {
      const grown = new Uint8Array(this.#bits.length * 2);
      grown.set(this.#bits);
      this.#bits = grown;
    }
    const bit = 1 << (this.depth & 7);
    const before = this.#bits[byte] as number;
    this.#bits[byte] = isObject ? before | bit : before & ~bit;
    this.depth++;
    this.isObject = isObject;
  }

  pop(): void {
    this.depth--;
    const outer = this.depth - 1;
    this.isObject = outer >= 0 && ((this.#bits[outer >> 3] as number) & (1 << (outer & 7))) !== 0;
  }
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isHex(code: number): boolean {
  return isDigit(code) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66);
}

function isEscape(code: number): boolean {
  // " \ / b f n r t
  return (
    code === QUOTE ||
    code === BACKSLASH ||
    code === 0x2f ||
    code === 0x62 ||
    code === 0x66 ||
    code === 0x6e ||
    code === 0x72 ||
    code === 0x74
  );
}
