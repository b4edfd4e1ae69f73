const kept: object[] = [];

/**
 * Keeps an object of a short-lived class alive for good. At a major collection V8 drops the machine code that it has made
 * for objects of a class of which none is alive just then, and code of functions that are made anew for each call: a
 * broker under load, which collects about once a second, would run what it runs most often in the interpreter again and
 * again. For the same reason, what is done for each message stands in methods and functions of modules, not in closures.
 */
export function keep(example: object): void {
  kept.push(example);
}
