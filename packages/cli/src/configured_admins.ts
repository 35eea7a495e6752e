import { formatAddress, loadConfiguration, UserError } from '@sheaf/gateway';
import { nodeOf, shownPath } from './configuration_file.js';

/** Returns the admin addresses of the nodes of a file, of which there is at least one. @throws UserError */
export async function configuredAdmins(file: string, node: string | undefined, cwd: string): Promise<string[]> {
  const shown = shownPath(file, cwd);
  const loaded = await loadConfiguration(shown, { filesOf: () => false });
  const nodes = node === undefined ? loaded.nodes : [nodeOf(loaded, node, file)];
  const addresses = nodes.flatMap((each) => (each.node.admin ? [formatAddress(each.node.admin)] : []));
  if (addresses.length > 0) return addresses;
  throw new UserError(
    'ADMIN_UNREACHABLE',
    `${shown} has no \`admin\` address${node === undefined ? '' : ` for \`${node}\``}`,
    { hint: 'add `admin: 127.0.0.1:9433` and restart the node' },
  );
}
