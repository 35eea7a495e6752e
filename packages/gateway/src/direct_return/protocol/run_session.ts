/**
 * Returns how both nodes name one session for runs, which lives as long as their connection.
 *
 * @param session random id of the connection
 * @param run random id of this process
 */
export function runSession(session: Buffer, run: Buffer): { session: number; process: Buffer } {
  return { session: session.readUInt32BE(0), process: processOf(run) };
}

/** Returns what names a process, from its random id. */
export const processOf = (run: Buffer): Buffer => run.subarray(0, 8);
