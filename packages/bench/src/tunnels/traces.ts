import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { nativeSources } from '../process/workspace.js';

/** The links of TECC (NSDI 2024), by the names of their files */
export const TRACES = [
  'cellular_driving',
  'cellular_outdoor',
  'cellular_home',
  'cellular_subway',
  'wifi_office',
] as const;
export type TraceName = (typeof TRACES)[number];

export const tracesFolder = 'fixtures/traces';

/** Seconds that a row stands for */
const step = 0.2;
const packetBits = 1500 * 8;

/** Returns the rates of a trace in Mbit/s, one for each 0.2 s. */
export async function readRates(name: TraceName): Promise<number[]> {
  const text = await readFile(join(nativeSources(), '..', '..', tracesFolder, `${name}.csv`), 'utf8');
  // The first row stands for no time.
  return text
    .trim()
    .split('\n')
    .slice(2)
    .map((line) => Number(line.split(',')[1]));
}

export const meanRate = (rates: readonly number[]): number =>
  rates.reduce((sum, rate) => sum + rate, 0) / Math.max(1, rates.length);

/** Converts rates to lines of milliseconds in each of which a packet may leave: mahimahi's format. */
export function toOpportunities(rates: readonly number[]): string {
  const lines: number[] = [];
  let packets = 0;
  let sent = 0;
  rates.forEach((rate, row) => {
    const before = packets;
    packets += (rate * 1e6 * step) / packetBits;
    for (; sent + 1 <= packets; sent += 1) {
      const share = (sent + 1 - before) / (packets - before);
      lines.push(Math.max(1, Math.round((row + share) * step * 1000)));
    }
  });
  return `${lines.join('\n')}\n`;
}
