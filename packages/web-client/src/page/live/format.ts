interface Unit {
  readonly name: string;
  readonly bytes: number;
  readonly digits: number;
}

/** Formats bytes in the unit that reads best. */
export function formatBytes(bytes: number): string {
  const unit = unitOf(bytes);
  return `${inUnit(bytes, unit)} ${unit.name}`;
}

/** Formats a part of the bytes and the total, both in the unit that reads best for the total. */
export function formatShare(bytes: number, all: number): string {
  const unit = unitOf(all);
  return `${inUnit(bytes, unit)} of ${inUnit(all, unit)} ${unit.name}`;
}

function unitOf(bytes: number): Unit {
  if (bytes < 1024) return { name: 'B', bytes: 1, digits: 0 };
  if (bytes < 1024 ** 2) return { name: 'KB', bytes: 1024, digits: 1 };
  return { name: 'MB', bytes: 1024 ** 2, digits: 2 };
}

const inUnit = (bytes: number, unit: Unit): string => (bytes / unit.bytes).toFixed(unit.digits);

/** Formats a number with about three digits, without a unit. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (value >= 100) return value.toFixed(0);
  return value.toFixed(value >= 10 ? 1 : 2);
}

/** Returns the median; NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
