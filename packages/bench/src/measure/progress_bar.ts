const WIDTH = 20;

/** "##########.......... 119 of 238, about 4 min left", for work of equal pieces. */
export function progressBar(done: number, total: number, elapsedSeconds: number): string {
  const full = Math.round((WIDTH * done) / total);
  const left = done > 0 ? (elapsedSeconds * (total - done)) / done : 0;
  const words = left < 90 ? `${Math.round(left)} s` : `${Math.round(left / 60)} min`;
  return `${'#'.repeat(full)}${'.'.repeat(WIDTH - full)} ${done} of ${total}, about ${words} left`;
}
