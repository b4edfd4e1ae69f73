/** The Prometheus text format. */

export type MetricType = "counter" | "gauge";

/** What stands before the samples of a metric. */
export function head(name: string, help: string, type: MetricType): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}`;
}

export function sample(name: string, labels: Record<string, string>, value: number): string {
  const named = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}{${named.join(",")}} ${value}`;
}

/** No label holds a line break: names have no control characters. */
function escaped(text: string): string {
  return text.replaceAll(/["\\]/g, String.raw`\$&`);
}
