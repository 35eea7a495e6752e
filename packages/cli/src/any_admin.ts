import { formatAddress, loadConfiguration, UserError } from '@sheaf/gateway';

/** Any node of the file will do: all nodes of a process do this together. @throws UserError with `advice` when none has an address */
export async function anyAdminOf(path: string, file: string, advice: string): Promise<string> {
  const { nodes } = await loadConfiguration(path);
  const admin = nodes.find(({ node }) => node.admin)?.node.admin;
  if (admin) return formatAddress(admin);
  throw new UserError('ADMIN_UNREACHABLE', `no node of ${file} has an \`admin\` address`, { hint: advice });
}
