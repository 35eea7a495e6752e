import type { Own } from '../../process/owned_programs.js';
import type { Lan } from './lan.js';
import type { Plan } from './plans.js';

/** What a transfer needs */
export interface TransferSetup {
  lan: Lan;
  plan: Plan;
  /** Path of the file that is sent */
  file: string;
  /** Path that each receiver writes the file to. Each of them is in a directory of its own. */
  copies: readonly string[];
  own: Own;
}

/** Running programs of a sender and of receivers that wait for its file */
export interface Transfer {
  /** Sends. Resolves once every receiver says that it has the whole file, with the seconds that this took. @throws UserError */
  send(): Promise<number>;
  /** Processor time so far, in seconds */
  source(): number;
  receivers(): number;
}

/** Prepares a sender and its receivers. @throws UserError */
export type Open = (setup: TransferSetup) => Promise<Transfer>;

/** Receiver `index` is on this host: they are spread over all of them. */
export const hostOf = <Value>(hosts: readonly Value[], index: number): Value => hosts[index % hosts.length]!;

export const secondsSince = (begun: number): number => (performance.now() - begun) / 1000;
