import { stat } from 'node:fs/promises';
import { systemErrorCode, UserError } from '../errors/user_error.js';
import { readSmallFile } from './regular_file.js';

/** Mode bits that let others than the owner use a file; and those that let others than its group read it, or change it */
const othersMay = 0o077;
const othersThanGroupMay = 0o037;

/**
 * Whether others than this user may use a file. A manager of services lends files of root to one user, by an access list that
 * shows as the right of the group to read (systemd's credentials), or by a group of that user's own (volumes of Kubernetes).
 */
function isExposed({ mode, uid }: { mode: number; uid: number }, user: number): boolean {
  return (mode & (uid === user ? othersMay : othersThanGroupMay)) !== 0;
}

/** Explains what is wrong with a file of passwords or secrets. */
export const unusable = (message: string, hint: string, cause?: unknown): UserError =>
  new UserError('CREDENTIALS_UNUSABLE', message, { hint, cause });

/**
 * Reads a file of passwords or secrets. `noun` and `option` name it for the user. @throws UserError when it cannot be read, or every user of
 * the machine can read it
 */
export async function readSecretFile(
  file: string,
  { noun, option }: { noun: string; option: string },
): Promise<string> {
  const [text, state] = await Promise.all([readSmallFile(file), stat(file)]).catch((error: unknown) => {
    throw unusable(
      `${noun}, ${file}, cannot be read (${systemErrorCode(error) ?? 'unknown error'})`,
      `correct \`${option}\`, or make the file readable for this user`,
      error,
    );
  });
  if (isExposed(state, process.geteuid?.() ?? state.uid))
    throw unusable(`others than its owner may read or change ${noun} in ${file}`, `\`chmod 600 ${file}\``);
  return text;
}
