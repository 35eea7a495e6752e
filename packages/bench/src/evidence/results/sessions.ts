import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const sessionSchema = z.object({
  /** Load average before it, where the machine matters */
  load: z.number().optional(),
  /** Processors that other programs used on average during it, where that is known and matters */
  other_processors: z.number().optional(),
  seconds: z.number(),
});
/** A part of a measurement between two interruptions */
export type Session = z.output<typeof sessionSchema>;

/**
 * Keeps a session beside the finished parts of a measurement. Returns all of its sessions as one: the highest load, the
 * mean use by other programs, and the sum of the seconds.
 */
export async function addSession(directory: string, session: Session): Promise<Session> {
  const file = join(directory, 'sessions.jsonl');
  await mkdir(directory, { recursive: true });
  await appendFile(file, `${JSON.stringify(session)}\n`);
  const lines = (await readFile(file, 'utf8')).trim().split('\n');
  const sessions = lines.map((line) => sessionSchema.parse(JSON.parse(line)));
  const seconds = sessions.reduce((sum, part) => sum + part.seconds, 0);
  const others = sessions.flatMap((part) =>
    part.other_processors === undefined ? [] : [{ seconds: part.seconds, used: part.other_processors }],
  );
  const watched = others.reduce((sum, part) => sum + part.seconds, 0);
  const used = others.reduce((sum, part) => sum + part.used * part.seconds, 0);
  return {
    ...(session.load !== undefined && { load: Math.max(...sessions.map(({ load = 0 }) => load)) }),
    ...(watched > 0 && { other_processors: Number((used / watched).toFixed(2)) }),
    seconds,
  };
}
