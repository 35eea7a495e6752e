import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemErrorCode, UserError } from '@sheaf/gateway';
import { buildPage, writePage } from '../build/build_page.js';
import { formatPageTable, parsePageTable } from '../table/page_table.js';
import { parseHar, readHar } from './har.js';
import { recordPage, type RecordedPage } from './record_page.js';

export interface Recording extends RecordedPage {
  readonly table: string;
  /** Directory of the page, with `index.html` */
  readonly site: string;
  /** Resources whose size is too small for valid content, such as a picture of ten bytes */
  readonly invalid: number;
  /** Bytes by which the document is larger than recorded, to hold its references */
  readonly documentGrowth: number;
}

/**
 * Converts a HAR file to a fixture: `directory/NAME.tsv`, and the page in `directory/NAME/`.
 * @throws UserError `HAR_INVALID`, `DIRECTORY_UNWRITABLE`
 */
export async function recordHar(file: string, directory: string, name: string): Promise<Recording> {
  const recorded = recordPage(parseHar(await readHar(file), file), file);
  const text = formatPageTable(recorded.resources);
  const files = buildPage(name, parsePageTable(text, `${name}.tsv`));
  try {
    await mkdir(directory, { recursive: true });
    const table = join(directory, `${name}.tsv`);
    await writeFile(table, text);
    const site = await writePage(directory, name, files);
    return {
      ...recorded,
      table,
      site,
      invalid: files.filter(({ valid }) => !valid).length,
      documentGrowth: (files[0]?.content.length ?? 0) - (recorded.resources[0]?.bytes ?? 0),
    };
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === undefined) throw error;
    throw new UserError('DIRECTORY_UNWRITABLE', `${directory} cannot be written to (${code})`, {
      hint: 'name another directory with -o',
      cause: error,
    });
  }
}
