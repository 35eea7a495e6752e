import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { systemErrorCode, UserError } from '@sheaf/gateway';
import { printLine, type World } from '../world.js';

/**
 * Prints a report on several lines. With `json` it is on one line: of the file of this name, or of standard output when
 * the name is empty. @throws UserError
 */
export async function printReport(report: object, json: string | undefined, world: World): Promise<void> {
  if (json) await writeReport(json, report, world);
  else await printLine(world.stdout, json === '' ? JSON.stringify(report) : JSON.stringify(report, undefined, 2));
}

async function writeReport(file: string, report: object, world: World): Promise<void> {
  await writeFile(resolve(world.cwd, file), `${JSON.stringify(report)}\n`).catch((error: unknown) => {
    throw new UserError('FILE_UNWRITABLE', `${file} cannot be written (${systemErrorCode(error) ?? 'unknown error'})`, {
      hint: 'check the path',
      cause: error,
    });
  });
}
