import { errorMessage, exitCodes, UserError } from '@sheaf/gateway/client';
import { askAdmin } from '../admin.js';
import { adminInstead, fileWithAdmin } from '../admin_options.js';
import type { Command } from '../command.js';
import { printLine } from '../world.js';

interface HealthcheckOptions {
  file: string;
  admin: string | undefined;
  node: string | undefined;
}

/** Container engines know two results of a health check: 0, and 1 for everything else. */
const unhealthy = 1;

export const healthcheck: Command<HealthcheckOptions> = {
  usage: 'healthcheck [file]',
  summary: 'Say by the exit code whether running nodes are ready; for health checks of containers',
  options: (yargs) =>
    yargs
      .positional('file', { ...fileWithAdmin, describe: 'Configuration file with the `admin` addresses' })
      .option('admin', {
        ...adminInstead,
        describe: 'Ask this admin address instead, such as 127.0.0.1:9433; then no file is read',
      })
      .option('node', { type: 'string', requiresArg: true, describe: 'Ask only the node of this name' })
      .example('$0 healthcheck --admin 127.0.0.1:9433', 'Exit with 0 when the node serves or drains, else with 1'),
  async run({ file, admin, node }, world) {
    const addresses = admin === undefined ? await configured(file, node, world.cwd) : [admin];
    const outcomes = await Promise.all(addresses.map(stateAt));
    for (const { ready, says } of outcomes) await printLine(ready ? world.stdout : world.stderr, says);
    return outcomes.every(({ ready }) => ready) ? exitCodes.success : unhealthy;
  },
};

/** A check runs every few seconds, so nothing that reads configurations is loaded where an address is given. */
async function configured(file: string, node: string | undefined, cwd: string): Promise<string[]> {
  const { configuredAdmins } = await import('../configured_admins.js');
  return configuredAdmins(file, node, cwd);
}

async function stateAt(address: string): Promise<{ ready: boolean; says: string }> {
  try {
    const { status, text } = await askAdmin(address, '/readyz');
    return { ready: status === 200, says: `${address}: ${text.trim()}` };
  } catch (error) {
    return { ready: false, says: error instanceof UserError ? error.render() : errorMessage(error) };
  }
}
