import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

/** Where the command writes. A reader that has seen enough, such as `head`, ends it without a complaint. */
export class Output {
  readonly isJson: boolean;
  readonly #stdout: NodeJS.WriteStream;
  readonly #stderr: NodeJS.WriteStream;

  constructor(isJson: boolean, stdout = process.stdout, stderr = process.stderr) {
    this.isJson = isJson;
    this.#stdout = stdout;
    this.#stderr = stderr;
  }

  /** Writes a result, and waits where the reader is slower. */
  async line(text: string): Promise<void> {
    if (this.#stdout.write(`${text}\n`)) return;
    await new Promise<void>((resolve) => this.#stdout.once("drain", resolve));
  }

  /** Resolves once everything that was written has left this process. */
  async flush(): Promise<void> {
    await new Promise<void>((resolve) => this.#stdout.write("", () => resolve()));
  }

  /** Writes what is about the result and not part of it. */
  note(text: string): void {
    this.#stderr.write(`${text}\n`);
  }

  /** Overwrites one line on a terminal; elsewhere progress is not shown. */
  progress(text: string): void {
    if (this.#stderr.isTTY) this.#stderr.write(`\r\x1b[2K${text}`);
  }

  endProgress(): void {
    this.progress("");
  }

  style(style: Style, text: string): string {
    return styled(this.#stdout, style, text);
  }

  errorStyle(style: Style, text: string): string {
    return styled(this.#stderr, style, text);
  }
}

/** Coloured for who sees it: not in a pipe, and not under `NO_COLOR`, which `hasColors` asks for. */
function styled(stream: NodeJS.WriteStream, style: Style, text: string): string {
  return stream.isTTY && stream.hasColors() ? styleText(style, text) : text;
}

/** A pipe that nobody reads any more is no failure of the command, which learns of it from its next write. */
export function endQuietlyWithReader(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
}
