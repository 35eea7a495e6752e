import { isDeepStrictEqual } from 'node:util';
import { UserError } from '@sheaf/gateway';
import type { Setup } from './artefact.js';

/** Complete input of an arm's program, by the names of the settings */
export type CompleteSettings = Readonly<Record<string, unknown>>;

/**
 * Checks that the arms of a comparison differ in nothing but what they declare. @throws UserError that names the
 * settings
 */
export function checkDeclaredDifferences(
  artefact: string,
  { arms, baseline }: Setup,
  settingsOf: (arm: string) => CompleteSettings,
): void {
  const base = settingsOf(baseline);
  for (const [name, { differs }] of Object.entries(arms)) {
    const settings = settingsOf(name);
    const hidden = [...new Set([...Object.keys(base), ...Object.keys(settings)])].filter(
      (key) => !differs.includes(key) && !isDeepStrictEqual(base[key], settings[key]),
    );
    if (hidden.length === 0) continue;
    const differences = hidden.map((key) => `${key} (${show(settings[key])} instead of ${show(base[key])})`);
    throw new UserError(
      'BENCH_FAILED',
      `${artefact}: arm '${name}' differs from '${baseline}' in ${differences.join(', ')}`,
      {
        hint: 'make the settings equal, or list them under `differs` of the arm',
      },
    );
  }
}

const show = (value: unknown): string => JSON.stringify(value) ?? 'nothing';
