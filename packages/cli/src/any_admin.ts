import { formatAddress, loadConfiguration, UserError } from '@sheaf/gateway';

/**
 * Any node of the file will do: all nodes of a process do this together. The running node checks the files of its nodes, which need
 * not be on this machine. @throws UserError with `advice` when none has an address
 */
export async function anyAdminOf(path: string, file: string, advice: string): Promise<string> {
  const { nodes } = await loadConfiguration(path, { filesOf: () => false });
  const admin = nodes.find(({ node }) => node.admin)?.node.admin;
  if (admin) return formatAddress(admin);
  throw new UserError('ADMIN_UNREACHABLE', `no node of ${file} has an \`admin\` address`, { hint: advice });
}
