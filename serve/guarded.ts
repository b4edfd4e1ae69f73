import { spawn, type ChildProcess } from "node:child_process";

/**
 * The shell turns into the program itself. Beside it stays a reader of a pipe that nobody writes to and that ends with
 * whoever started all this, be it by `kill -9`; then the program is ended as well.
 */
const GUARD = `exec 4<&0
( cat <&4; kill -9 $$ ) </dev/null >/dev/null 2>&1 3>&- &
exec "$@" 4<&- </dev/null`;

/** Starts a program that does not outlive this process. Its descriptor 3 is a pipe to here. */
export function spawnGuarded(command: string, args: readonly string[]): ChildProcess {
  return spawn("sh", ["-c", GUARD, "guard", command, ...args], { stdio: ["pipe", "inherit", "inherit", "pipe"] });
}
