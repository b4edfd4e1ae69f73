import { keep } from "../kept.ts";

/** Text that is not JSON, and where it stops being so. */
export class JsonSyntaxProblem extends Error {
  override name = "JsonSyntaxProblem";
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Runs of text are left to the regular expression engine, which is several times as fast as a loop over characters. */
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const WORD = /true|false|null/y;

/**
 * An object as most payloads are: a few plain members with no white space between them. It is left to the engine as a whole,
 * twice as fast as its parts. No token can be read in two ways, so that a text that turns out to be something else is known
 * to be after one look back at each of its characters.
 */
const FLAT = flatObject(`"${PLAIN.source}"`, `${NUMBER.source}|${WORD.source}`, 32);

function flatObject(string: string, others: string, maxMembers: number): RegExp {
  const member = `${string}:(?:${string}|${others})`;
  return new RegExp(`\\{${member}(?:,${member}){0,${maxMembers - 1}}\\}`, "y");
}

/** Where a match of a sticky expression at `at` ends; -1 when there is none. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/**
 * Walks JSON text without building values, so that a payload's exact text can be cut out and hostile nesting costs a bit
 * a level instead of an object a level. It accepts what `JSON.parse` accepts, and nothing else.
 */
export class JsonScanner {
  at = 0;
  readonly #text: string;
  readonly #nesting = new Nesting();

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
    let code = text.charCodeAt(this.at);
    while (isSpace(code)) code = text.charCodeAt(++this.at);
    return code;
  }

  /** Nothing but white space may follow. */
  end(): void {
    if (!Number.isNaN(this.peek())) this.fail("expected the end");
  }

  /** Opens an object and answers its first key, or null when it has none. The key's value must be consumed before {@link nextKey}. */
  firstKey(): string | null {
    this.#expect(OPEN_BRACE);
    return this.#take(CLOSE_BRACE) ? null : this.#key();
  }

  /** The key of the object's next member; null once it is closed. */
  nextKey(): string | null {
    if (this.#take(COMMA)) return this.#key();
    this.#expect(CLOSE_BRACE);
    return null;
  }

  /** Opens an array and answers whether an element follows, which must be consumed before {@link nextElement}. */
  firstElement(): boolean {
    this.#expect(OPEN_BRACKET);
    return !this.#take(CLOSE_BRACKET);
  }

  /** Whether another element follows in the array; it is closed after the last one. */
  nextElement(): boolean {
    if (this.#take(COMMA)) return true;
    this.#expect(CLOSE_BRACKET);
    return false;
  }

  #take(code: number): boolean {
    if (this.peek() !== code) return false;
    this.at++;
    return true;
  }

  #expect(code: number): void {
    if (!this.#take(code)) this.fail(`expected ${JSON.stringify(String.fromCharCode(code))}`);
  }

  #key(): string {
    if (this.peek() !== QUOTE) this.fail("expected a key");
    const from = this.at;
    this.#string();
    const key = this.#text.slice(from + 1, this.at - 1);
    const plain = key.includes("\\") ? (JSON.parse(this.#text.slice(from, this.at)) as string) : key;
    this.#expect(COLON);
    return plain;
  }

  /** Consumes one value of any depth and answers its exact text, without the white space around it. */
  value(maxDepth = Infinity): string {
    this.peek();
    const from = this.at;
    this.skip(maxDepth);
    return this.#text.slice(from, this.at);
  }

  /** Consumes one value. Without recursion: nesting must not exhaust the stack. */
  skip(maxDepth = Infinity): void {
    const nesting = this.#nesting;
    nesting.depth = 0;
    for (;;) {
      const code = this.peek();
      if (code === OPEN_BRACE || code === OPEN_BRACKET) {
        const isDeepest = nesting.depth >= maxDepth;
        const end = code === OPEN_BRACE && !isDeepest ? endOf(FLAT, this.#text, this.at) : -1;
        this.at = end >= 0 ? end : this.at + 1;
        if (end < 0 && !this.#take(code === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET)) {
          if (isDeepest) this.fail(`expected at most ${maxDepth} levels of nesting`);
          nesting.push(code === OPEN_BRACE);
          if (nesting.isObject) this.#skipKey();
          continue;
        }
      } else if (code === QUOTE) {
        this.#string();
      } else {
        const end = endOf(NUMBER, this.#text, this.at);
        this.at = end >= 0 ? end : this.#word();
      }
      if (this.#closed(nesting)) return;
    }
  }

  /** After a value: closes what ends with it, or goes on to the next one beside it. Answers whether all is closed. */
  #closed(nesting: Nesting): boolean {
    while (nesting.depth > 0) {
      if (this.#take(COMMA)) {
        if (nesting.isObject) this.#skipKey();
        return false;
      }
      this.#expect(nesting.isObject ? CLOSE_BRACE : CLOSE_BRACKET);
      nesting.pop();
    }
    return true;
  }

  #skipKey(): void {
    if (this.peek() !== QUOTE) this.fail("expected a key");
    this.#string();
    this.#expect(COLON);
  }

  #word(): number {
    const end = endOf(WORD, this.#text, this.at);
    if (end < 0) this.fail("expected a value");
    return end;
  }

  #string(): void {
    const text = this.#text;
    let at = this.at + 1;
    for (;;) {
      at = endOf(PLAIN, text, at);
      const code = text.charCodeAt(at);
      if (code === QUOTE) break;
      const escaped = code === BACKSLASH ? endOf(ESCAPE, text, at) : -1;
      if (escaped < 0) {
        this.at = at;
        this.fail(code === BACKSLASH ? "expected an escape" : "expected a character of a string");
      }
      at = escaped;
    }
    this.at = at + 1;
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

keep(new JsonScanner(""));
