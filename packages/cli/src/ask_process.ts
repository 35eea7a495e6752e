import { adminHeader, formatAddress, loadConfiguration, UserError } from '@sheaf/gateway';
import { askAdmin } from './admin.js';
import { shownPath } from './configuration_file.js';

export interface ProcessQuestion {
  /** Configuration file whose nodes run in the process */
  file: string;
  /** Operators' address of a node. Default: that of any node of the file */
  admin: string | undefined;
  path: string;
  timeoutMs: number;
  /** What to do where no node of the file has an address for operators */
  advice: string;
  /** Explains that the process cannot do this at all. */
  unable: (address: string) => UserError;
}

/** Makes a process do something with all of its nodes. Returns what it says of the outcome. @throws UserError */
export async function askProcess<Outcome>(question: ProcessQuestion, directory: string): Promise<Outcome> {
  const { file, admin, path, timeoutMs, advice, unable } = question;
  const address = admin ?? (await anyAdminOf(shownPath(file, directory), file, advice));
  const { status, text } = await askAdmin(address, path, {
    method: 'POST',
    headers: { [adminHeader]: '1' },
    timeoutMs,
  });
  if (status === 404) throw unable(address);
  if (status !== 200 && status !== 422)
    throw new UserError('ADMIN_UNREACHABLE', `${address} answered: ${text.trim()}`, {
      hint: 'is it the admin address of a node?',
    });
  return JSON.parse(text) as Outcome;
}

/**
 * Any node of the file will do: all nodes of a process do this together. The running node checks the files of its nodes, which need
 * not be on this machine. @throws UserError with `advice` when none has an address
 */
async function anyAdminOf(path: string, file: string, advice: string): Promise<string> {
  const { nodes } = await loadConfiguration(path, { filesOf: () => false });
  const admin = nodes.find(({ node }) => node.admin)?.node.admin;
  if (admin) return formatAddress(admin);
  throw new UserError('ADMIN_UNREACHABLE', `no node of ${file} has an \`admin\` address`, { hint: advice });
}
