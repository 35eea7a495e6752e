/** How often tests repeat what has to go well each time. Runs of release candidates choose more. */
const numberOf = (name: string, standard: number): number => Number(process.env[name] ?? standard);

export const reloads = numberOf('RELOADS', 12);
export const upgrades = numberOf('UPGRADES', 3);
/** Seeds of crashes of workers, from 1 */
export const seeds = Array.from({ length: numberOf('SEEDS', 3) }, (_, index) => index + 1);

export const inMegabytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);
