/** How a response of a backend travelled, as the gateway or the backend says in `Server-Timing` */
export interface Delivery {
  readonly way: 'path' | 'return' | 'proxy';
  readonly backend: string;
  /** Why no earlier way was taken */
  readonly reason?: string;
}

const entry = /(?:^|,)\s*sheaf-delivery;desc="(path|return|proxy) ([^":]+)(?:: ([a-z-]+))?"/;

/** Reads the value of the header; undefined when it says nothing of it. */
export function deliveryOf(header: string | null): Delivery | undefined {
  const [, way, backend, reason] = entry.exec(header ?? '') ?? [];
  if (way === undefined || backend === undefined) return undefined;
  return { way: way as Delivery['way'], backend, ...(reason === undefined ? {} : { reason }) };
}

/** Counts in which ways the responses of each backend travelled. */
export class Ways {
  private readonly counts = new Map<string, Map<string, number>>();

  add({ way, backend, reason }: Delivery): void {
    const text = reason === undefined ? way : `${way} (${reason})`;
    const counts = this.counts.get(backend) ?? new Map<string, number>();
    this.counts.set(backend, counts.set(text, (counts.get(text) ?? 0) + 1));
  }

  /** Returns the counts of a backend in words, the greatest first. */
  textOf(backend: string): string {
    return [...(this.counts.get(backend) ?? [])]
      .sort(([, left], [, right]) => right - left)
      .map(([text, count]) => `${count} by ${text}`)
      .join(', ');
  }
}
