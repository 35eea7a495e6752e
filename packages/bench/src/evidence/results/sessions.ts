import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../../process/json_lines.js';

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
  // A line begins with the line feed, so that it stands apart from one that was cut off when a program was killed.
  await appendFile(file, `\n${JSON.stringify(session)}`);
  const sessions = (await readFile(file, 'utf8')).split('\n').flatMap(parseSession);
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

/** Returns the session of a line; none when the line was cut off. */
const parseSession = (line: string): Session[] => {
  const parsed = sessionSchema.safeParse(parseJson(line));
  return parsed.success ? [parsed.data] : [];
};
